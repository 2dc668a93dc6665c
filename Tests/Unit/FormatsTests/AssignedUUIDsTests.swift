import AttoATT
import AttoGATT
import Foundation
import TestSupport
import Testing

@testable import AttoFormats

/// The constants of AttoGATT against the table of assigned numbers.
@Suite(.sideBySide) struct AssignedUUIDsTests {
  static let sources = URL(filePath: #filePath).deletingLastPathComponent()
    .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
    .appending(path: "Sources/Core/GATT")

  /// The constants of a source: `static let name = BluetoothUUID(0x1234 ...` and
  /// `static var name: BluetoothUUID { 0x1234 }`.
  static func constants(_ file: String) throws -> [(name: String, number: UInt16)] {
    let text = try String(contentsOf: sources.appending(path: file), encoding: .utf8)
    return text.matches(of: /static (?:let|var) (\w+).*BluetoothUUID(?:\(| \{ )0x([0-9A-F]{4})/)
      .map { (String($0.1), UInt16($0.2, radix: 16)!) }
  }

  @Test(arguments: [("AssignedUUIDs.swift", 68), ("AttributeTypes.swift", 19)])
  func haveTheirAssignedNames(_ file: String, count: Int) throws {
    let constants = try Self.constants(file)
    #expect(constants.count == count)
    for (name, number) in constants {
      let uuid = BluetoothUUID(number)
      let assigned = try #require(
        AssignedNumbers.Kind.allCases.lazy.compactMap { AssignedNumbers.name(of: uuid, as: $0) }
          .first, "\(name)")
      let letters = assigned.filter { $0.isLetter || $0.isNumber }.lowercased()
      let isService = AssignedNumbers.name(of: uuid, as: .service) != nil
      #expect(
        name.lowercased() == letters || isService && name.lowercased() == letters + "service",
        "\(name) is \(assigned)")
    }
  }

  /// That they have the values that their source says.
  @Test func haveTheirNumbers() {
    #expect(BluetoothUUID.heartRate == 0x180D)
    #expect(BluetoothUUID.currentTimeService == 0x1805)
    #expect(BluetoothUUID.currentTime == 0x2A2B)
    #expect(BluetoothUUID.heartRateMeasurement == 0x2A37)
    #expect(BluetoothUUID.reportReference == 0x2908)
  }
}
