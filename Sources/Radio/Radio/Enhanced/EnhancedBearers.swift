package import AttoEventLoop
package import AttoLinks

/// Opens and accepts the channels of enhanced ATT bearers (EATT) beside the ATT channel of a link.
/// Vol 3, Part G, 5.3; Vol 3, Part A, 4.25 to 4.28. The loop's thread only.
///
/// A channel is a `Link` with an `enhancedMTU`. It ends alone when either end closes it, and
/// with the link to the peer.
package enum EnhancedBearers {
  /// The SPSM of enhanced bearers.
  package static let spsm = enhancedATTPSM
  /// Channels that one request opens at most. Vol 3, Part A, 4.25.
  package static let requestLimit = 5
  /// The smallest MTU of an enhanced bearer, in octets. Vol 3, Part A, 10.2.
  package static let minimumMTU = 64

  /// Opens channels to the peer of a link, which must be encrypted.
  ///
  /// - Parameters:
  ///   - count: 1 to ``requestLimit``.
  ///   - mtu: the longest PDU that this end receives: ``minimumMTU`` to 65535 octets.
  ///   - link: an ATT channel.
  ///   - completion: called once, perhaps at once, with 1 to `count` channels: the peer may accept some
  ///     only. The errors are `channelRefused` (`insufficientEncryption` if the link is not
  ///     encrypted; the kernel reports what a peer refuses as `unspecified`), `unsupported` for links
  ///     without radios, `link`, `notConnected`, `timedOut`, and the one of the result.
  /// - Returns: a function that ends the attempt with an error.
  package static func open(
    _ count: Int, mtu: Int, beside link: any Link, on loop: Loop, timeout: Duration,
    _ completion: @escaping RadioCompletion<[any Link]>
  ) -> EndOperation {
    precondition((1...requestLimit).contains(count), "1 to 5 channels")
    precondition((minimumMTU...Int(UInt16.max)).contains(mtu), "an MTU of 64 to 65535")
    do throws(RadioError) {
      let ends = try ends(of: link)
      guard link.security.level >= .medium else {
        throw .channelRefused(ends.peer, psm: spsm, .insufficientEncryption)
      }
      if let carrier = link as? any EnhancedCarrier {
        return carrier.openEnhanced(count, mtu: mtu, timeout: timeout, completion)
      }
      let request = EnhancedRequest(
        count, mtu: UInt16(mtu), ends, on: loop, timeout: timeout, completion)
      request.openNext()
      return { request.end($0) }
    } catch {
      completion(.failure(error))
      return { _ in }
    }
  }

  /// Delivers each channel that the peer of a link opens, until the result is stopped or released.
  ///
  /// - Parameters:
  ///   - limit: the channels that may be open at a time; further ones are refused or closed.
  ///   - mtu: the longest PDU that this end receives, as for ``open(_:mtu:beside:on:timeout:_:)``.
  /// - Throws: `unsupported` for links without radios, `link` if the kernel cannot listen, for example
  ///   with ENOPROTOOPT, EACCES or EADDRINUSE.
  package static func accept(
    beside link: any Link, limit: Int, mtu: Int, on loop: Loop,
    _ deliver: @escaping (any Link) -> Void
  ) throws(RadioError) -> EnhancedAcceptance {
    let ends = try ends(of: link)
    let acceptance = EnhancedAcceptance(limit: limit, mtu: mtu, deliver)
    if let carrier = link as? any EnhancedCarrier {
      carrier.acceptEnhanced(acceptance)
    } else {
      let listener = try EnhancedListener.hold(.address(ends.own), mtu: mtu, on: loop)
      listener.add(acceptance, beside: link)
    }
    return acceptance
  }

  private static func ends(of link: any Link) throws(RadioError) -> LinkAddresses {
    let isRadio = link is any EnhancedCarrier || (link as? SocketLink)?.carrier == .l2cap
    guard isRadio, link.enhancedMTU == nil else {
      throw .unsupported("enhanced bearers on \(link.peerName)")
    }
    guard let ends = link.radioAddresses else {
      throw .link(LinkError(.connect, .closed, endpoint: link.peerName))
    }
    return ends
  }
}

/// A link that opens the channels of enhanced bearers by itself.
package protocol EnhancedCarrier: Link {
  /// As ``EnhancedBearers/open(_:mtu:beside:on:timeout:_:)``.
  func openEnhanced(
    _ count: Int, mtu: Int, timeout: Duration, _ completion: @escaping RadioCompletion<[any Link]>
  ) -> EndOperation
  /// Has a new acceptance take the place of an earlier one.
  func acceptEnhanced(_ acceptance: EnhancedAcceptance)
}

/// The channels that the peer of a link opens. Owned by their user; the loop's thread only, but it may
/// be released on any thread.
package final class EnhancedAcceptance {
  /// The longest PDU that this end receives.
  package let mtu: Int
  private let limit: Int
  private var deliver: ((any Link) -> Void)?
  private var channels: [WeakChannel] = []
  /// Keeps the kernel's socket open.
  var listener: EnhancedListener?

  private struct WeakChannel {
    weak var link: (any Link)?
  }

  init(limit: Int, mtu: Int, _ deliver: @escaping (any Link) -> Void) {
    self.limit = limit
    self.mtu = mtu
    self.deliver = deliver
  }

  /// Accepts no more channels; those that are open stay.
  package func stop() {
    deliver = nil
    listener = nil
  }

  package var isOpen: Bool { deliver != nil }

  /// The channels for which there is room.
  package var room: Int {
    channels.removeAll { $0.link?.descriptor == nil }
    return isOpen ? max(0, limit - channels.count) : 0
  }

  /// Delivers a channel, or closes it if there is no room.
  package func accept(_ link: any Link) {
    guard room > 0, let deliver else { return link.close() }
    channels.append(WeakChannel(link: link))
    deliver(link)
  }
}
