import Links

/// What the kernel knows of a connection: MGMT_OP_GET_CONN_INFO, and what its monitor has shown.
public struct ConnectionInformation: Hashable, Sendable {
  /// dBm; nil if it is not known.
  public var rssi: Int8?
  /// Present transmit power in dBm; nil if it is not known.
  public var txPower: Int8?
  /// Highest transmit power in dBm; nil if it is not known.
  public var maximumTXPower: Int8?
  /// Interval, latency, PHY and data length; nil unless the link was made while the adapter was
  /// open in a process with CAP_NET_RAW: the kernel shows them as they come about, and does not
  /// keep them for others. `Connection.phy` needs neither.
  public var parameters: AgreedParameters?

  /// Reads the answer; nil if it is too short.
  init?(_ parameters: [UInt8]) {
    var reader = ManagementReader(parameters)
    _ = reader.octets(7)
    // 127 stands for unknown in all three.
    func figure() -> Int8? {
      let value: Int8 = reader.integer()
      return value == 127 ? nil : value
    }
    rssi = figure()
    txPower = figure()
    maximumTXPower = figure()
    if reader.isShort { return nil }
  }
}

/// What a connection with a peer shall be like from its beginning: MGMT_OP_LOAD_CONN_PARAM.
/// Vol 6, Part B, 4.5.1 and 4.5.2.
public struct PreferredConnectionParameters: Hashable, Sendable {
  /// In units of 1.25 ms: 6 to 3200.
  public var interval: ClosedRange<UInt16>
  /// Events that the peripheral may sleep through: 0 to 499.
  public var latency: UInt16
  /// Silence after which the link counts as lost, in units of 10 ms: 10 to 3200, and longer than
  /// twice the interval with its latency.
  public var supervisionTimeout: UInt16

  /// One with these values; its properties say what each means.
  public init(interval: ClosedRange<UInt16>, latency: UInt16 = 0, supervisionTimeout: UInt16) {
    self.interval = interval
    self.latency = latency
    self.supervisionTimeout = supervisionTimeout
  }

  func octets(_ peer: BluetoothAddress) -> [UInt8] {
    peer.managementOctets + interval.lowerBound.octets(2) + interval.upperBound.octets(2)
      + latency.octets(2) + supervisionTimeout.octets(2)
  }
}
