import ATT
import Testing

@testable import Files

@Suite struct AssignedNumbersTests {
  @Test func namesWhatEveryoneKnows() {
    #expect(AssignedNumbers.name(of: 0x180D, as: .service) == "Heart Rate")
    #expect(AssignedNumbers.name(of: 0x2A37, as: .characteristic) == "Heart Rate Measurement")
    #expect(
      AssignedNumbers.name(of: 0x2902, as: .descriptor) == "Client Characteristic Configuration")
    #expect(AssignedNumbers.name(of: 0x2800, as: .descriptor) == "Primary Service")
    #expect(
      AssignedNumbers.name(
        of: BluetoothUUID("0000180f-0000-1000-8000-00805f9b34fb")!, as: .service) == "Battery")
  }

  @Test func keepsTheKindsApart() {
    #expect(AssignedNumbers.name(of: 0x2A37, as: .service) == nil)
    #expect(AssignedNumbers.name(of: 0x180D, as: .characteristic) == nil)
    #expect(AssignedNumbers.name(of: BluetoothUUID(UInt32(0xABCD_180D)), as: .service) == nil)
  }

  /// Every number there is, against a plain reading of the tables.
  @Test(arguments: AssignedNumbers.Kind.allCases) func findsAllAndNothingElse(
    _ kind: AssignedNumbers.Kind
  ) {
    let table =
      switch kind {
      case .service: AssignedNumbers.services
      case .characteristic: AssignedNumbers.characteristics
      case .descriptor: AssignedNumbers.descriptors
      }
    var names: [UInt16: String] = [:]
    var last = -1
    for line in table.split(separator: "\n") {
      let number = UInt16(line.prefix(4), radix: 16)!
      #expect(Int(number) > last)
      last = Int(number)
      names[number] = String(line.dropFirst(5))
    }
    #expect(names.count > 15)
    for number in UInt16.min...UInt16.max {
      let found = AssignedNumbers.find(number, in: table)
      if found != names[number] { Issue.record("\(number): \(found ?? "nil")") }
    }
  }

  @Test(arguments: ["", "\n", "180D", "180D\n", "18", "180D "]) func survivesAnyTable(
    _ table: String
  ) {
    for number in [0, 0x18, 0x180D, 0xFFFF] as [UInt16] {
      let name = AssignedNumbers.find(number, in: table)
      #expect(name == nil || name == "")
    }
  }
}
