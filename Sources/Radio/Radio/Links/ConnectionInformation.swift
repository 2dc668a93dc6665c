public import AttoLinks

/// Signal strength, power and parameters of a connection of the kernel.
public struct ConnectionInformation: Hashable, Sendable {
  /// dBm; nil if it is not known.
  public var rssi: Int8?
  /// Present transmit power in dBm; nil if it is not known.
  public var txPower: Int8?
  /// Highest transmit power in dBm; nil if it is not known.
  public var maximumTXPower: Int8?
  /// Interval, latency, PHY and data length. nil unless the link was made while the adapter was open
  /// in a process with CAP_NET_RAW: the kernel reports them when they change, and does not store
  /// them.
  public var parameters: AgreedParameters?

  package init(rssi: Int8?, txPower: Int8?, maximumTXPower: Int8?) {
    self.rssi = rssi
    self.txPower = txPower
    self.maximumTXPower = maximumTXPower
  }
}

/// The parameters that two controllers have agreed on for a link. Vol 6, Part B, 4.5.
public struct AgreedParameters: Hashable, Sendable {
  /// Time between two connection events, in units of 1.25 ms: 6 to 3200.
  public var interval: UInt16
  /// Events that the peripheral may skip.
  public var latency: UInt16
  /// Time without a packet after which the link is lost, in units of 10 ms.
  public var supervisionTimeout: UInt16
  /// The PHYs in use. Links start with LE 1M, which is assumed until the controller reports a change: it
  /// does not report that a link was made on another PHY of extended advertising.
  public var phy: LinkPHY?
  /// nil until the controller reports it. Links start with 27 octets each way.
  public var dataLength: DataLength?

  /// The largest packet of each direction. Vol 6, Part B, 4.5.10.
  public struct DataLength: Hashable, Sendable {
    /// Octets, 27 to 251.
    public var transmit: UInt16
    /// Microseconds.
    public var transmitTime: UInt16
    /// Octets, 27 to 251.
    public var receive: UInt16
    /// Microseconds.
    public var receiveTime: UInt16

    package init(transmit: UInt16, transmitTime: UInt16, receive: UInt16, receiveTime: UInt16) {
      self.transmit = transmit
      self.transmitTime = transmitTime
      self.receive = receive
      self.receiveTime = receiveTime
    }
  }

  /// Parameters with these values.
  package init(
    interval: UInt16, latency: UInt16, supervisionTimeout: UInt16, phy: LinkPHY? = nil,
    dataLength: DataLength? = nil
  ) {
    self.interval = interval
    self.latency = latency
    self.supervisionTimeout = supervisionTimeout
    self.phy = phy
    self.dataLength = dataLength
  }

  /// The interval as a time.
  public var intervalTime: Duration { .microseconds(Int(interval) * 1250) }
  /// The supervision timeout as a time.
  public var supervisionTime: Duration { .milliseconds(Int(supervisionTimeout) * 10) }
}

/// The parameters that connections with a peer start with. Vol 6, Part B, 4.5.1 and 4.5.2.
public struct PreferredConnectionParameters: Hashable, Sendable {
  /// In units of 1.25 ms: 6 to 3200.
  public var interval: ClosedRange<UInt16>
  /// Events that the peripheral may skip: 0 to 499.
  public var latency: UInt16
  /// Time without a packet after which the link is lost, in units of 10 ms: 10 to 3200, and longer
  /// than twice the interval with its latency.
  public var supervisionTimeout: UInt16

  /// Parameters with these values.
  public init(interval: ClosedRange<UInt16>, latency: UInt16 = 0, supervisionTimeout: UInt16) {
    self.interval = interval
    self.latency = latency
    self.supervisionTimeout = supervisionTimeout
  }
}
