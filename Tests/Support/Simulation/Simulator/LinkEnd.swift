import AttoATT
import AttoGATT
import AttoLinks

/// One end of a bearer: a session on a link, used as by the modules above, and a judge that checks
/// every PDU.
///
/// PDUs wait in the outbox until the link accepts them. While the outbox is full or the consumer is
/// slow, nothing is read.
final class LinkEnd: LinkObserver {
  let side: Side
  let connection: Connection
  let device: Device
  let session: Session
  let link: FaultyLink
  let judge: Judge
  var simulator: Simulator { device.simulator }
  /// The other end.
  var peer: LinkEnd { side.other.ends[index] }
  /// The index of the bearer in its connection.
  let index: Int

  var isReadable = false
  var isWritable = true
  var isPaused = false
  private(set) var isClosed = false
  /// How many PDUs of the outbox the judge has checked.
  private var seen = 0
  /// The procedure that must receive the current response and has not.
  private var owed: OperationWatch?
  /// The PDUs on their way to the other end.
  var underWay: [[UInt8]] = []
  var openIndications: [TransactionID] = []
  private var buffer: [UInt8] = []
  /// The last ``Session/outOfSyncCount``.
  private var outOfSyncCount: UInt64 = 0

  init(_ side: Side, session: Session, link: FaultyLink, judge: Judge) {
    self.side = side
    connection = side.connection
    device = side.device
    index = side.ends.count
    self.session = session
    self.link = link
    self.judge = judge
    link.observer = self
  }

  var name: String { "\(side.name).\(index)" }
  var now: Instant { simulator.now }
  var isUsable: Bool { !isClosed && session.bearer.failure == nil }

  func fail(_ rule: String, _ what: String) { simulator.fail(rule, "\(name): \(what)") }

  func linkReady(_ readiness: LinkReadiness) {
    if readiness.contains(.readable) || readiness.contains(.closed) { isReadable = true }
    if readiness.contains(.writable) { isWritable = true }
  }

  var isReady: Bool {
    guard !isClosed else { return false }
    if isWritable, !session.bearer.outbox.isEmpty { return true }
    return isReadable && !isPaused && !session.bearer.isCongested
  }

  // MARK: Calls of the session

  /// Calls the session and checks the results.
  func call(_ body: () -> SessionAction) {
    guard !isClosed else { return }
    let former = device.current
    device.current = self
    let action = body()
    device.current = former
    side.observe()
    switch action {
    case .none, .notification, .notifications, .indication: break
    case .securityWanted: fail("only sessions that ask for security are told to raise it", "")
    case .confirmed(let id):
      if id != judge.confirmed { fail("confirmations match indications", "\(id)") }
      openIndications.removeAll { $0 == id }
    case .failed(let failure):
      simulator.note { "\(self.name) dies: \(failure)" }
      close(failure)
    }
    if former == nil {
      for end in side.open {
        end.judge.checkState(bearerMTU: end.session.bearer.mtu)
      }
      device.pumpIfNeeded()
    }
  }

  /// Calls the session for something without an action.
  func perform(_ body: () -> Void) {
    call {
      body()
      return .none
    }
  }

  /// Passes the new PDUs of the outbox to the judge.
  func observe() {
    if session.bearer.failure != nil {
      seen = 0
      return
    }
    let count = session.bearer.outbox.count
    guard count > seen else { return }
    var fresh: [[UInt8]] = []
    session.bearer.outbox.forEach(from: seen) { fresh.append($0.owned) }
    seen = count
    for pdu in fresh {
      let isRequest = pdu.first.map { Opcode($0).kind == .request } ?? false
      let encoder =
        isRequest && !judge.rawPDUs.contains(pdu) ? side.encoder(of: pdu, at: self) : nil
      judge.produce(pdu, encoder: encoder, at: now)
    }
    let limit = session.bearer.configuration.outboxLimit
    let burst = (session.bearer.configuration.maximumPipelined + 8) * (session.bearer.mtu + 2)
    if !device.isRogue, session.bearer.outbox.byteCount > limit + burst {
      fail("queues keep their limits", "\(session.bearer.outbox.byteCount) octets in the outbox")
    }
  }

