import AttoATT

/// A bearer alone, in both roles at once, with an owner who does what it may at the oddest moments.
/// The input is one octet for the bearer (bits 0 and 1: ATT_MTU; bit 2: enhanced; bit 3: tight
/// limits; bit 4: the link may be reused) and a ``PDUSequence``.
///
/// Actions: 0 queues a request with opcode n, 1 cancels one, 2 notifies n octets, 3 queues an
/// indication, 4 cancels one, 7 responds with n octets, 9 the link takes n PDUs, 10 sends a command,
/// 12 ends the link.
///
/// Rules: one request and one indication on the wire; responses and confirmations name the
/// transaction that was on the wire, unless it was cancelled; the peer's requests are handed out one
/// at a time and in order, and are answered in order; no PDU beyond ATT_MTU, which is agreed on by
/// exchanges only; limits; a deadline whenever something is awaited; the dead are silent.
final class BearerTarget {
  private var bearer: Bearer
  private let configuration: BearerConfiguration
  private var now = Instant.zero
  private var nextID: UInt64 = 1
  private var queued: [(id: TransactionID, opcode: UInt8)] = []
  private var waitingIndications: [TransactionID] = []
  /// On the wire; the transaction is nil once it has been cancelled.
  private var request: (id: TransactionID?, opcode: UInt8, since: Instant)?
  private var indication: (id: TransactionID?, since: Instant)?
  /// The peer's requests that are not answered yet, by their opcodes, in order.
  private var owed: [UInt8] = []
  private var seen = 0
  private var ignored: UInt64 = 0

  init(_ kind: UInt8) {
    let isEnhanced = kind & 4 != 0
    var configuration = BearerConfiguration(
      channel: isEnhanced ? .enhanced(mtu: 64) : .fixed,
      receiveMTU: [23, 48, 247, 517][Int(kind & 3)],
      maximumWaiting: kind & 8 != 0 ? 2 : 16, maximumPipelined: kind & 8 != 0 ? 0 : 4,
      outboxLimit: 200)
    configuration.linkMayBeReused = kind & 16 != 0 && !isEnhanced
    self.configuration = configuration
    bearer = Bearer(configuration)
  }

  static func take(_ input: [UInt8]) {
    guard let kind = input.first else { return }
    let target = BearerTarget(kind)
    var steps = PDUSequence(input.dropFirst())
    while let step = steps.next() {
      Failure.trace("\(step)")
      switch step {
      case .arrives(let pdu): target.arrive(pdu)
      case .wait(let milliseconds): target.wait(.milliseconds(milliseconds))
      case .act(let action, let argument): target.act(action, argument)
      }
      target.check()
    }
    target.wait(configurationTimeout)
    target.check()
    Failure.unless(
      target.request == nil && target.indication == nil, "a bearer does not wait for ever")
  }

  private static let configurationTimeout = Duration.seconds(30)

  // MARK: Steps

  private func arrive(_ pdu: [UInt8]) {
    guard !bearer.isCongested else { return }
    let octets = pdu.span.bytes
    let limit = bearer.receiveLimit(octets)
    let wasDead = bearer.failure != nil
    take(bearer.receive(PDU(octets, mtu: limit), octets: octets, at: now), pdu, wasDead: wasDead)
    grant()
  }

  private func take(_ action: BearerAction, _ pdu: [UInt8], wasDead: Bool, isHeld: Bool = false) {
    let kind = pdu.first.map { Opcode($0).kind }
    Failure.unless(!wasDead || action == .ignored(.dead), "a dead bearer ignores", hex(pdu))
    switch action {
    case .request:
      if !isHeld { owed.append(pdu[0]) }
      Failure.unless(
        kind == .request && owed.count >= 1 && bearer.owesResponse, "requests come one at a time",
        hex(pdu))
    case .answered:
      if !isHeld { owed.append(pdu[0]) }
      Failure.unless(kind == .request, "requests are answered, and they only", hex(pdu))
    case .held:
      Failure.unless(
        kind == .request && bearer.owesResponse && !isHeld, "requests wait for the first", hex(pdu))
      owed.append(pdu[0])
      Failure.unless(
        owed.count <= configuration.maximumPipelined + 1, "queues keep their limits",
        "\(owed.count)")
    case .response(let id):
      Failure.unless(
        request?.id == id && kind == .response, "responses match requests", "\(id): \(hex(pdu))")
      request = nil
    case .confirmation(let id):
      Failure.unless(indication?.id == id, "confirmations match indications", "\(id)")
      indication = nil
    case .indication:
      Failure.unless(kind == .indication, "values are delivered", hex(pdu))
      bearer.confirm()
    case .notification: Failure.unless(kind == .notification, "values are delivered", hex(pdu))
    case .command: Failure.unless(kind == .command, "commands are carried out", hex(pdu))
    case .ignored(.abandoned):
      if kind == .confirmation {
        Failure.unless(indication != nil && indication?.id == nil, "nothing is dropped", hex(pdu))
        indication = nil
      } else {
        Failure.unless(request != nil && request?.id == nil, "nothing is dropped", hex(pdu))
        request = nil
      }
    case .ignored(let reason):
      // A malformed indication is confirmed, but not delivered.
      switch reason {
      case .unsolicitedResponse:
        Failure.unless(request == nil, "responses match requests", hex(pdu))
      case .unsolicitedConfirmation:
        Failure.unless(indication == nil, "confirmations match indications", hex(pdu))
      default: break
      }
    case .failed(let failure): die(failure)
    }
    if case .ignored = action {
      ignored += 1
      Failure.unless(bearer.ignoredCount == ignored, "what has no effect is counted")
    }
  }

