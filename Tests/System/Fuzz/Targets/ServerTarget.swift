import AttoATT
import AttoGATT

@testable import AttoSimulation

/// A server with the rich database, and clients that say what they like. The input is one octet
/// for the bearers (bits 0 and 1: ATT_MTU; bit 2: enhanced; bit 3: tight limits; bit 4: the link
/// may be reused; bit 5: the client signs) and a ``PDUSequence``.
///
/// Rules: ``Conversation``'s; each response is, octet by octet, the model's; clients do not see
/// each other's configurations, queues and features, since the model keeps them apart; prepared
/// octets and clients keep their limits.
final class ServerTarget {
  private let host = Host()
  private let configuration: BearerConfiguration
  private let signs: Bool
  /// By client: its bearers.
  private var clients: [[Conversation]] = [[], [], []]
  private var turn = (client: 0, bearer: 0)
  private var now = Instant.zero

  private static let key = [UInt8](repeating: 0x42, count: 16)

  init(_ kind: UInt8) {
    let isTight = kind & 8 != 0
    let isEnhanced = kind & 4 != 0
    var configuration = BearerConfiguration(
      channel: isEnhanced ? .enhanced(mtu: 64) : .fixed,
      receiveMTU: [23, 48, 247, 517][Int(kind & 3)], maximumWaiting: isTight ? 2 : 256,
      maximumPipelined: isTight ? 1 : 16, outboxLimit: isTight ? 60 : 8192)
    configuration.linkMayBeReused = kind & 16 != 0 && !isEnhanced
    self.configuration = configuration
    signs = kind & 32 != 0
  }

  static func take(_ input: [UInt8]) {
    guard let kind = input.first else { return }
    let target = ServerTarget(kind)
    var steps = PDUSequence(input.dropFirst())
    while let step = steps.next() { target.take(step) }
    target.finish()
  }

  /// The bearer that speaks now; it is opened if there is none.
  private var conversation: Conversation? {
    let bearers = clients[turn.client].filter { !$0.isDead }
    clients[turn.client] = bearers
    if !bearers.isEmpty, turn.bearer < bearers.count || configuration.channel == .fixed {
      return bearers[min(turn.bearer, bearers.count - 1)]
    }
    return open(beside: bearers.first)
  }

  private func open(beside other: Conversation?) -> Conversation? {
    let engine: ServerClient
    let model: ModelClient
    if let other, let shared = other.engine, let known = other.judge.client {
      (engine, model) = (shared, known)
    } else {
      guard let admitted = host.server.connect() else { return nil }
      engine = admitted
      model = host.model.connect(engine.id, .low, nil)
      if signs {
        engine.setSigningKey(Self.key, counter: 3)
        model.signing = (Self.key, 3)
      }
    }
    let conversation = Conversation(
      configuration, host: host, engine: engine, model: model, now: { [unowned self] in now })
    clients[turn.client].append(conversation)
    host.conversations.append(conversation)
    return conversation
  }

  private func take(_ step: PDUSequence.Step) {
    forgetThoseGone()
    guard let conversation else { return }
    switch step {
    case .arrives(let pdu): conversation.arrive(pdu)
    case .wait(let milliseconds): wait(.milliseconds(milliseconds))
    case .act(let action, let argument): act(action, argument, conversation)
    }
    forgetThoseGone()
    host.check()
  }

  private func act(_ action: Int, _ argument: UInt8, _ conversation: Conversation) {
    switch action {
    case 2:
      guard let handle = host.target(conversation, argument, 1) else { return }
      conversation.notify(handle, host.value(argument))
    case 3:
      guard let handle = host.target(conversation, argument, 2) else { return }
      conversation.indicate(handle, host.value(argument))
    case 4: conversation.cancelIndication(Int(argument))
    case 5:
      host.change(argument)
      host.pumpIfNeeded()
    case 6:
      guard let engine = conversation.engine, let model = conversation.judge.client,
        let level = SecurityLevel(rawValue: argument & 3 + 1), level > model.security.level
      else { return }
      // A server is told of no key that is shorter than the one before: it asks only where it refuses.
      let keySize = max(model.security.keySize, argument & 4 == 0 ? 16 : 7)
      model.security = LinkSecurity(level: level, keySize: keySize)
      // Some links say so; of others the server has to ask.
      if argument & 8 == 0 || signs { engine.security = model.security }
    case 7: host.application.answerLate(argument)
    case 8: host.application.manner = argument
    case 9:
      conversation.isSlow = argument & 1 == 0
      conversation.drain()
    case 10: sign(argument, conversation)
    case 11: turn = (Int(argument) % clients.count, 0)
    case 12: conversation.end()
    case 13:
      let handles = [argument & 15, argument >> 4].compactMap { host.target(conversation, $0, 1) }
      conversation.notify(handles.map { ($0, host.value(argument)) })
    case 14: turn.bearer = Int(argument & 1)
    default: break
    }
  }