  /// The index of the request that the server executes, including those whose responses the judge
  /// has not checked yet.
  var requestNumber: Int {
    var number = judge.answers.request
    session.bearer.outbox.forEach(from: seen) { pdu in
      if pdu.byteCount > 0, Opcode(pdu.octet(at: 0)).kind == .response { number += 1 }
    }
    return number
  }

  /// Sends or receives one PDU.
  func serve() {
    if isWritable, !session.bearer.outbox.isEmpty { return transmit() }
    if isReadable, !isPaused, !session.bearer.isCongested { receive() }
  }

  private func transmit() {
    var octets: [UInt8] = []
    session.bearer.outbox.withFirst { octets = $0.owned }
    do throws(LinkError) {
      // A duplicate may arrive during this call.
      underWay.append(octets)
      guard try link.send(octets.span.bytes) == .sent else {
        underWay.removeLast()
        isWritable = false
        return
      }
    } catch {
      return end()
    }
    simulator.note { "\(self.name) sends  \(hex(octets))" }
    guard session.bearer.failure == nil, !session.bearer.outbox.isEmpty else { return }
    session.bearer.outbox.removeFirst()
    seen -= 1
  }

  private func receive() {
    if buffer.isEmpty { buffer = [UInt8](repeating: 0, count: 1024) }
    var length = 0
    var outcome = ReceiveOutcome.wouldBlock
    var isLost = false
    buffer.withUnsafeMutableBytes { bytes in
      var output = OutputRawSpan(buffer: bytes, initializedCount: 0)
      do throws(LinkError) {
        outcome = try link.receive(into: &output)
      } catch {
        isLost = true
      }
      length = output.finalize(for: bytes)
    }
    if isLost { return end() }
    switch outcome {
    case .wouldBlock: isReadable = false
    case .closed: end()
    case .pdu: deliver(Array(buffer[..<length]))
    }
  }

  private func deliver(_ pdu: [UInt8]) {
    simulator.note { "\(self.name) gets   \(hex(pdu))" }
    // Every PDU has a summary.
    if !connection.isTrusted, PDU(pdu.span.bytes).summary.isEmpty {
      fail("every PDU can be shown", hex(pdu))
    }
    if connection.keepsOrder {
      if peer.underWay.first != pdu {
        fail("links keep the order", hex(pdu))
      } else {
        peer.underWay.removeFirst()
      }
    }
    judge.arrive(pdu, at: now)
    // An operation that has ended is no longer in the list.
    owed = side.operations.first { $0 === judge.responseOwner && !$0.isCancelled }
    call {
      let action = session.receive(pdu.span.bytes, at: now)
      judge.settle()
      if isUsable { deliverValues(of: pdu, action) }
      return action
    }
    if let owed, !owed.hasEnded, isUsable {
      fail("responses match requests", "\(owed.name) was not given its response")
    }
    owed = nil
    if session.outOfSyncCount > outOfSyncCount {
      outOfSyncCount = session.outOfSyncCount
      device.becomeStale(connection)
    }
    // Reading the hash informs a client, whatever the procedure.
    if let given = peer.judge.client?.hashesGiven, given != side.hashesSeen {
      side.hashesSeen = given
      if judge.responseOwner?.name != "Discover Database" { device.becomeStale(connection) }
    }
    side.pump()
    side.checkOperations()
  }

  /// Checks that a procedure receives its own response.
  func responseGiven(to watch: OperationWatch) {
    if judge.responseOwner !== watch {
      fail("responses match requests", "\(watch.name) was given another's response")
    }
    owed = nil
  }

