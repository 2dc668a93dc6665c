import ATT
import EventLoop
import Links

/// The channels of one radio of the air: the PSMs that are published, and the links that channels
/// are opened over. The loop's thread only.
final class AirChannels {
  /// What is assigned on demand. Vol 3, Part A, 4.22.
  static let psms: ClosedRange<UInt16> = 0x0080...0x00FF

  private struct WeakLink {
    weak var link: AirLink?
  }

  private struct Publication {
    let requiresEncryption: Bool
    let sink: AsyncStream<Channel>.Continuation
  }

  private var publications: [UInt16: Publication] = [:]
  private var links: [BluetoothAddress: WeakLink] = [:]

  // MARK: Links

  /// Adds a link, which is found until it ends; of two with one peer the younger.
  func add(_ link: AirLink) {
    link.channels = self
    links[link.peer] = WeakLink(link: link)
  }

  func remove(_ link: AirLink) {
    guard links[link.peer]?.link === link || links[link.peer]?.link == nil else { return }
    links[link.peer] = nil
  }

  /// The link to a peer that stands.
  func link(to peer: BluetoothAddress) -> AirLink? {
    guard let link = links[peer]?.link, !link.hasEnded else { return nil }
    return link
  }

  // MARK: Publishing

  /// - Returns: a PSM, and what comes there; nil if all are in use.
  func publish(requiresEncryption: Bool) -> (UInt16, AsyncStream<Channel>)? {
    guard let psm = Self.psms.first(where: { publications[$0] == nil }) else { return nil }
    let (stream, sink) = AsyncStream<Channel>.makeStream(
      bufferingPolicy: .bufferingOldest(PublishedChannel.queueLimit))
    publications[psm] = Publication(requiresEncryption: requiresEncryption, sink: sink)
    return (psm, stream)
  }

  func unpublish(_ psm: UInt16) { publications.removeValue(forKey: psm)?.sink.finish() }

  func close() {
    for psm in publications.keys { unpublish(psm) }
  }

  /// Gives a channel that a peer asks for to the one who has published the PSM.
  ///
  /// - Returns: why not; nil if it is open.
  func admit(
    _ psm: UInt16, over link: AirLink, _ make: () -> Channel?
  ) -> ChannelRefusal? {
    guard let publication = publications[psm] else { return .unknownPSM }
    guard !publication.requiresEncryption || link.security.level >= .medium else {
      return .insufficientEncryption
    }
    guard let channel = make() else { return .noResources }
    switch publication.sink.yield(channel) {
    case .enqueued: return nil
    case .dropped:
      channel.close()
      return .noResources
    case .terminated: return .unknownPSM
    @unknown default: return .unknownPSM
    }
  }
}
