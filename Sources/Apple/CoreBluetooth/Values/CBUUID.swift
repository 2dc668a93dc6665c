internal import Atto
internal import AttoFormats
import Foundation

/// The type of a service, a characteristic or a descriptor: 16, 32 or 128 bits. Vol 3, Part B,
/// 2.5.1.
///
/// A short form is equal to the 128-bit form with the Bluetooth Base UUID.
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

  /// Parses 4, 8 or 32 hexadecimal digits; 32 with or without dashes. Traps for anything else, where
  /// Apple's framework raises an exception.
  public init(string theString: String) {
    guard let uuid = BluetoothUUID(theString) else {
      preconditionFailure(
        "invalid UUID \"\(theString)\": expected 4, 8 or 32 hexadecimal digits")
    }
    bluetooth = uuid
    super.init()
  }

  /// Creates a UUID from 2, 4 or 16 octets, most significant first. Traps for another number.
  public init(data theData: Data) {
    let value = theData.reduce(into: (high: UInt64(0), low: UInt64(0))) { sum, octet in
      sum.high = sum.high << 8 | sum.low >> 56
      sum.low = sum.low << 8 | UInt64(octet)
    }
    switch theData.count {
    case 2, 4: bluetooth = BluetoothUUID(UInt32(value.low))
    case 16: bluetooth = BluetoothUUID(high: value.high, low: value.low)
    default: preconditionFailure("invalid UUID of \(theData.count) octets: expected 2, 4 or 16")
    }
    super.init()
  }

  /// Creates a UUID from Core Foundation's type.
  public convenience init(cfuuid theUUID: CFUUID) {
    self.init(string: theUUID.uuidString)
  }

  /// Creates a UUID from Foundation's type.
  public convenience init(nsuuid theUUID: UUID) {
    self.init(string: theUUID.uuidString)
  }

  /// The shortest form, most significant octet first: 2, 4 or 16 octets.
  open var data: Data {
    if let short = bluetooth.short { return Data(bigEndian: short) }
    if let short = bluetooth.short32 { return Data(bigEndian: short) }
    return Data(bigEndian: bluetooth.high) + Data(bigEndian: bluetooth.low)
  }

  /// The shortest form, in upper case: `180D`, 8 digits, or 36 characters.
  open var uuidString: String {
    let full = bluetooth.fullDescription.uppercased()
    if bluetooth.short != nil { return String(full.dropFirst(4).prefix(4)) }
    if bluetooth.short32 != nil { return String(full.prefix(8)) }
    return full
  }

  /// The name that the Bluetooth SIG assigned, as `Heart Rate`; without one, ``uuidString``.
  open override var description: String {
    for kind in AssignedNumbers.Kind.allCases {
      if let name = AssignedNumbers.name(of: bluetooth, as: kind) { return name }
    }
    return uuidString
  }
  open override var hash: Int { bluetooth.hashValue }
  open override func isEqual(_ object: Any?) -> Bool {
    (object as? CBUUID)?.bluetooth == bluetooth
  }
  open func copy(with zone: NSZone? = nil) -> Any { self }
}

extension Data {
  /// The octets of a number, most significant first.
  init(bigEndian number: some FixedWidthInteger) {
    self = Swift.withUnsafeBytes(of: number.bigEndian) { Data($0) }
  }
}

/// Characteristic Extended Properties: `CBDescriptor.value` is an NSNumber.
public let CBUUIDCharacteristicExtendedPropertiesString: String = "2900"
/// Characteristic User Description: a String.
public let CBUUIDCharacteristicUserDescriptionString: String = "2901"
/// Client Characteristic Configuration: an NSNumber.
public let CBUUIDClientCharacteristicConfigurationString: String = "2902"
/// Server Characteristic Configuration: an NSNumber.
public let CBUUIDServerCharacteristicConfigurationString: String = "2903"
/// Characteristic Presentation Format: Data.
public let CBUUIDCharacteristicFormatString: String = "2904"
/// Characteristic Aggregate Format: Data.
public let CBUUIDCharacteristicAggregateFormatString: String = "2905"
/// Valid Range: Data.
public let CBUUIDCharacteristicValidRangeString: String = "2906"
/// Observation Schedule: Data.
public let CBUUIDCharacteristicObservationScheduleString: String = "2910"
/// Apple's characteristic that holds the PSM of an L2CAP channel.
public let CBUUIDL2CAPPSMCharacteristicString: String = "ABDD3056-28FA-441D-A470-55A75A52553A"