  /// Delivers values like the module above, but decodes them here.
  private func deliverValues(of pdu: [UInt8], _ action: SessionAction) {
    var values: [(handle: UInt16, value: [UInt8])] = []
    let form = PDUForm(pdu, limit: judge.receiveLimit(pdu))
    switch (action, form) {
    case (.notification, .notification), (.indication, .indication):
      values = [(number(pdu, 1), Array(pdu[3...]))]
    case (.notifications, .multipleNotification): values = PDUForm.values(pdu)
    case (.notification, _), (.notifications, _), (.indication, _),
      (_, .notification), (_, .multipleNotification), (_, .indication):
      fail("values are delivered", "\(action) of \(hex(pdu))")
    default: return
    }
    checkDecoding(pdu, values)
    for (handle, value) in values {
      side.receiveValue(handle, value, isIndication: action == .indication, at: self)
      device.receiveValue(handle, value, at: self)
    }
    if action == .indication { session.confirm() }
  }

  /// Checks that the decoder returns the same values.
  private func checkDecoding(_ octets: [UInt8], _ values: [(handle: UInt16, value: [UInt8])]) {
    var decoded: [(handle: UInt16, value: [UInt8])] = []
    switch PDU(octets.span.bytes) {
    case .handleValueNotification(let pdu), .handleValueIndication(let pdu):
      decoded = [(pdu.handle.rawValue, pdu.value.owned)]
    case .multipleHandleValueNotification(let pdu):
      var list = pdu.makeIterator()
      while let next = list.next() { decoded.append((next.handle.rawValue, next.value.owned)) }
    default: break
    }
    if !decoded.elementsEqual(values, by: { $0.handle == $1.handle && $0.value == $1.value }) {
      fail("values are decoded as they were sent", hex(octets))
    }
  }

  // MARK: Procedures

  func start<P: Procedure>(
    _ procedure: P, _ name: String, isExchange: Bool = false,
    check: @escaping (Result<P.Output, ProcedureError>, OperationWatch) -> Void = { _, _ in }
  ) {
    let watch = OperationWatch(name, self, number: side.nextNumber())
    side.operations.append(watch)
    simulator.note { "\(self.name) begins \(name)" }
    let operation = SimulatedOperation(procedure, watch, check: check)
    watch.operation = operation
    side.main.perform {
      watch.id =
        isExchange
        ? session.startExchangeMTU(operation, at: now) : side.group.start(operation, at: now)
    }
    side.checkOperations()
  }

  func operationEnded(_ watch: OperationWatch) {
    simulator.note {
      "\(self.name) ends   \(watch.name) \(watch.error.map { "\($0)" } ?? "well")"
    }
    side.operations.removeAll { $0 === watch }
    simulator.count(.procedures)
  }

  func cancel(_ watch: OperationWatch) {
    guard let id = watch.id, !watch.hasEnded else { return }
    simulator.note { "\(self.name) cancels \(watch.name)" }
    watch.isCancelled = true
    side.main.perform {
      side.group.cancel(id, at: now)
      side.noteCancelled(watch)
    }
    side.checkOperations()
  }

  // MARK: Time and the end

  func advance() {
    guard !isClosed else { return }
    link.advance(to: now)
    if let deadline = session.deadline, deadline <= now { call { session.advance(to: now) } }
    judge.check(at: now)
  }

  var deadline: Instant? {
    guard !isClosed else { return nil }
    switch (link.deadline, session.deadline) {
    case (let a?, let b?): return min(a, b)
    case (let a, let b): return a ?? b
    }
  }

  /// Ends this end, because the link or the channel has ended.
  func end() {
    guard !isClosed else { return }
    simulator.note { "\(self.name) ends" }
    close(index == 0 ? .linkEnded : .channelEnded)
  }

  private func close(_ failure: BearerFailure) {
    guard !isClosed else { return }
    if index > 0 {
      if failure != .channelEnded { simulator.count(.deadBearers) }
      side.noteEnd(of: judge.request?.owner)
    }
    shut(failure)
    side.closed(self)
  }

  /// Closes the link.
  func shut(_ failure: BearerFailure = .linkEnded) {
    guard !isClosed else { return }
    judge.die(failure, at: now)
    seen = 0
    isClosed = true
    side.open.removeAll { $0 === self }
    link.close()
    openIndications = []
  }
}
