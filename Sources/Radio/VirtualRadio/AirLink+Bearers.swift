import AttoATT
import AttoEventLoop
import AttoLinks
import AttoRadio
import CAttoLinux

// Enhanced ATT bearers on a link of the virtual air.
//
// # Theory
// One request asks for several bearers. The peer makes them, and sends an end of each:
//
//     initiator                              responder
//     bearers(identifier, count, MTU)  -->   encrypted, valid, room: opened
//                                      <--   bearer(identifier, number, MTU), a socket; each of them
//                                      <--   opened(identifier, result)
//
// The result is `noResources` where there is room for some only. Numbers below 0x80 are the central's
// to give; that of a closed bearer may be given again, even before the peer knows of its end. Raising an MTU
// is one message, answered by one; it is never reduced.
//
// A central may ask before the responder's program has taken its link. As at the kernel's listener, such a
// request waits for ``attachTime``, or until the link is used: then bearers are accepted or not.
//
// Limits: the acceptance's for those that the peer opens; ``bearerRequestLimit`` unanswered requests.
extension AirLink: EnhancedCarrier {
  static let bearerRequestLimit = 4
  static let attachTime: Duration = .seconds(2)

  /// What the peer asks for.
  struct BearerRequest {
    let identifier: UInt8
    let count: Int
    let mtu: Int
  }

  struct WeakBearer {
    weak var bearer: AirBearer?
  }

  /// A request of this end. Ends once: with bearers, an error, or its timeout.
  final class AskedBearers {
    let count: Int
    let mtu: Int
    var links: [AirBearer] = []
    private var completion: RadioCompletion<[any Link]>?
    private var timer: LoopTimer?

    init(
      _ count: Int, mtu: Int, of link: AirLink, timeout: Duration,
      _ completion: @escaping RadioCompletion<[any Link]>
    ) {
      self.count = count
      self.mtu = mtu
      self.completion = completion
      let peer = link.peer
      timer = LoopTimer(after: timeout, on: link.loop) { [weak self] in
        self?.end(.failure(.timedOut(peer, after: timeout)))
      }
    }

    /// Bearers of a request that has failed are closed.
    func end(_ result: Result<[any Link], RadioError>) {
      timer?.cancel()
      if case .failure = result { closeAll() }
      guard let completion else { return }
      self.completion = nil
      links = []
      completion(result)
    }

    var hasEnded: Bool { completion == nil }

    func closeAll() {
      for link in links { link.close() }
      links = []
    }
  }

  func openEnhanced(
    _ count: Int, mtu: Int, timeout: Duration, _ completion: @escaping RadioCompletion<[any Link]>
  ) -> EndOperation {
    let question = AskedBearers(count, mtu: mtu, of: self, timeout: timeout, completion)
    guard !hasEnded, askedBearers.count < Self.bearerRequestLimit,
      let identifier = (1...UInt8.max).first(where: { askedBearers[$0] == nil })
    else {
      question.end(
        .failure(
          hasEnded
            ? .notConnected(peer)
            : .channelRefused(peer, psm: EnhancedBearers.spsm, .noResources)))
      return { _ in }
    }
    guard control.send(.bearers(identifier, count: UInt8(count), mtu: UInt16(mtu))) else {
      question.end(.failure(.notConnected(peer)))
      return { _ in }
    }
    askedBearers[identifier] = question
    return { question.end(.failure($0)) }
  }

  func acceptEnhanced(_ acceptance: EnhancedAcceptance) {
    self.acceptance = acceptance
    answerEarlyRequests()
  }

  /// Who uses the link accepts bearers in the same turn, or not at all.
  func attached() {
    guard !earlyRequests.isEmpty else { return }
    answerEarlyRequests(after: .zero)
  }

  private func answerEarlyRequests(after time: Duration) {
    earlyTimer?.cancel()
    earlyTimer = LoopTimer(after: time, on: loop) { [weak self] in self?.answerEarlyRequests() }
  }

  private func answerEarlyRequests() {
    earlyTimer?.cancel()
    earlyTimer = nil
    let requests = earlyRequests
    earlyRequests = []
    for request in requests where !hasEnded { answer(request) }
  }

