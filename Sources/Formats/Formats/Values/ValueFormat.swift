import AttoATT
import CAttoTables

/// The fields of a characteristic's or descriptor's value, as the Bluetooth SIG defines them, or as a
/// Characteristic Presentation Format does.
///
/// `CTables/formats.txt` describes them. It is parsed at the first lookup.
public struct ValueFormat: Sendable, Equatable {
  let fields: [ValueField]

  /// The format of a UUID's values; nil if it is not known.
  public init?(of uuid: BluetoothUUID) {
    guard let number = uuid.short, let format = Self.table.formats[number] else { return nil }
    self = format
  }

  /// The format that the value of a Characteristic Presentation Format descriptor (2904) describes;
  /// nil if it is malformed, or its format is not one number or text. Vol 3, Part G, 3.3.3.5.
  public init?(presentation octets: [UInt8]) {
    guard octets.count == 7, let type = ValueField.Kind(presentation: octets[0]) else { return nil }
    var field = ValueField(name: "value", kind: type)
    field.scale.decimal = Int(Int8(bitPattern: octets[1]))
    field.unit = Self.table.units[UInt16(octets[2]) | UInt16(octets[3]) << 8]
    fields = [field]
  }

  init(fields: [ValueField]) { self.fields = fields }

  /// Decodes a value. Octets after the last field are kept apart, because later versions of a format
  /// may add fields.
  ///
  /// - Throws: ``ValueFault`` if the value ends in a field, or a date or text is invalid.
  public func decode(_ octets: [UInt8]) throws(ValueFault) -> DecodedValue {
    var reader = ValueReader(octets)
    var flags: UInt64 = 0
    var value = DecodedValue()
    for field in fields where field.isPresent(flags) {
      switch field.kind {
      case .flags(let bits): flags = try reader.number(bits, in: field)
      case .part(let low, let count):
        let part = flags >> UInt64(low) & (1 << UInt64(count) - 1)
        try value.append(field, field.content(of: part, bits: count))
      default:
        if field.isRepeated {
          var list: [DecodedValue.Content] = []
          while let bits = field.kind.bits, reader.left >= bits {
            list.append(try reader.content(of: field))
          }
          value.append(field, .list(list))
        } else {
          value.append(field, try reader.content(of: field))
        }
      }
    }
    value.rest = reader.rest
    return value
  }
}

/// The reason why a value cannot be decoded.
public struct ValueFault: Error, Equatable, Sendable, CustomStringConvertible {
  /// `ends in heart rate`, `invalid time`.
  public let description: String
}

extension ValueFormat {
  /// The parsed `formats.txt`.
  struct Table {
    var formats: [UInt16: ValueFormat] = [:]
    var units: [UInt16: String] = [:]
    /// Lines that are not in the language, for a test.
    var wrong: [String] = []

    init(_ text: String) {
      var lists: [Substring: [Int: String]] = [:]
      for line in text.split(separator: "\n") where line.first != "#" {
        let parts = line.split(separator: " ", maxSplits: 1)
        guard let key = parts.first, parts.count == 2 else {
          wrong.append(String(line))
          continue
        }
        if key.first == "@" {
          lists[key] = ValueField.names(parts[1])
        } else if let number = UInt16(key.drop { $0 == ":" }, radix: 16) {
          guard key.first != ":" else {
            units[number] = String(parts[1])
            continue
          }
          let fields = parts[1].split(separator: "|").map { ValueField($0, lists: lists) }
          formats[number] = ValueFormat(fields: fields.compactMap(\.self))
          if fields.contains(nil) { wrong.append(String(line)) }
        } else {
          wrong.append(String(line))
        }
      }
    }
  }

  static let table = Table(String(cString: ctables_formats()))
}
