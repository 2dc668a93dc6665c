import AttoEventLoop
import AttoLinks
import AttoRadio

/// Opens and accepts the channels of enhanced bearers beside a link. The functions are called on the
/// loop's thread.
package struct BearerSource: Sendable {
  /// Opens this many channels (1 to 5) in one request, with this MTU, and completes once: with at
  /// least one link, perhaps fewer than wanted, or with the reason.
  package typealias Open =
    @Sendable (
      _ link: any Link, _ count: Int, _ mtu: Int, _ loop: Loop, _ timeout: Duration,
      _ completion: @escaping RadioCompletion<[any Link]>
    ) -> Void
  /// Delivers each channel that the peer opens, at most so many at a time, until the result is
  /// released or the link ends.
  package typealias Accept =
    @Sendable (
      _ link: any Link, _ limit: Int, _ mtu: Int, _ loop: Loop,
      _ deliver: @escaping (any Link) -> Void
    ) throws(RadioError) -> AnyObject

  package let open: Open
  package let accept: Accept

  package init(open: @escaping Open, accept: @escaping Accept) {
    self.open = open
    self.accept = accept
  }

  /// The channels of the link's radio.
  static let radio = BearerSource(
    open: { link, count, mtu, loop, timeout, completion in
      _ = EnhancedBearers.open(
        count, mtu: mtu, beside: link, on: loop, timeout: timeout, completion)
    },
    accept: { (link, limit, mtu, loop, deliver) throws(RadioError) in
      try EnhancedBearers.accept(beside: link, limit: limit, mtu: mtu, on: loop, deliver)
    })
}
