public import AttoATT
public import AttoLinks

/// The filters and the duration of a scan.
public struct ScanOptions: Hashable, Sendable {
  /// Reports only devices that advertise one of these services; empty: all.
  public var services: Set<BluetoothUUID> = []
  /// Reports only devices with this local name, octet by octet; nil: all.
  public var name: String?
  /// Reports only devices with one of these addresses; empty: all.
  public var addresses: Set<BluetoothAddress> = []
  /// Reports only devices that were received with at least this strength, in dBm; nil: all. A device
  /// whose strength the controller does not report is not reported either.
  public var minimumRSSI: Int8?
  /// Reports every advertisement that is received rather than only changes.
  public var reportsDuplicates = false
  /// Whether to ask for scan responses. Without them names are often missing. Vol 6, Part B,
  /// 4.4.3.2. A controller that compares advertisements itself reports to a passive scan only devices with
  /// common flags, and sensors of the known formats.
  public var isActive = true
  /// When the radio of an adapter of the kernel listens; nil: as the kernel has it. Scans of an adapter share
  /// the one that listens for the largest share. It holds for what the kernel begins from then on: a scan that
  /// is under way is not changed. The adapter has its own timing back when no scan asks for another; if the
  /// process is killed, when it is plugged in again. A radio of the virtual air hears everything.
  public var timing: ScanTiming?
  /// The scan ends after this time; nil: when it is cancelled or released.
  public var timeout: Duration?

  /// All devices, without a timeout.
  public init() {}

  func selects(_ discovery: Discovery) -> Bool {
    if !addresses.isEmpty, !addresses.contains(discovery.address) { return false }
    if let minimumRSSI, discovery.rssi < minimumRSSI || discovery.rssi == 127 { return false }
    if let name, discovery.data.localName.map({ !$0.utf8.elementsEqual(name.utf8) }) ?? true {
      return false
    }
    return services.isEmpty || discovery.data.serviceUUIDs.contains(where: services.contains)
  }
}

/// A device as it was received.
public struct Discovery: Hashable, Sendable {
  /// The address of the device.
  public let address: BluetoothAddress
  /// Strength of the signal in dBm; 127 if the controller does not report it. On the virtual air
  /// ``AdvertisingParameters/simulatedRSSI``.
  public let rssi: Int8
  /// Whether the device accepts connections.
  public let isConnectable: Bool
  /// The octets of the advertisement. The kernel may append those of the scan response.
  public let advertisement: [UInt8]
  /// The octets of the scan response; empty for a passive scan.
  public let scanResponse: [UInt8]
  /// The fields of both.
  public let data: AdvertisingData

  /// A device with these values.
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

  /// The device as a passive scan receives it.
  var withoutScanResponse: Discovery {
    Discovery(
      address: address, rssi: rssi, isConnectable: isConnectable, advertisement: advertisement,
      scanResponse: [])
  }
}

/// An event of a scan.
@nonexhaustive public enum ScanEvent: Hashable, Sendable {
  /// A device was received for the first time, or again after it was gone.
  case found(Discovery)
  /// A device that was found advertises something new or, with `reportsDuplicates`, advertises again.
  case seen(Discovery)
  /// A device that was found no longer advertises.
  case gone(BluetoothAddress)
  /// This many events were dropped here, because too many were waiting.
  case missed(Int)
}
