import Atto
import Files

/// Values and UUIDs as results show them.
enum Shown {
  /// Lowercase hex, in pairs.
  static func hex(_ octets: [UInt8]) -> String {
    octets.isEmpty ? "" : octets.span.bytes.hexText
  }

  /// As JSON has it: lowercase.
  static func json(_ uuid: BluetoothUUID) -> String { uuid.description.lowercased() }

  static func json(_ handle: AttributeHandle) -> Int { Int(handle.rawValue) }

  /// With its name where the SIG has given it one.
  static func named(_ uuid: BluetoothUUID, _ kind: AssignedNumbers.Kind) -> String {
    AssignedNumbers.name(of: uuid, as: kind).map { "\(uuid) \($0)" } ?? uuid.description
  }

  /// An attribute's type: a declaration, a descriptor, or what a characteristic's value has.
  static func named(attribute uuid: BluetoothUUID) -> String {
    let isDescriptor = AssignedNumbers.name(of: uuid, as: .descriptor) != nil
    return named(uuid, isDescriptor ? .descriptor : .characteristic)
  }

  /// A name that somebody has sent, in quotation marks. What would move a terminal's cursor, begin a
  /// line or turn the direction of the text is written as an escape.
  static func name(_ text: String) -> String {
    var shown = "\""
    for scalar in text.unicodeScalars {
      switch scalar.properties.generalCategory {
      case .control, .format, .lineSeparator, .paragraphSeparator, .surrogate, .unassigned:
        shown += "\\u{\(String(scalar.value, radix: 16, uppercase: true))}"
      default:
        if scalar == "\"" || scalar == "\\" { shown += "\\" }
        shown.unicodeScalars.append(scalar)
      }
    }
    return shown + "\""
  }

  /// Hex, and the text if it is one.
  static func value(_ octets: [UInt8]) -> String {
    guard !octets.isEmpty else { return "(empty)" }
    let hex = hex(octets)
    let isText = octets.allSatisfy { (0x20...0x7E).contains($0) }
    return isText && octets.count > 1
      ? "\(hex)  \"\(String(decoding: octets, as: UTF8.self))\"" : hex
  }

  /// The words of a profile.
  static func properties(_ properties: CharacteristicProperties) -> [String] {
    Profile.Properties.names.filter {
      properties.contains(CharacteristicProperties(rawValue: $0.property.rawValue))
    }.map(\.name)
  }

  static func count(_ count: Int, _ what: String) -> String {
    "\(count) \(what)\(count == 1 ? "" : "s")"
  }
}
