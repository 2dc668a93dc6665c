import AttoATT
import AttoGATT

@testable import AttoSimulation

/// One end of a bearer that a hostile peer speaks with: a session, driven as the floors above drive
/// it, and the simulator's judge, who sees each PDU in both directions and says what is wrong.
///
/// # Rules
///
/// The judge's: what is answered, octet by octet (from a second server that shares no code with the
/// first); one answer for each request, in order; one request and one indication at a time; values
/// in order, none lost, none doubled, and to those only who asked; no PDU beyond ATT_MTU; a bearer
/// dies for a reason, and then is silent. And here: queues keep their limits, each procedure ends
/// once, and all have ended when the bearer has.
///
/// # Actions
///
/// | Number | Happens, by its argument n |
/// |---|---|
/// | 0 | the client begins procedure n; see ``Procedures`` |
/// | 1 | the client cancels one of its procedures |
/// | 2 | a value is notified to whoever has configured that |
/// | 3 | a value is indicated |
/// | 4 | an indication is cancelled |
/// | 5 | the database changes: a service comes or goes, a value is set |
/// | 6 | the link's security rises |
/// | 7 | the application answers a question that it has put off |
/// | 8 | how the application answers from now on |
/// | 9 | the link takes nothing more, or everything again |
/// | 10 | the client writes without response |
/// | 11 | another client speaks from here on (target `server`) |
/// | 12 | this client's link ends, and it comes back |
/// | 13 | several values are notified together |
/// | 14 | the other bearer of this client speaks from here on |
final class Conversation {
  let session: Session
  let judge: Judge
  let host: Host?
  let engine: ServerClient?
  let now: () -> Instant
  var isSlow = false
  private(set) var isDead = false
  private var seen = 0
  private(set) var operations: [Operation] = []
  private(set) var openIndications: [TransactionID] = []
  /// PDUs that the peer has sent and this end has no room to read.
  private var unread: [[UInt8]] = []
  /// What has been sent in all: for limits.
  private(set) var sentRequests = 0
  /// Called with each PDU that the link takes.
  var sends: ([UInt8]) -> Void = { _ in }

  /// PDUs of the peer that wait while this end does not read; what comes beyond is lost.
  private static let unreadLimit = 32

  init(
    _ configuration: BearerConfiguration, host: Host? = nil, engine: ServerClient? = nil,
    model: ModelClient? = nil, now: @escaping () -> Instant
  ) {
    session = Session(configuration, server: host?.server, client: engine)
    self.host = host
    self.engine = engine
    self.now = now
    judge = Judge(
      configuration, isTrusted: false, isRogue: false, model: host?.model, client: model
    ) { rule, what in
      // Who owns a request is asked of the procedures here.
      if rule != "requests have an owner" { Failure.broken(rule, what) }
    }
  }

  var isCongested: Bool { session.isCongested }

  // MARK: Calls of the session

  /// Calls the session, and has everything judged that comes of it.
  func call(_ body: () -> SessionAction) {
    guard !isDead else { return }
    let former = host?.current
    host?.current = self
    let action = body()
    host?.current = former
    observe()
    switch action {
    case .none, .notification, .notifications, .indication: break
    case .securityWanted: Failure.broken("only those who ask for security are told to raise it", "")
    case .confirmed(let id):
      Failure.unless(id == judge.confirmed, "confirmations match indications", "\(id)")
      openIndications.removeAll { $0 == id }
    case .failed(let failure):
      Failure.trace("dies: \(failure)")
      judge.die(failure, at: now())
      close()
    }
    if former == nil {
      judge.checkState(bearerMTU: session.bearer.mtu)
      checkOperations()
      host?.pumpIfNeeded()
      drain()
    }
  }

