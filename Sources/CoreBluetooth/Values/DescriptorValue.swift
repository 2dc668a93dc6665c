import Foundation

/// Descriptors' octets in the forms that Apple gives them.
enum DescriptorValue {
  /// Octets as an app sees them. Octets that are not of the type's form stay Data.
  static func typed(_ octets: Data, as uuid: CBUUID) -> Any {
    switch uuid.uuidString {
    case "2900", "2902", "2903":
      guard octets.count <= 2 else { return octets }
      // Little endian, and one octet where a peer was sparing.
      let number = octets.reversed().reduce(UInt16(0)) { $0 << 8 | UInt16($1) }
      return NSNumber(value: number)
    case "2901": return String(decoding: octets, as: UTF8.self)
    default: return octets
    }
  }

  /// The octets of what an app supplies; nil if it is not of the type's form.
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