  private func wait(_ duration: Duration) {
    now = now + duration
    if let action = bearer.advance(to: now) {
      guard case .failed(let failure) = action else {
        Failure.broken("time ends bearers, and does nothing else", "\(action)")
      }
      die(failure)
    }
  }

  private func die(_ failure: BearerFailure) {
    if case .transactionTimeout = failure {
      let since = [request?.since, indication?.since].compactMap(\.self).min()
      Failure.unless(
        since.map { $0 + configuration.transactionTimeout <= now } == true,
        "a bearer dies for a reason", "\(failure)")
    }
    Failure.unless(bearer.failure == failure, "a bearer remembers why it died", "\(failure)")
    (request, indication) = (nil, nil)
    (queued, waitingIndications, owed) = ([], [], [])
  }

  private func act(_ action: Int, _ argument: UInt8) {
    let isAlive = bearer.failure == nil
    switch action {
    case 0:
      let opcode = Opcode.all[Int(argument) % Opcode.all.count]
      guard opcode.kind == .request, opcode != .exchangeMTURequest || bearer.canExchangeMTU else {
        return
      }
      // One exchange at a time may wait.
      guard opcode != .exchangeMTURequest || !queued.contains(where: { $0.opcode == 0x02 })
      else { return }
      let id = fresh()
      switch bearer.enqueueRequest(id) {
      case .waiting: queued.append((id, opcode.rawValue))
      case .refused(let limit):
        Failure.unless(queued.count >= limit, "queues take what they may", "\(queued.count)")
      case .dead: Failure.unless(!isAlive, "the living take requests")
      }
    case 1:
      if argument & 1 == 0, let id = request?.id {
        bearer.cancel(request: id)
        request?.id = nil
      } else if !queued.isEmpty {
        bearer.cancel(request: queued.remove(at: Int(argument >> 1) % queued.count).id)
      }
    case 2:
      guard !bearer.holdsValues, !bearer.isCongested else { return }
      let value = [UInt8](repeating: 1, count: Int(argument) * 3)
      bearer.notify { out in HandleValueNotification.encode(3, value.span.bytes, into: &out) }
    case 3:
      let id = fresh()
      let queues =
        argument & 1 == 0 ? bearer.enqueueIndication(id) : bearer.enqueueFirstIndication(id)
      switch queues {
      case .waiting:
        if argument & 1 == 0 {
          waitingIndications.append(id)
        } else {
          // Like Service Changed, of which there is one at a time.
          waitingIndications.insert(id, at: 0)
        }
      case .refused(let limit):
        Failure.unless(waitingIndications.count >= limit, "queues take what they may")
      case .dead: Failure.unless(!isAlive, "the living take indications")
      }
    case 4:
      if argument & 1 == 0, let id = indication?.id {
        bearer.cancel(indication: id)
        indication?.id = nil
      } else if !waitingIndications.isEmpty {
        bearer.cancel(
          indication: waitingIndications.remove(at: Int(argument >> 1) % waitingIndications.count))
      }
    case 7: respond(argument)
    case 9:
      for _ in 0..<argument where !bearer.outbox.isEmpty {
        bearer.outbox.removeFirst()
        seen -= 1
      }
    case 10:
      guard !bearer.isCongested else { return }
      bearer.command { out in WriteCommand.encode(3, [argument].span.bytes, into: &out) }
    case 12:
      bearer.fail(.linkEnded)
      if isAlive { die(.linkEnded) }
    default: break
    }
    grant()
  }

