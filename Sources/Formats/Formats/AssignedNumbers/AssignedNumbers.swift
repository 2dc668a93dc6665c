import AttoATT
import CAttoTables

/// The names that the Bluetooth SIG assigned to 16-bit UUIDs.
///
/// They are in `CTables/names.txt`, which `generate.py` writes. It is parsed at the first lookup.
public enum AssignedNumbers {
  /// The role of a UUID.
  public enum Kind: Sendable, CaseIterable {
    /// A service.
    case service
    /// A characteristic.
    case characteristic
    /// A descriptor or a declaration (2800 to 2803).
    case descriptor

    fileprivate var numbers: ClosedRange<UInt16> {
      switch self {
      case .service: 0x1800...0x18FF
      case .characteristic: 0x2A00...0x2FFF
      case .descriptor: 0x2800...0x29FF
      }
    }
  }

  /// Returns the name of a UUID in this role, or nil if it has none.
  public static func name(of uuid: BluetoothUUID, as kind: Kind) -> String? {
    guard let number = uuid.short, kind.numbers.contains(number) else { return nil }
    return names[number]
  }

  /// Returns the UUID that has this name in this role, or nil. Only letters and digits count, in either
  /// case: `battery level` and `BatteryLevel` are 2A19.
  public static func uuid(named name: String, as kind: Kind) -> BluetoothUUID? {
    let key = key(name)
    guard !key.isEmpty else { return nil }
    let found = kind.numbers.first { names[$0].map(Self.key) == key }
    return found.map { BluetoothUUID($0) }
  }

  /// All names in this role.
  package static func names(of kind: Kind) -> [String] { kind.numbers.compactMap { names[$0] } }

  private static func key(_ name: String) -> [UInt8] {
    name.utf8.compactMap { byte in
      switch byte {
      case 0x30...0x39, 0x61...0x7A: byte
      case 0x41...0x5A: byte + 0x20
      default: nil
      }
    }
  }

  private static let names: [UInt16: String] = {
    var names: [UInt16: String] = [:]
    for text in String(cString: ctables_names()).split(separator: "\n") {
      // Comments do not start with a number.
      guard let number = UInt16(text.prefix(4), radix: 16) else { continue }
      names[number] = String(text.dropFirst(5))
    }
    return names
  }()
}
