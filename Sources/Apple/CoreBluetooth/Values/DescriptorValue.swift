import Foundation

/// Converts descriptors between octets and Apple's types.
enum DescriptorValue {
  /// The value for an app. Octets that are not valid for the type stay Data.
  static func typed(_ octets: Data, as uuid: CBUUID) -> Any {
    switch uuid.uuidString {
    case "2900", "2902", "2903":
      guard octets.count <= 2 else { return octets }
      // Little endian. Some peers send one octet.
      let number = octets.reversed().reduce(UInt16(0)) { $0 << 8 | UInt16($1) }
      return NSNumber(value: number)
    case "2901": return String(decoding: octets, as: UTF8.self)
    default: return octets
    }
  }

  /// The octets of an app's value; nil if it has the wrong type.
  static func octets(_ value: Any, as uuid: CBUUID) -> Data? {
    if uuid.uuidString == "2901" {
      return (value as? String).map { Data($0.utf8) }
        ?? (value as? NSString).map {
          Data(String(describing: $0).utf8)
        }
    }
    return (value as? Data) ?? (value as? NSData).map { Data(referencing: $0) }
  }
}