  private func fresh() -> TransactionID {
    defer { nextID += 1 }
    return TransactionID(rawValue: nextID)
  }

  private func respond(_ argument: UInt8) {
    guard bearer.owesResponse else { return }
    let length = 1 + Int(argument) % (bearer.mtu - 1)
    let response = [owed[0] | 1] + [UInt8](repeating: 7, count: length - 1)
    bearer.respond(response.span.bytes)
    check()
    var held: [UInt8] = []
    while bearer.dequeueHeldRequest(into: &held) {
      let octets = held.span.bytes
      take(
        bearer.receive(PDU(octets), octets: octets, at: now), held,
        wasDead: false, isHeld: true)
      check()
    }
  }

  /// Whoever waits for a slot gets it.
  private func grant() {
    while let id = bearer.nextRequest() {
      guard request == nil, queued.first?.id == id else {
        Failure.broken("requests go one at a time, in order", "\(id)")
      }
      let opcode = queued.removeFirst().opcode
      if opcode == 0x02, !bearer.canExchangeMTU {
        bearer.release(request: id)
        continue
      }
      let pdu =
        [opcode]
        + (opcode == 0x02
          ? [UInt8(configuration.receiveMTU & 0xFF), UInt8(configuration.receiveMTU >> 8)]
          : [1, 0])
      bearer.transmit(request: id, at: now) { out in out.append(pdu.span.bytes) }
      request = (id, opcode, now)
    }
    guard !bearer.holdsValues else { return }
    while let id = bearer.nextIndication() {
      guard indication == nil, waitingIndications.first == id else {
        Failure.broken("indications go one at a time, in order", "\(id)")
      }
      waitingIndications.removeFirst()
      bearer.transmit(indication: id, at: now) { out in
        HandleValueIndication.encode(3, [UInt8](repeating: 2, count: 40).span.bytes, into: &out)
      }
      indication = (id, now)
    }
  }

  // MARK: After each step

  private func check() {
    Failure.unless(
      (23...max(64, configuration.receiveMTU)).contains(bearer.mtu), "ATT_MTU keeps its bounds",
      "\(bearer.mtu)")
    let isAwaiting = request != nil || indication != nil
    let deadline = [request?.since, indication?.since].compactMap(\.self).min()
    Failure.unless(
      isAwaiting
        ? bearer.deadline == deadline! + configuration.transactionTimeout : bearer.deadline == nil,
      "what is awaited has a deadline")
    guard bearer.failure == nil else {
      seen = 0
      return Failure.unless(bearer.outbox.isEmpty, "a dead bearer is silent")
    }
    var fresh: [[UInt8]] = []
    bearer.outbox.forEach(from: seen) { fresh.append($0.owned) }
    seen = bearer.outbox.count
    for pdu in fresh {
      Failure.unless(pdu.count <= largest, "no PDU beyond ATT_MTU", hex(pdu))
      guard let opcode = pdu.first, Opcode(opcode).kind == .response else { continue }
      guard let first = owed.first,
        opcode == 0x01 ? pdu.count > 1 : opcode == first | 1 || opcode == first + 1
      else { Failure.broken("responses match requests", hex(pdu)) }
      owed.removeFirst()
    }
    Failure.unless(
      bearer.outbox.byteCount <= configuration.outboxLimit + 8 * (largest + 2),
      "queues keep their limits", "\(bearer.outbox.byteCount)")
    Failure.unless(
      (bearer.owesResponse || bearer.hasHeldRequest) == !owed.isEmpty,
      "each request has one answer", "\(owed.count)")
  }

  /// The largest ATT_MTU that may have held since the last look.
  private var largest: Int { max(bearer.mtu, max(64, configuration.receiveMTU)) }

  static var seeds: [[UInt8]] {
    (0..<32).map { kind in
      [UInt8(kind)]
        + PDUSequence.encode([
          .act(0, 1), .arrives([0x03, 0, 1]), .act(0, 9), .arrives([0x0A, 3, 0]), .act(7, 4),
          .arrives([0x02, 100, 0]), .act(2, 4), .act(3, 0), .arrives([0x1E]), .arrives([0x0B, 1]),
          .arrives([0x1D, 3, 0, 1]), .arrives([0x12, 3, 0]), .arrives([0x18, 1]), .act(1, 0),
          .act(7, 1), .act(7, 2), .act(9, 20), .act(0, 7), .arrives([0x01, 8, 0, 0, 10]),
          .act(3, 1), .act(4, 0), .wait(milliseconds: 30000), .act(12, 0),
        ])
    }
  }
}