  /// Shows the judge what is new in the outbox.
  func observe() {
    if session.bearer.failure != nil { seen = 0 }
    var fresh: [[UInt8]] = []
    session.bearer.outbox.forEach(from: seen) { fresh.append($0.owned) }
    seen = session.bearer.outbox.count
    for pdu in fresh {
      Failure.trace("< \(hex(pdu))")
      if let opcode = pdu.first, Opcode(opcode).kind == .request { sentRequests += 1 }
      judge.produce(pdu, encoder: nil, at: now())
    }
    let configuration = session.bearer.configuration
    let burst = (configuration.maximumPipelined + 8) * (session.bearer.mtu + 2)
    Failure.unless(
      session.bearer.outbox.byteCount <= configuration.outboxLimit + burst,
      "queues keep their limits", "\(session.bearer.outbox.byteCount) octets in the outbox")
  }

  /// Which request the server is at, counted from 0.
  var requestNumber: Int {
    var number = judge.answers.request
    session.bearer.outbox.forEach(from: seen) { pdu in
      if pdu.byteCount > 0, Opcode(pdu.octet(at: 0)).kind == .response { number += 1 }
    }
    return number
  }

  /// The link takes what there is.
  func drain() {
    guard !isSlow else { return }
    while !isDead, !session.bearer.outbox.isEmpty {
      var octets: [UInt8] = []
      session.bearer.outbox.removeFirst(into: &octets)
      seen -= 1
      sends(octets)
    }
    // What waited is read now.
    while !isDead, !isCongested, !unread.isEmpty { deliver(unread.removeFirst()) }
  }

  // MARK: The peer

  /// The peer has sent a PDU; it is read if there is room.
  func arrive(_ pdu: [UInt8]) {
    guard !isDead else { return }
    guard unread.isEmpty, !isCongested else {
      if unread.count < Self.unreadLimit { unread.append(pdu) }
      return
    }
    deliver(pdu)
  }

  private func deliver(_ pdu: [UInt8]) {
    Failure.trace("> \(hex(pdu))")
    judge.arrive(pdu, at: now())
    call {
      let action = session.receive(pdu.span.bytes, at: now())
      judge.settle()
      if session.bearer.failure == nil, action == .indication { session.confirm() }
      return action
    }
    host?.pumpOthers(of: self)
  }

  // MARK: Values

  /// Whether a value may be refused now, for want of room or during an exchange of ATT_MTU.
  private var mayRefuse: Bool { isDead || judge.isExchanging || isCongested }

  func notify(_ handle: AttributeHandle, _ value: [UInt8]) {
    guard !isDead else { return }
    let pdu = [0x1B] + octets(handle.rawValue) + value.prefix(judge.mtu - 3)
    let mayRefuse = mayRefuse
    judge.notifications.append(pdu)
    call {
      let isSent = session.notify(handle, value.span.bytes)
      if !isSent { judge.notifications.removeAll { $0 == pdu } }
      Failure.unless(isSent != mayRefuse, "values are taken while there is room", hex(pdu))
      return .none
    }
  }

  func notify(_ values: [(handle: AttributeHandle, value: [UInt8])]) {
    guard !isDead else { return }
    var pdu: [UInt8] = [0x23]
    for (handle, value) in values {
      pdu += octets(handle.rawValue) + octets(UInt16(value.count)) + value
    }
    let understands = (judge.client?.features ?? 0) & 4 != 0
    let ought = values.count > 1 && understands && pdu.count <= judge.mtu && !mayRefuse
    judge.notifications.append(pdu)
    call {
      let isSent = session.notify(values)
      if !isSent { judge.notifications.removeAll { $0 == pdu } }
      Failure.unless(isSent == ought, "values are taken while there is room", hex(pdu))
      return .none
    }
  }

  func indicate(_ handle: AttributeHandle, _ value: [UInt8]) {
    call {
      do throws(ProcedureError) {
        let id = try session.indicate(handle, value, at: now())
        judge.indications.append((id, handle.rawValue, value))
        openIndications.append(id)
      } catch {
        let limit = session.bearer.configuration.maximumWaiting
        Failure.unless(
          error == .misuse(.tooManyIndications(limit: limit))
            && judge.indications.count >= limit - 1,
          "values are taken while there is room", "\(error)")
      }
      return .none
    }
  }

