/// How a radio advertises.
public struct AdvertisingParameters: Hashable, Sendable {
  /// What is in the air: fields that the radio lays out, or octets taken as they are.
  public enum Content: Hashable, Sendable {
    /// Fields, which are laid out when they go into the air.
    case fields(AdvertisingData)
    /// The octets themselves.
    case octets(LegacyAdvertisement)
  }

  /// Intervals that a radio takes: 20 ms to 10.24 s, what controllers of every version can do.
  /// Vol 6, Part B, 4.4.2.2.
  public static let intervalRange: ClosedRange<Duration> =
    .milliseconds(20) ... .milliseconds(10240)

  /// What is in the air.
  public var content: Content
  /// Whether centrals may connect. Each connection is an element of ``Advertisement/links``.
  public var isConnectable = true
  /// Time between two advertisements, 100 ms by default.
  public var interval: Duration = .milliseconds(100)
  /// Whether advertising ends with the first connection. By default it goes on, so that several
  /// centrals can connect, one after another and at the same time.
  public var stopsWhenConnected = false
  /// The RSSI in dBm that scanners of the virtual air are shown. Simulated: always this figure.
  /// Radios with an antenna ignore it.
  public var simulatedRSSI: Int8 = -50

  /// Parameters for fields, which the radio lays out with ``LegacyAdvertisement``.
  public init(_ data: AdvertisingData) { content = .fields(data) }

  /// Parameters for octets that are not looked at.
  public init(octets: LegacyAdvertisement) { content = .octets(octets) }

  /// The octets of both parts.
  ///
  /// - Throws: `AdvertisingDataError` if the fields do not fit.
  func laidOut() throws(AdvertisingDataError) -> LegacyAdvertisement {
    switch content {
    case .fields(let data): try LegacyAdvertisement(data, isConnectable: isConnectable)
    case .octets(let octets): octets
    }
  }
}