  /// The client writes signed, with a signature that is right.
  private func sign(_ argument: UInt8, _ conversation: Conversation) {
    conversation.arrive(Self.signedWrites[Int(argument)])
  }

  /// By the argument of the step. Made once, since signing was a tenth of the time of an input.
  private static let signedWrites: [[UInt8]] = (0...255).map { argument in
    let head: [UInt8] = [0xD2] + octets(UInt16(0x10 + (argument & 31))) + [UInt8(argument)]
    let signature = Signature.compute(
      over: head.span.bytes, counter: UInt32(argument >> 5) + 1, key: key)
    return head + signature
  }

  private func wait(_ duration: Duration) {
    now = now + duration
    for conversation in host.conversations { conversation.advance() }
  }

  /// Clients without a bearer are no clients.
  private func forgetThoseGone() {
    for index in clients.indices {
      let bearers = clients[index]
      clients[index] = bearers.filter { !$0.isDead }
      guard let last = bearers.last, clients[index].isEmpty, let engine = last.engine,
        let model = last.judge.client
      else { continue }
      host.server.disconnect(engine)
      host.model.disconnect(model)
    }
  }

  private func finish() {
    host.application.manner = 0
    while !host.application.open.isEmpty { host.application.answerLate(0) }
    for conversation in clients.joined() where !conversation.isDead {
      conversation.isSlow = false
      conversation.call { .none }
      if !conversation.isDead {
        Failure.unless(conversation.judge.owesNothing, "each request has one answer")
      }
    }
    for conversation in clients.joined() { conversation.end() }
    forgetThoseGone()
    host.check()
    Failure.unless(
      host.server.clients.isEmpty && host.server.preparedByteCount == 0,
      "nothing stays of clients that are gone")
  }
}

extension ServerTarget {
  static var seeds: [[UInt8]] {
    func pdus(_ kind: UInt8, _ steps: [PDUSequence.Step]) -> [UInt8] {
      [kind] + PDUSequence.encode(steps)
    }
    let subscribe: [PDUSequence.Step] = [
      .arrives([0x12, 0x07, 0, 2, 0]), .arrives([0x12, 0x14, 0, 3, 0]),
      .arrives([0x12, 0x23, 0, 1, 0]), .arrives([0x12, 0x09, 0, 0x07]),
    ]
    let prepare: [PDUSequence.Step] = [
      .arrives([0x16, 0x13, 0, 0, 0, 1, 2, 3]), .arrives([0x16, 0x1B, 0, 2, 0, 9]),
      .arrives([0x16, 0x22, 0, 0, 0, 4]), .arrives([0x18, 1]), .arrives([0x18, 0]),
    ]
    let search: [PDUSequence.Step] = [
      .arrives([0x02, 0x05, 2]), .arrives([0x10, 1, 0, 0xFF, 0xFF, 0, 0x28]),
      .arrives([0x10, 1, 0, 0xFF, 0xFF, 1, 0x28]), .arrives([0x08, 1, 0, 0xFF, 0xFF, 3, 0x28]),
      .arrives([0x08, 0x20, 0, 0xFF, 0xFF, 2, 0x28]), .arrives([0x04, 0x10, 0, 0xFF, 0xFF]),
      .arrives([0x06, 1, 0, 0xFF, 0xFF, 0, 0x28, 0x0D, 0x18]),
      .arrives([0x0C, 0x1B, 0, 20, 0]), .arrives([0x0E, 0x13, 0, 0x03, 0]),
      .arrives([0x20, 0x13, 0, 0x1B, 0]), .arrives([0x08, 1, 0, 0xFF, 0xFF, 0x2A, 0x2B]),
    ]
    return (0..<64).flatMap { kind in
      [
        pdus(kind, search),
        pdus(
          kind,
          subscribe + [
            .act(2, 0x20), .act(3, 0), .arrives([0x1E]), .act(13, 0x10), .act(5, 1),
            .arrives([0x1E]), .arrives([0x0A, 0x13, 0]), .act(5, 2), .wait(milliseconds: 31000),
          ]),
        pdus(kind, [.act(8, 0x61)] + prepare + [.act(7, 0), .act(7, 0), .act(8, 0)] + prepare),
        pdus(
          kind,
          [.act(6, 2), .arrives([0x0A, 0x2B, 0]), .act(10, 0x5E), .act(11, 1)] + subscribe
            + prepare + [.act(11, 0), .arrives([0x0A, 0x25, 0]), .act(12, 0), .act(14, 1)]
            + search),
      ]
    }
  }
}
