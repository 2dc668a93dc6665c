/// The content and the settings of an advertisement.
public struct AdvertisingParameters: Hashable, Sendable {
  /// The content of an advertisement.
  public enum Content: Hashable, Sendable {
    /// Fields, which the radio lays out with ``LegacyAdvertisement``.
    case fields(AdvertisingData)
    /// The octets themselves.
    case octets(LegacyAdvertisement)
  }

  /// Valid intervals: 20 ms to 10.24 s, which controllers of every version support.
  /// Vol 6, Part B, 4.4.2.2.
  public static let intervalRange: ClosedRange<Duration> =
    .milliseconds(20) ... .milliseconds(10240)

  /// The content.
  public var content: Content
  /// Whether centrals may connect. Each connection is an element of ``Advertisement/links``.
  public var isConnectable = true
  /// Time between two advertisements, 100 ms by default.
  public var interval: Duration = .milliseconds(100)
  /// Whether advertising ends with the first connection. By default it continues, so that several
  /// centrals can connect, one after another or at the same time.
  public var stopsWhenConnected = false
  /// The RSSI in dBm that scanners of the virtual air report. Kernel adapters ignore it.
  public var simulatedRSSI: Int8 = -50

  /// Parameters for fields.
  public init(_ data: AdvertisingData) { content = .fields(data) }

  /// Parameters for octets, which are not checked.
  public init(octets: LegacyAdvertisement) { content = .octets(octets) }
}
