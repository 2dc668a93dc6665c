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

  /// nil until the controller reports it. Links start without subrating: a factor of 1.
  public var subrate: Subrate?
  /// The time between two packets of an event in microseconds; nil until the controller reports it. Links start
  /// with 150.
  public var frameSpace: UInt16?

  /// Of how many connection events one is used. Vol 6, Part B, 4.5.1.
  public struct Subrate: Hashable, Sendable {
    /// Of so many events one is used while nothing is sent.
    public var factor: UInt16
    /// The events that are used after one with data.
    public var continuation: UInt16

    package init(factor: UInt16, continuation: UInt16) {
      self.factor = factor
      self.continuation = continuation
    }
  }

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

/// The parameters of a link as they became.
public struct LinkChange: Hashable, Sendable {
  /// The other end.
  public var peer: BluetoothAddress
  /// What is in use from now on.
  public var parameters: AgreedParameters

  /// A change to these parameters.
  package init(peer: BluetoothAddress, parameters: AgreedParameters) {
    (self.peer, self.parameters) = (peer, parameters)
  }
}

/// Of how many connection events one is to be used. Vol 6, Part B, 4.5.1.
public struct SubrateRequest: Hashable, Sendable {
  /// Of so many events one is used while nothing is sent: 1 to 500. The controllers choose one of the range.
  public var factor: ClosedRange<UInt16>
  /// The events that are used after one with data: 0 to 499, and less than the highest factor.
  public var continuation: UInt16

  /// A request with these values.
  public init(factor: ClosedRange<UInt16>, continuation: UInt16 = 0) {
    self.factor = factor
    self.continuation = continuation
  }
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