  func cancelIndication(_ number: Int) {
    guard !isDead, !openIndications.isEmpty else { return }
    let id = openIndications.remove(at: number % openIndications.count)
    judge.forget(indication: id)
    call {
      session.cancel(indication: id)
      return .none
    }
  }

  func writeWithoutResponse(_ handle: AttributeHandle, _ value: [UInt8]) {
    guard !isDead else { return }
    let pdu = [0x52] + octets(handle.rawValue) + value
    let mayRefuse = isCongested
    judge.commands.append(pdu)
    call {
      var isSent = false
      do throws(ProcedureError) {
        isSent = try session.writeWithoutResponse(handle, value.span.bytes)
        Failure.unless(
          isSent != mayRefuse && pdu.count <= judge.mtu, "commands are taken while there is room",
          hex(pdu))
      } catch {
        Failure.unless(
          error == .misuse(.valueTooLong(value.count, limit: judge.mtu - 3)),
          "misuse is refused", "\(error)")
      }
      if !isSent { judge.commands.removeAll { $0 == pdu } }
      return .none
    }
  }

  // MARK: Procedures

  func start<P: Procedure>(
    _ procedure: P, isExchange: Bool = false, check: @escaping (P.Output) -> Void = { _ in }
  ) {
    guard !isDead else { return }
    let operation = FuzzedOperation(procedure, check)
    operations.append(operation.state)
    Failure.trace("begins \(P.self)")
    call {
      operation.state.id =
        isExchange
        ? session.startExchangeMTU(operation, at: now()) : session.start(operation, at: now())
      return .none
    }
  }

  func cancelProcedure(_ number: Int) {
    guard !isDead, !operations.isEmpty, let id = operations[number % operations.count].id
    else { return }
    call {
      session.cancel(id, at: now())
      return .none
    }
  }

  private func checkOperations() {
    operations.removeAll(where: \.hasEnded)
    guard !isDead else { return }
    let limit = session.bearer.configuration.maximumWaiting + 1
    Failure.unless(
      session.operationCount == operations.count && operations.count <= limit,
      "every procedure ends", "\(operations.count) open, \(session.operationCount) known")
  }

  // MARK: Time and the end

  func advance() {
    call { session.advance(to: now()) }
    judge.check(at: now())
  }

  /// The link ends.
  func end() {
    guard !isDead else { return }
    Failure.trace("the link ends")
    judge.die(.linkEnded, at: now())
    let former = host?.current
    host?.current = self
    session.linkEnded()
    host?.current = former
    close()
  }

  private func close() {
    isDead = true
    seen = 0
    unread = []
    openIndications = []
    operations.removeAll(where: \.hasEnded)
    Failure.unless(
      operations.isEmpty, "every procedure ends with its bearer", "\(operations.count) did not")
    host?.hasClosed(self)
  }

  /// The peer has fallen silent: whatever is under way ends, by the clock alone.
  func exhaust(_ wait: (Duration) -> Void) {
    isSlow = false
    call { .none }
    var turns = 0
    while !isDead, judge.isWaiting || !operations.isEmpty {
      wait(session.bearer.configuration.transactionTimeout)
      advance()
      turns += 1
      Failure.unless(turns < 3, "every procedure ends when the peer is silent")
    }
    end()
  }
}

/// What is known of one procedure.
final class Operation {
  var id: TransactionID?
  var hasEnded = false
}

/// A procedure that ends once, whose output is looked at.
final class FuzzedOperation<P: Procedure>: ProcedureOperation<P> {
  let state = Operation()
  private let check: (P.Output) -> Void

  init(_ procedure: P, _ check: @escaping (P.Output) -> Void) {
    self.check = check
    super.init(procedure)
  }

  override func finish(_ result: Result<P.Output, ProcedureError>) {
    Failure.unless(!state.hasEnded, "a procedure ends once", "\(P.self)")
    state.hasEnded = true
    Failure.trace("\(P.self) ends")
    if case .success(let output) = result { check(output) }
  }
}