  /// The peer sends one of the bearers that this end has asked for.
  func received(
    _ identifier: UInt8, _ number: UInt8, mtu: Int, _ descriptor: consuming OwnedDescriptor
  ) {
    var kind: Int32 = 0
    let isWhole =
      clinux_get_option(descriptor.rawValue, SOL_SOCKET, SO_TYPE, &kind) == 0
      && kind == CLINUX_SOCK_SEQPACKET
    guard let question = askedBearers[identifier], question.links.count < question.count, isWhole,
      mtu >= EnhancedBearers.minimumMTU, (number & 0x80 == 0) != isCentral
    else { return lose(.unspecified, EPROTO) }
    // Of a request that has timed out: released, it is closed.
    guard !question.hasEnded else { return }
    let bearer = AirBearer(
      descriptor, number: number, sendMTU: mtu, receiveMTU: question.mtu, of: self)
    bearers[number] = WeakBearer(bearer: bearer)
    question.links.append(bearer)
  }

  func opened(_ identifier: UInt8, _ refusal: ChannelRefusal?) {
    guard let question = askedBearers.removeValue(forKey: identifier) else {
      return lose(.unspecified, EPROTO)
    }
    let links = question.links
    guard !links.isEmpty else {
      let refusal = refusal ?? .unspecified
      return question.end(
        .failure(.channelRefused(peer, psm: EnhancedBearers.spsm, refusal)))
    }
    question.end(.success(links))
  }

  /// The peer asks for bearers.
  func asked(for request: BearerRequest) {
    let isEarly = observer == nil && acceptance == nil
    guard isEarly, earlyRequests.count < Self.bearerRequestLimit else { return answer(request) }
    earlyRequests.append(request)
    if earlyTimer == nil { answerEarlyRequests(after: Self.attachTime) }
  }

  private func answer(_ request: BearerRequest) {
    var made: [AirBearer] = []
    let refusal = make(request, &made)
    guard !hasEnded else { return }
    guard control.send(.opened(request.identifier, refusal)) else {
      return lose(.unspecified, EPIPE)
    }
    guard let acceptance else { return }
    for bearer in made { acceptance.accept(bearer) }
  }

  /// Makes as many bearers as there is room for. Returns why there are no more.
  private func make(_ request: BearerRequest, _ made: inout [AirBearer]) -> ChannelRefusal? {
    let (identifier, count, mtu) = (request.identifier, request.count, request.mtu)
    guard let acceptance, acceptance.isOpen else { return .unknownPSM }
    guard security.level >= .medium else { return .insufficientEncryption }
    guard (1...EnhancedBearers.requestLimit).contains(count), mtu >= EnhancedBearers.minimumMTU
    else { return .invalidParameters }
    bearers = bearers.filter { $0.value.bearer?.descriptor != nil }
    let numbers: ClosedRange<UInt8> = isCentral ? 0x01...0x7F : 0x80...0xFF
    let free = numbers.filter { bearers[$0] == nil }
    for number in free.prefix(min(count, acceptance.room)) {
      var ends: [Int32] = [-1, -1]
      guard clinux_seqpacket_pair(&ends) == 0 else { break }
      let theirs = OwnedDescriptor(owning: ends[1])
      let bearer = AirBearer(
        OwnedDescriptor(owning: ends[0]), number: number, sendMTU: mtu,
        receiveMTU: acceptance.mtu, of: self)
      let message = AirControl.bearer(identifier, number: number, mtu: UInt16(acceptance.mtu))
      guard control.send(message, channel: theirs.rawValue) else {
        lose(.unspecified, EPIPE)
        return .noResources
      }
      bearers[number] = WeakBearer(bearer: bearer)
      made.append(bearer)
    }
    return made.count < count ? .noResources : nil
  }

  func reconfigure(_ number: UInt8, mtu: Int) {
    let result = bearers[number]?.bearer?.reconfigure(mtu: mtu) ?? .unknown
    if !control.send(.reconfigured(number, result)) { lose(.unspecified, EPIPE) }
  }

  func reconfigured(_ number: UInt8) {
    // Of a bearer that was released meanwhile nothing is known.
    guard let bearer = bearers[number]?.bearer else { return }
    guard bearer.reconfiguring > 0 else { return lose(.unspecified, EPROTO) }
    bearer.reconfiguring -= 1
    if bearer.reconfiguring == 0 { bearer.observer?.linkReady(.writable) }
  }

  /// There is room in the pacer, or the security that was asked for is reached.
  func notifyWritable() {
    observer?.linkReady(.writable)
    for entry in bearers.values { entry.bearer?.observer?.linkReady(.writable) }
  }

  func endBearers() {
    for question in askedBearers.values { question.end(.failure(.notConnected(peer))) }
    askedBearers = [:]
    let open = bearers.values
    bearers = [:]
    for entry in open { entry.bearer?.linkEnded() }
  }
}
