import AttoATT
import CAttoLinux
import AttoEventLoop
import Glibc
import AttoLinks
import AttoRadio

// Channels beside ATT on a link of the virtual air.
//
// # Theory
// A channel is a Unix stream between the two radios. The end that opens it creates both sockets and
// sends one with `open`. The peer keeps or closes it, and answers. So a channel has no name to which
// a third process could connect, and the link identifies the peer and its security.
//
//     initiator                               responder
//     open(identifier, PSM), a socket  -->    published, secure enough, room: offered
//                                      <--    answer(identifier, result)
//
// If a channel is refused because the link is not encrypted, the link is raised once to `medium`,
// which pairs if there are agents. Then the initiator asks again. Channels end with their link.
//
// Limits: ``channelLimit`` open at a time for each end, ``requestLimit`` unanswered.
extension AirLink {
  static let channelLimit = 64
  static let requestLimit = 16

  /// A channel that this end has asked for. Ends once: with a channel, an error, or its timeout.
  final class AskedChannel {
    let psm: UInt16
    /// The socket of this end; nil while the security of the link is being raised.
    var socket: ChannelSocket?
    var hasRaised = false
    private var completion: RadioCompletion<Channel>?
    private var timer: LoopTimer?

    init(
      _ psm: UInt16, of link: AirLink, timeout: Duration,
      _ completion: @escaping RadioCompletion<Channel>
    ) {
      self.psm = psm
      self.completion = completion
      let peer = link.peer
      timer = LoopTimer(after: timeout, on: link.loop) { [weak self] in
        self?.end(.failure(.timedOut(peer, after: timeout)))
      }
    }

    var hasEnded: Bool { completion == nil }

    func end(_ result: Result<Channel, RadioError>) {
      guard let completion else { return }
      self.completion = nil
      timer?.cancel()
      completion(result)
    }
  }

  func openChannel(_ question: AskedChannel) {
    openChannels.removeAll(where: \.isOver)
    guard asked.count < Self.requestLimit, openChannels.count < Self.channelLimit,
      let identifier = (1...UInt8.max).first(where: { asked[$0] == nil })
    else {
      return question.end(.failure(.channelRefused(peer, psm: question.psm, .noResources)))
    }
    ask(identifier, question)
  }

  private func ask(_ identifier: UInt8, _ question: AskedChannel) {
    asked[identifier] = nil
    var ends: [Int32] = [-1, -1]
    let result = clinux_stream_pair(&ends)
    guard result == 0 else {
      return question.end(.failure(.system("open a channel", errno: -result)))
    }
    let theirs = OwnedDescriptor(owning: ends[1])
    question.socket = ChannelSocket(
      OwnedDescriptor(owning: ends[0]), carrier: .unix, peerName: channelName(question.psm))
    asked[identifier] = question
    guard control.send(.open(identifier, question.psm), channel: theirs.rawValue) else {
      asked[identifier] = nil
      return question.end(.failure(.notConnected(peer)))
    }
  }

  private func channelName(_ psm: UInt16) -> String { "channel \(psm) of \(peerName)" }

  func answered(_ identifier: UInt8, _ refusal: ChannelRefusal?) {
    guard let question = asked[identifier], let socket = question.socket else {
      return lose(.unspecified, EPROTO)
    }
    asked[identifier] = nil
    question.socket = nil
    guard let refusal else {
      // Released, the socket closes.
      guard !question.hasEnded else { return }
      do throws(RadioError) {
        let channel = try Channel(socket, peer: peer, psm: question.psm, on: loop)
        openChannels.append(channel.weakReference)
        question.end(.success(channel))
      } catch {
        question.end(.failure(error))
      }
      return
    }
    if refusal == .insufficientEncryption, !question.hasRaised, !question.hasEnded {
      question.hasRaised = true
      // The peer may have raised the level meanwhile.
      if security.level >= .medium { return ask(identifier, question) }
      asked[identifier] = question
      do throws(LinkError) {
        if maximum.level >= .medium { return try raiseSecurity(to: .medium) }
      } catch {}
      asked[identifier] = nil
    }
    question.end(.failure(.channelRefused(peer, psm: question.psm, refusal)))
  }

  /// The security has risen: requests that waited for it are sent again.
  func askForChannelsAgain() {
    guard security.level >= .medium else { return }
    for (identifier, question) in asked where question.socket == nil {
      if question.hasEnded { asked[identifier] = nil } else { ask(identifier, question) }
    }
  }

  /// The peer opens a channel, and has sent an end of it.
  func offered(_ identifier: UInt8, _ psm: UInt16, _ descriptor: consuming OwnedDescriptor) {
    openChannels.removeAll(where: \.isOver)
    var kind: Int32 = 0
    let isStream =
      clinux_get_option(descriptor.rawValue, SOL_SOCKET, SO_TYPE, &kind) == 0
      && kind == CLINUX_SOCK_STREAM
    guard isStream else { return lose(.unspecified, EPROTO) }
    let socket = ChannelSocket(descriptor, carrier: .unix, peerName: channelName(psm))
    let refusal = openChannels.count < Self.channelLimit ? offer(socket, psm) : .noResources
    if !control.send(.answer(identifier, refusal)) { lose(.unspecified, EPIPE) }
  }

  /// Offers a channel to the publication of its PSM. Returns why it was refused; nil if it is open.
  private func offer(_ socket: ChannelSocket, _ psm: UInt16) -> ChannelRefusal? {
    guard let publication = radio?.host.publication(psm) else { return .unknownPSM }
    guard !publication.requiresEncryption || security.level >= .medium else {
      return .insufficientEncryption
    }
    guard let channel = try? Channel(socket, peer: peer, psm: psm, on: loop) else {
      return .noResources
    }
    openChannels.append(channel.weakReference)
    return publication.offer(channel)
  }

  func endChannels(_ wasRefused: Bool) {
    for question in asked.values {
      let isRaising = question.socket == nil
      question.end(
        .failure(
          isRaising && wasRefused
            ? .channelRefused(peer, psm: question.psm, .insufficientEncryption)
            : .notConnected(peer)))
    }
    asked = [:]
    for channel in openChannels { channel.shutDown() }
    openChannels = []
  }
}
