import ATT
import CLinux
import EventLoop
import Glibc
import Links

/// Channels beside ATT on a link of the air.
///
/// # Theory
/// A channel is a Unix stream between the two radios. The one who opens it makes both ends and
/// passes one along with `open`; the other keeps it, or closes it, and answers. So a channel needs
/// no name that a stranger could dial: only who has the link can ask, and the link says who that is
/// and how well it is protected.
///
///     asker                                   other
///     open(identifier, PSM), one end   -->    published, secure enough, room: given on
///                                      <--    answer(identifier, result)
///
/// A link without encryption that is refused for it is raised once to `medium`, which pairs where
/// there are agents; then the asker asks again. Channels end with their link.
///
/// Limits: ``channelLimit`` at a time for each end to open, ``requestLimit`` unanswered.
extension AirLink {
  /// Channels of a link that either end has opened.
  static let channelLimit = 64
  /// Questions that the other end has not answered yet.
  static let requestLimit = 16

  /// One that was asked for.
  struct AskedChannel {
    let request: ChannelRequest
    /// This end of it; nil while the link's security is being raised for it.
    var socket: ChannelSocket?
    var hasRaised = false
  }

  func openChannel(_ request: ChannelRequest) {
    openChannels.removeAll(where: \.isOver)
    guard asked.count < Self.requestLimit, openChannels.count < Self.channelLimit,
      let identifier = (1...UInt8.max).first(where: { asked[$0] == nil })
    else {
      return request.end(.failure(.channelRefused(peer, psm: request.psm, .noResources)))
    }
    ask(identifier, AskedChannel(request: request))
  }

  private func ask(_ identifier: UInt8, _ question: AskedChannel) {
    var question = question
    asked[identifier] = nil
    guard let (own, theirs) = Self.pair() else {
      return question.request.end(.failure(.system("open a channel", errno: errno)))
    }
    let offered = OwnedDescriptor(owning: theirs)
    question.socket = ChannelSocket(
      OwnedDescriptor(owning: own), carrier: .unix, peerName: channelName(question.request.psm))
    asked[identifier] = question
    guard control.send(.open(identifier, question.request.psm), channel: offered.rawValue) else {
      asked[identifier] = nil
      return question.request.end(.failure(.notConnected(peer)))
    }
  }

  private static func pair() -> (Int32, Int32)? {
    var ends: (Int32, Int32) = (-1, -1)
    // The tuple has the layout of the array of two that socketpair(2) fills.
    let result = withUnsafeMutableBytes(of: &ends) {
      clinux_stream_pair($0.assumingMemoryBound(to: Int32.self).baseAddress!)
    }
    return result == 0 ? ends : nil
  }

  private func channelName(_ psm: UInt16) -> String { "channel \(psm) of \(peerName)" }

  /// The peer has answered.
  func take(answer identifier: UInt8, _ refusal: ChannelRefusal?) {
    guard var question = asked[identifier], let socket = question.socket else {
      return lose(.unspecified, EPROTO)
    }
    asked[identifier] = nil
    let request = question.request
    guard let refusal else {
      // Nobody waits any more: let go, the socket closes.
      guard !request.hasEnded else { return }
      do throws(RadioError) {
        let channel = try Channel(socket, peer: peer, psm: request.psm, on: loop)
        openChannels.append(channel.weakCore)
        request.end(.success(channel))
      } catch {
        request.end(.failure(error))
      }
      return
    }
    if refusal == .insufficientEncryption, !question.hasRaised, !request.hasEnded {
      question.hasRaised = true
      // The peer has risen meanwhile, or it shall now.
      if security.level >= .medium { return ask(identifier, question) }
      question.socket = nil
      asked[identifier] = question
      do throws(LinkError) {
        if maximum.level >= .medium { return try raiseSecurity(to: .medium) }
      } catch {}
      asked[identifier] = nil
    }
    request.end(.failure(.channelRefused(peer, psm: request.psm, refusal)))
  }

  /// The link is protected better than it was: what waited for that is asked again.
  func askForChannelsAgain() {
    guard security.level >= .medium else { return }
    for (identifier, question) in asked where question.socket == nil {
      if question.request.hasEnded { asked[identifier] = nil } else { ask(identifier, question) }
    }
  }

  /// The peer opens a channel, and has passed an end of it.
  func take(offer identifier: UInt8, _ psm: UInt16, _ descriptor: consuming OwnedDescriptor) {
    openChannels.removeAll(where: \.isOver)
    var kind: Int32 = 0
    let isStream =
      clinux_get_option(descriptor.rawValue, SOL_SOCKET, SO_TYPE, &kind) == 0
      && kind == CLINUX_SOCK_STREAM
    guard isStream else { return lose(.unspecified, EPROTO) }
    let socket = ChannelSocket(descriptor, carrier: .unix, peerName: channelName(psm))
    let refusal: ChannelRefusal?
    if openChannels.count >= Self.channelLimit {
      refusal = .noResources
    } else {
      refusal =
        channels?.admit(psm, over: self) {
          guard let channel = try? Channel(socket, peer: peer, psm: psm, on: loop) else {
            return nil
          }
          openChannels.append(channel.weakCore)
          return channel
        } ?? (channels == nil ? .unknownPSM : nil)
    }
    if !control.send(.answer(identifier, refusal)) { lose(.unspecified, EPIPE) }
  }

  /// The link has ended, and its channels with it.
  func endChannels(_ wasRefused: Bool) {
    channels?.remove(self)
    for question in asked.values {
      let isRaising = question.socket == nil
      question.request.end(
        .failure(
          isRaising && wasRefused
            ? .channelRefused(peer, psm: question.request.psm, .insufficientEncryption)
            : .notConnected(peer)))
    }
    asked = [:]
    for channel in openChannels { channel.core?.shutDown() }
    openChannels = []
  }
}
