import Atto
import AttoATT
import AttoFormats
import AttoText
import Glibc

/// Values, UUIDs and names in results.
package enum Shown {
  package static func hex(_ octets: [UInt8]) -> String {
    Hex.text(octets)
  }

  package static func pdu(_ octets: [UInt8]) -> String { octets.isEmpty ? "(empty)" : hex(octets) }

  /// The form in JSON: lowercase.
  package static func json(_ uuid: BluetoothUUID) -> String { uuid.description.lowercased() }

  package static func json(_ handle: AttributeHandle) -> Int { Int(handle.rawValue) }

  /// A UUID, with its assigned name if there is one.
  package static func named(_ uuid: BluetoothUUID, _ kind: AssignedNumbers.Kind) -> String {
    AssignedNumbers.name(of: uuid, as: kind).map { "\(uuid) \($0)" } ?? uuid.description
  }

  /// The type of an attribute: a declaration, a descriptor, or a characteristic's UUID.
  package static func named(attribute uuid: BluetoothUUID) -> String {
    let isDescriptor = AssignedNumbers.name(of: uuid, as: .descriptor) != nil
    return named(uuid, isDescriptor ? .descriptor : .characteristic)
  }

  /// Day and minute, in UTC.
  ///
  /// - Parameter time: seconds since 1970.
  package static func date(_ time: Int64) -> String {
    var (seconds, parts) = (time_t(time), tm())
    gmtime_r(&seconds, &parts)
    func two(_ number: Int32) -> String { String(number).padded(left: 2, with: "0") }
    return "\(parts.tm_year + 1900)-\(two(parts.tm_mon + 1))-\(two(parts.tm_mday))"
      + " \(two(parts.tm_hour)):\(two(parts.tm_min))Z"
  }

  /// A name sent by a peer, in quotation marks. What is not printable is escaped.
  package static func name(_ text: String) -> String {
    var shown = ""
    for scalar in text.unicodeScalars {
      if scalar == "\"" || scalar == "\\" { shown += "\\" }
      shown.unicodeScalars.append(scalar)
    }
    return "\"\(shown.printable)\""
  }

  /// A value as hex, and as text if all of it is printable.
  package static func value(_ octets: [UInt8]) -> String {
    guard !octets.isEmpty else { return "(empty)" }
    let hex = hex(octets)
    let isText = octets.allSatisfy { (0x20...0x7E).contains($0) }
    return isText && octets.count > 1
      ? "\(hex)  \"\(String(decoding: octets, as: UTF8.self))\"" : hex
  }

  /// The level, and a key size if it is not the longest.
  package static func security(_ security: LinkSecurity) -> String {
    "security \(security.level)"
      + (1..<16 ~= security.keySize ? ", key of \(security.keySize) octets" : "")
  }

  /// The names of properties, as in profiles.
  static func properties(_ properties: CharacteristicProperties) -> [String] {
    CharacteristicProperties.names.filter { properties.contains($0.property) }.map(\.name)
  }

  /// A number of bytes, in megabytes.
  package static func megabytes(_ bytes: Int) -> String {
    Decimal.text(Double(bytes) / 1e6, places: 1) + " MB"
  }

  /// A count with its noun in the singular or plural.
  package static func count(_ count: Int, _ noun: String) -> String {
    "\(count) \(noun)\(count == 1 ? "" : "s")"
  }
}
