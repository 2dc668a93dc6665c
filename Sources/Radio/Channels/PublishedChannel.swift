/// A PSM of this end at which peers open channels, until it is stopped or released.
public final class PublishedChannel: Sendable {
  /// Channels that wait to be taken; further ones are refused for want of resources.
  public static let queueLimit = 16

  /// 0x0080 to 0x00FF: those that are assigned on demand. Vol 3, Part A, 4.22.
  public let psm: UInt16
  /// The channels that peers open, each once; ends when publishing does. For one consumer.
  public let channels: AsyncStream<Channel>
  private let end: @Sendable () -> Void

  init(
    _ psm: UInt16, _ channels: AsyncStream<Channel>, end: @escaping @Sendable () -> Void
  ) {
    self.psm = psm
    self.channels = channels
    self.end = end
  }

  deinit { end() }

  /// Takes no more channels; those that stand stay. More than once does nothing.
  public func stop() { end() }
}
