public import AttoATT

/// The fields of advertising data and scan response data. Vol 3, Part C, 11 and Supplement to the Core
/// Specification, Part A.
///
/// Advertisers build it and scanners parse it. Unknown structures, and those of an invalid length, are
/// kept in `others`.
public struct AdvertisingData: Hashable, Sendable {
  /// Discoverability; nil if absent. A connectable advertisement without them gets
  /// `[.generalDiscoverable, .brEDRNotSupported]`.
  public var flags: Flags?
  /// Services that the device offers, in order. Written in the shortest of the three widths.
  public var serviceUUIDs: [BluetoothUUID]
  /// Whether `serviceUUIDs` names every service: the complete rather than the incomplete lists.
  public var listsAllServices: Bool
  /// Services that the device requires of a central.
  public var solicitedServiceUUIDs: [BluetoothUUID]
  /// The name of the device, or its beginning.
  public var localName: String?
  /// Whether `localName` is only the beginning.
  public var nameIsShortened: Bool
  /// Transmitted power in dBm.
  public var txPower: Int8?
  /// The kind of device: the assigned numbers, 2.6.
  public var appearance: UInt16?
  /// Data of services, in order.
  public var serviceData: [ServiceData]
  /// Data of manufacturers, in order.
  public var manufacturerData: [ManufacturerData]
  /// The advertising interval in units of 0.625 ms.
  public var advertisingInterval: UInt32?
  /// Structures of other types, and malformed ones, in order.
  public var others: [AdvertisingStructure]
  /// The first error of the parsed octets; nil if there was none.
  public internal(set) var malformation: Malformation?

  /// Creates data with these fields.
  public init(
    flags: Flags? = nil, serviceUUIDs: [BluetoothUUID] = [], listsAllServices: Bool = true,
    solicitedServiceUUIDs: [BluetoothUUID] = [], localName: String? = nil,
    nameIsShortened: Bool = false, txPower: Int8? = nil, appearance: UInt16? = nil,
    serviceData: [ServiceData] = [], manufacturerData: [ManufacturerData] = [],
    advertisingInterval: UInt32? = nil, others: [AdvertisingStructure] = []
  ) {
    self.flags = flags
    self.serviceUUIDs = serviceUUIDs
    self.listsAllServices = listsAllServices
    self.solicitedServiceUUIDs = solicitedServiceUUIDs
    self.localName = localName
    self.nameIsShortened = nameIsShortened
    self.txPower = txPower
    self.appearance = appearance
    self.serviceData = serviceData
    self.manufacturerData = manufacturerData
    self.advertisingInterval = advertisingInterval
    self.others = others
  }
}

extension AdvertisingData {
  /// Supplement, Part A, 1.3. Bits beyond the first octet are reserved and not kept.
  public struct Flags: OptionSet, Hashable, Sendable {
    public var rawValue: UInt8
    public init(rawValue: UInt8) { self.rawValue = rawValue }

    /// LE Limited Discoverable Mode. Bit 0.
    public static let limitedDiscoverable = Flags(rawValue: 0x01)
    /// LE General Discoverable Mode. Bit 1.
    public static let generalDiscoverable = Flags(rawValue: 0x02)
    /// BR/EDR Not Supported. Bit 2.
    public static let brEDRNotSupported = Flags(rawValue: 0x04)
    /// Simultaneous LE and BR/EDR to Same Device Capable (Controller). Bit 3.
    public static let simultaneousController = Flags(rawValue: 0x08)
  }

  /// Data that belongs to a service. Supplement, Part A, 1.11.
  public struct ServiceData: Hashable, Sendable {
    /// The service.
    public var uuid: BluetoothUUID
    /// The octets after the UUID.
    public var data: [UInt8]

    /// Creates data of a service.
    public init(_ uuid: BluetoothUUID, _ data: [UInt8]) {
      self.uuid = uuid
      self.data = data
    }
  }

  /// Data that a manufacturer defines. Supplement, Part A, 1.4.
  public struct ManufacturerData: Hashable, Sendable {
    /// A company identifier: the assigned numbers, 7.
    public var company: UInt16
    /// The octets after the company identifier.
    public var data: [UInt8]

    /// Creates data of a manufacturer.
    public init(company: UInt16, _ data: [UInt8]) {
      self.company = company
      self.data = data
    }
  }

  /// An error in parsed octets. Offsets count from their beginning.
  public enum Malformation: Hashable, Sendable {
    /// The length octet of a structure exceeds the octets that are left. These are lost.
    case overlong(offset: Int, length: Int, available: Int)
    /// The value of a structure has an invalid length. It is kept in `others`.
    case wrongLength(AdvertisingStructure.Kind, offset: Int, length: Int)
    /// A structure that may occur once is repeated. The second is kept in `others`.
    case repeated(AdvertisingStructure.Kind, offset: Int)
    /// A name is not UTF-8. It is repaired.
    case notUTF8(offset: Int)
    /// Octets other than zero follow the structure of length zero that ends the data.
    case dataAfterEnd(offset: Int)
  }
}

extension AdvertisingData.Malformation: CustomStringConvertible {
  public var description: String {
    switch self {
    case .overlong(let offset, let length, let available):
      "the structure at offset \(offset) counts \(length) octets, but \(available) are left"
    case .wrongLength(let kind, let offset, let length):
      "the \(kind) at offset \(offset) cannot have \(length) octets"
    case .repeated(let kind, let offset): "the \(kind) comes again at offset \(offset)"
    case .notUTF8(let offset): "the name at offset \(offset) is not UTF-8"
    case .dataAfterEnd(let offset): "octets that are not zero follow the end at offset \(offset)"
    }
  }
}

extension AdvertisingData {
  /// Adds the fields of a scan response. Lists are joined. Single fields of the advertisement stay,
  /// except that a complete name replaces a shortened one.
  public mutating func merge(scanResponse other: AdvertisingData) {
    flags = flags ?? other.flags
    for uuid in other.serviceUUIDs where !serviceUUIDs.contains(uuid) { serviceUUIDs.append(uuid) }
    listsAllServices = listsAllServices && other.listsAllServices
    for uuid in other.solicitedServiceUUIDs where !solicitedServiceUUIDs.contains(uuid) {
      solicitedServiceUUIDs.append(uuid)
    }
    if let name = other.localName, localName == nil || (nameIsShortened && !other.nameIsShortened) {
      localName = name
      nameIsShortened = other.nameIsShortened
    }
    txPower = txPower ?? other.txPower
    appearance = appearance ?? other.appearance
    serviceData += other.serviceData
    manufacturerData += other.manufacturerData
    advertisingInterval = advertisingInterval ?? other.advertisingInterval
    others += other.others
    malformation = malformation ?? other.malformation
  }

  /// Parses an advertisement and the scan response that belongs to it.
  public init(advertisement: [UInt8], scanResponse: [UInt8]) {
    self.init(parsing: advertisement)
    merge(scanResponse: AdvertisingData(parsing: scanResponse))
  }
}
