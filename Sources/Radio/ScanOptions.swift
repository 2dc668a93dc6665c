public import ATT
public import Links

/// What a scan reports, and how long it runs.
public struct ScanOptions: Hashable, Sendable {
  /// Reports only devices that advertise one of these services; empty: all.
  public var services: Set<BluetoothUUID> = []
  /// Reports only devices with this local name, octet by octet; nil: all.
  public var name: String?
  /// Reports only devices with one of these addresses; empty: all.
  public var addresses: Set<BluetoothAddress> = []
  /// Reports only what was received at least this strong, in dBm; nil: all. What the controller
  /// does not tell the strength of is not known to be strong enough.
  public var minimumRSSI: Int8?
  /// Reports every advertisement that is received rather than the first and then changes.
  public var reportsDuplicates = false
  /// Whether scan responses are asked for. Without them names are often missing. Vol 6, Part B,
  /// 4.4.3.2.
  public var isActive = true
  /// The scan ends by itself after this time; nil: when it is cancelled or released.
  public var timeout: Duration?

  /// Everything that is heard.
  public init() {}

  /// Whether a device is one of those to be reported.
  func admits(_ discovery: Discovery) -> Bool {
    if !addresses.isEmpty, !addresses.contains(discovery.address) { return false }
    if let minimumRSSI, discovery.rssi < minimumRSSI || discovery.rssi == 127 { return false }
    if let name, discovery.data.localName.map({ !$0.utf8.elementsEqual(name.utf8) }) ?? true {
      return false
    }
    return services.isEmpty || discovery.data.serviceUUIDs.contains(where: services.contains)
  }
}

/// A device as a scan met it.
public struct Discovery: Hashable, Sendable {
  /// The radio.
  public let address: BluetoothAddress
  /// Strength of the signal in dBm; 127 if the controller does not tell. On the virtual air a
  /// declared figure.
  public let rssi: Int8
  /// Whether the device takes connections.
  public let isConnectable: Bool
  /// The octets of the advertisement; from the kernel with those of the scan response behind them
  /// where it has merged the two.
  public let advertisement: [UInt8]
  /// The octets of the scan response; empty for a passive scan.
  public let scanResponse: [UInt8]
  /// What both say, merged.
  public let data: AdvertisingData

  /// One with these values; its properties say what each means.
  public init(
    address: BluetoothAddress, rssi: Int8, isConnectable: Bool, advertisement: [UInt8],
    scanResponse: [UInt8]
  ) {
    self.address = address
    self.rssi = rssi
    self.isConnectable = isConnectable
    self.advertisement = advertisement
    self.scanResponse = scanResponse
    data = AdvertisingData(advertisement: advertisement, scanResponse: scanResponse)
  }
}

/// What a scan reports, in the order in which it happened.
public enum ScanEvent: Hashable, Sendable {
  /// A device is met for the first time, or again after it was gone.
  case found(Discovery)
  /// A device that was found says something new; with `reportsDuplicates`, or the same again.
  case seen(Discovery)
  /// A device that was found advertises no more, or no longer exists.
  case gone(BluetoothAddress)
  /// So many events were lost here, because nobody took them.
  case missed(Int)
}
