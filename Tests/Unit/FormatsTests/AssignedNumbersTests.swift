import AttoATT
import CAttoTables
import TestSupport
import Testing

@testable import AttoFormats

@Suite(.sideBySide) struct AssignedNumbersTests {
  @Test func namesCommonUUIDs() {
    #expect(AssignedNumbers.name(of: 0x180D, as: .service) == "Heart Rate")
    #expect(AssignedNumbers.name(of: 0x2A37, as: .characteristic) == "Heart Rate Measurement")
    #expect(
      AssignedNumbers.name(of: 0x2902, as: .descriptor) == "Client Characteristic Configuration")
    #expect(AssignedNumbers.name(of: 0x2800, as: .descriptor) == "Primary Service")
    #expect(
      AssignedNumbers.name(
        of: BluetoothUUID("0000180f-0000-1000-8000-00805f9b34fb")!, as: .service) == "Battery")
  }

  @Test func findsByName() {
    #expect(AssignedNumbers.uuid(named: "battery level", as: .characteristic) == 0x2A19)
    #expect(AssignedNumbers.uuid(named: "BatteryLevel", as: .characteristic) == 0x2A19)
    #expect(AssignedNumbers.uuid(named: "Current Time", as: .service) == 0x1805)
    #expect(AssignedNumbers.uuid(named: "Current Time", as: .characteristic) == 0x2A2B)
    #expect(AssignedNumbers.uuid(named: "battery", as: .characteristic) == nil)
    #expect(AssignedNumbers.uuid(named: "---", as: .service) == nil)
  }

  @Test func keepsTheKindsApart() {
    #expect(AssignedNumbers.name(of: 0x2A37, as: .service) == nil)
    #expect(AssignedNumbers.name(of: 0x180D, as: .characteristic) == nil)
    #expect(AssignedNumbers.name(of: BluetoothUUID(UInt32(0xABCD_180D)), as: .service) == nil)
  }

  /// Looks up every number, and compares with the lines of the table.
  @Test func findsAllAndNothingElse() {
    var names: [UInt16: String] = [:]
    var last = -1
    let table = String(cString: ctables_names())
    for line in table.split(separator: "\n") where !line.hasPrefix("#") {
      let number = UInt16(line.prefix(4), radix: 16)!
      #expect(Int(number) > last)
      last = Int(number)
      names[number] = String(line.dropFirst(5))
    }
    #expect(names.count > 500)
    for number in UInt16.min...UInt16.max {
      let found = AssignedNumbers.Kind.allCases.compactMap {
        AssignedNumbers.name(of: BluetoothUUID(number), as: $0)
      }
      for kind in AssignedNumbers.Kind.allCases {
        guard let name = AssignedNumbers.name(of: BluetoothUUID(number), as: kind) else { continue }
        #expect(AssignedNumbers.uuid(named: name, as: kind) == BluetoothUUID(number))
      }
      if found != names[number].map({ [$0] }) ?? [] { Issue.record("\(number): \(found)") }
    }
  }
}
