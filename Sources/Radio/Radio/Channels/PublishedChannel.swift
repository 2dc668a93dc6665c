/// A PSM of this end at which peers open channels, until it is stopped or released.
public final class PublishedChannel: Sendable {
  /// Channels that wait in ``channels``. Further ones are refused for lack of resources.
  public static let queueLimit = 16

  /// 0x0080 to 0x00FF, the dynamic range. Vol 3, Part A, 4.22.
  public let psm: UInt16
  /// The channels that peers open, each once. Ends when publishing does. For one consumer.
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

  /// Accepts no more channels; those that are open stay. More than once does nothing.
  public func stop() { end() }
}

/// A publication as a backend sees it.
package final class ChannelPublication: Sendable {
  package let requiresEncryption: Bool
  private let sink: AsyncStream<Channel>.Continuation

  init(requiresEncryption: Bool, _ sink: AsyncStream<Channel>.Continuation) {
    self.requiresEncryption = requiresEncryption
    self.sink = sink
  }

  /// Queues a channel that a peer has opened.
  ///
  /// - Returns: why it was closed instead; nil if it was queued.
  package func offer(_ channel: Channel) -> ChannelRefusal? {
    switch sink.yield(channel) {
    case .enqueued: return nil
    case .dropped:
      channel.close()
      return .noResources
    case .terminated: return .unknownPSM
    @unknown default: return .unknownPSM
    }
  }

  func finish() { sink.finish() }
}
