internal import Atto
import Foundation

/// The type of a service, a characteristic or a descriptor: 16, 32 or 128 bits. Vol 3, Part B,
/// 2.5.1.
///
/// A short form and the long one with the Base UUID around it are equal, and hash alike.
open class CBUUID: NSObject, NSCopying {
  let bluetooth: BluetoothUUID

  init(_ uuid: BluetoothUUID) {
    bluetooth = uuid
    super.init()
  }

  /// The UUID of all zeros.
  public override init() {
    bluetooth = BluetoothUUID(high: 0, low: 0)
    super.init()
  }

  /// Reads 4, 8 or 32 hexadecimal digits, the last with or without dashes. Traps for anything
  /// else, where Apple's raises an exception.
  public init(string theString: String) {
    guard let uuid = BluetoothUUID(theString) else {
      preconditionFailure(
        "\"\(theString)\" is no UUID: 4, 8 or 32 hexadecimal digits are expected")
    }
    bluetooth = uuid
    super.init()
  }

  /// Takes 2, 4 or 16 octets, most significant first. Traps for another number.
  public init(data theData: Data) {
    let value = theData.reduce(into: (high: UInt64(0), low: UInt64(0))) { sum, octet in
      sum.high = sum.high << 8 | sum.low >> 56
      sum.low = sum.low << 8 | UInt64(octet)
    }
    switch theData.count {
    case 2, 4: bluetooth = BluetoothUUID(UInt32(value.low))
    case 16: bluetooth = BluetoothUUID(high: value.high, low: value.low)
    default: preconditionFailure("a UUID has 2, 4 or 16 octets, not \(theData.count)")
    }
    super.init()
  }

  /// Takes Core Foundation's form.
  public convenience init(cfuuid theUUID: CFUUID) {
    self.init(string: theUUID.uuidString)
  }

  /// Takes Foundation's form.
  public init(nsuuid theUUID: UUID) {
    let o = theUUID.uuid
    let octets = [
      o.0, o.1, o.2, o.3, o.4, o.5, o.6, o.7, o.8, o.9, o.10, o.11, o.12, o.13, o.14, o.15,
    ]
    bluetooth = BluetoothUUID(
      high: octets[..<8].reduce(0) { $0 << 8 | UInt64($1) },
      low: octets[8...].reduce(0) { $0 << 8 | UInt64($1) })
    super.init()
  }

  /// The shortest form, most significant octet first: 2, 4 or 16 octets.
  open var data: Data {
    if let short = bluetooth.short { return Data([UInt8(short >> 8), UInt8(short & 0xFF)]) }
    if let short = bluetooth.short32 {
      return Data((0..<4).map { UInt8(truncatingIfNeeded: short >> (24 - 8 * $0)) })
    }
    return Data(
      (0..<16).map { index in
        let half = index < 8 ? bluetooth.high : bluetooth.low
        return UInt8(truncatingIfNeeded: half >> UInt64(56 - 8 * (index % 8)))
      })
  }

  /// The shortest form, in upper case: `180D`, 8 digits, or 36 characters.
  open var uuidString: String {
    let full = bluetooth.fullDescription.uppercased()
    if bluetooth.short != nil { return String(full.dropFirst(4).prefix(4)) }
    if bluetooth.short32 != nil { return String(full.prefix(8)) }
    return full
  }

  open override var description: String { uuidString }
  open override var hash: Int { bluetooth.hashValue }
  open override func isEqual(_ object: Any?) -> Bool {
    (object as? CBUUID)?.bluetooth == bluetooth
  }
  open func copy(with zone: NSZone? = nil) -> Any { self }
}
