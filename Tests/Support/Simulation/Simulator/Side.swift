import AttoATT
import AttoGATT

/// One side of a connection: the bearers of a device, used as by the module above, and the rules
/// that concern several of them.
final class Side {
  let connection: Connection
  let device: Device
  let isCentral: Bool
  let group: SessionGroup
  /// Those that have ended too. The first one is unenhanced.
  private(set) var ends: [LinkEnd] = []
  /// Those that have not.
  var open: [LinkEnd] = []
  /// The procedures that have not ended, on a bearer or waiting for one.
  var operations: [OperationWatch] = []
  /// The requests that procedures have encoded, until they are seen in an outbox.
  private var encoded: [(watch: OperationWatch, pdu: [UInt8])] = []
  private var lastNumber = 0
  /// Whether the connection has had an enhanced bearer. Without one the group is not used.
  private(set) var isGrouped = false
  /// Whether a command was sent before.
  private(set) var hasCommanded = false
  /// How often a bearer has ended on which writes may have been prepared.
  private var drops = 0
  /// Whether the server may have prepared writes of a procedure whose bearer has ended.
  private var owesDrop = false
  private let drop = ExchangeRecord("Drop Prepared Writes")
  /// The bearers of commands and of the values that were sent, by handle.
  private var commands: [UInt16: (end: LinkEnd, since: Int)] = [:]
  private var values: [UInt16: LinkEnd] = [:]
  /// The last notified and the last indicated value, by handle.
  private var received: [[UInt16: (serial: UInt32, end: LinkEnd)]] = [[:], [:]]
  /// How often the other side's server has given the Database Hash, as far as this side knows.
  var hashesSeen = 0

  init(_ connection: Connection, _ device: Device, isCentral: Bool, _ main: Session) {
    self.connection = connection
    self.device = device
    self.isCentral = isCentral
    group = SessionGroup(main)
  }

  var simulator: Simulator { device.simulator }
  var now: Instant { simulator.now }
  var main: LinkEnd { ends[0] }
  var other: Side { isCentral ? connection.sides[1] : connection.sides[0] }
  /// The client of this device's server, in the model.
  var client: ModelClient? { main.judge.client }
  var name: String { "\(device.name)\(isCentral ? ">" : "<")\(connection.number)" }
  /// The number of enhanced bearers that are open.
  var enhancedCount: Int { open.count - (main.isClosed ? 0 : 1) }

  func fail(_ rule: String, _ what: String) { simulator.fail(rule, "\(name): \(what)") }

  // MARK: Bearers

  func append(_ end: LinkEnd) {
    ends.append(end)
    open.append(end)
  }

  /// Adds the session of an enhanced bearer.
  func addSession(_ configuration: BearerConfiguration) -> Session? {
    let carries = !hasCommanded && simulator.random.chance(0.85)
    guard let session = group.add(configuration, carriesProcedures: carries) else {
      fail("a bearer is refused at the limit", "after \(ends.count)")
      return nil
    }
    if !isGrouped {
      isGrouped = true
      // Of the values that are not configured now, nothing is on its way.
      let configured = client?.configurations ?? [:]
      values = values.filter { handle, _ in
        let row = device.model?.row(handle).flatMap { device.model?.rows[$0] }
        return configured[row?.configuration ?? 0] != nil
      }
    }
    if Int(session.number) != ends.count {
      fail("a number of a bearer is used once", "\(session.number), not \(ends.count)")
    }
    client?.bearers += 1
    return session
  }

  func end(of session: Session?) -> LinkEnd? {
    session.flatMap { session in ends.first { $0.session === session } }
  }

  /// Lets all bearers send what has become possible, as after each input.
  func pump() {
    guard !main.isClosed else { return }
    main.perform { group.pump(at: now) }
  }

  /// After a bearer has closed. The unenhanced one ends the others.
  func closed(_ end: LinkEnd) {
    let carried = end === main ? operations : operations.filter { $0.carrier === end }
    let former = device.current
    device.current = end
    if end === main {
      for other in ends.dropFirst() { other.shut() }
      group.linkEnded()
      if group.operationCount > 0 || !group.enhanced.isEmpty {
        fail("every procedure ends", "the group still has some")
      }
    } else {
      client?.bearers -= 1
      group.remove(end.session, at: now)
    }
    device.current = former
    for watch in carried where !watch.hasEnded {
      fail("procedures end with their bearer", "\(watch.name) did not")
    }
    observe()
    if end === main { connection.closed(self) }
  }

  /// Before the end of an enhanced bearer, whose request in flight may be executed yet or not.
  func noteEnd(of request: ExchangeRecord?) {
    guard let watch = request as? OperationWatch, watch.isCancelled else { return }
    noteLost(watch)
  }

  /// Checks that a procedure fails with its own bearer.
  func checkFailure(_ error: ProcedureError, of watch: OperationWatch) {
    switch error {
    case .enhancedBearer(let failure):
      let its = watch.carrier.map { [$0] } ?? ends.filter { !watch.deadBearers.contains($0.index) }
      if !its.contains(where: { $0 !== main && $0.session.bearer.failure == failure }) {
        fail("procedures fail with their own bearer", "\(watch.name): \(error)")
      }
      noteLost(watch)
    case .bearer:
      if main.session.bearer.failure == nil {
        fail("procedures fail with their own bearer", "\(watch.name): \(error)")
      }
    default: break
    }
  }

  private func noteLost(_ watch: OperationWatch) {
    guard watch.preparesWrites else { return }
    drops += 1
    if watch.lastOpcode == 0x16 || watch.lastOpcode == 0x18 { owesDrop = true }
  }

  // MARK: What is sent

  /// Passes the new PDUs of all outboxes to the judges.
  func observe() {
    for end in open { end.observe() }
    if !encoded.isEmpty { encoded = [] }
    for watch in operations where watch.carrier == nil {
      watch.carrier = watch.id.flatMap { end(of: group.session(of: $0)) }
      if let end = watch.carrier, isGrouped, !isSuitable(end) {
        fail("no procedure on a bearer too small for it", "\(watch.name) on \(end.name)")
      }
    }
  }

  func noteEncoded(_ watch: OperationWatch, _ pdu: [UInt8]) { encoded.append((watch, pdu)) }

  /// The procedure that has encoded a request, which was found in the outbox of a bearer.
  func encoder(of pdu: [UInt8], at end: LinkEnd) -> ExchangeRecord? {
    func place(_ isRight: (OperationWatch) -> Bool) -> Int? {
      encoded.firstIndex { $0.pdu == pdu && isRight($0.watch) }
    }
    // Two procedures may encode the same octets for different bearers in one call.
    var found = place { $0.id.flatMap(group.session(of:)) === end.session }
    if found == nil, end === main, drops > 0, pdu == [0x18, 0x00] {
      owesDrop = false
      return drop
    }
    found = found ?? place { $0.id == nil } ?? place { _ in true }
    guard let found else { return nil }
    let watch = encoded.remove(at: found).watch
    checkRequest(watch, pdu, at: end)
    return watch
  }

  /// Checks a request against those on other bearers.
  private func checkRequest(_ watch: OperationWatch, _ pdu: [UInt8], at end: LinkEnd) {
    if let carrier = watch.carrier, carrier !== end {
      fail("a procedure stays on its bearer", "\(watch.name) on \(carrier.name) and \(end.name)")
    }
    watch.carrier = end
    watch.end = end
    guard isGrouped else { return }
    cancelled.removeAll { !$0.isInFlight }
    let others = (operations.filter { !$0.isEnding } + cancelled).filter {
      $0 !== watch && $0.carrier?.isUsable != false
    }
    // Single steps mix with other procedures if the caller mixes them.
    if watch.preparesWrites {
      if owesDrop {
        fail("what a dead bearer has prepared is dropped", "\(watch.name): \(hex(pdu))")
      }
      for other in others where other.preparesWrites && (other.isInFlight || other.hasPrepared) {
        fail("one procedure at a time prepares writes", "\(watch.name) and \(other.name)")
      }
    }
    if pdu.count == 7, pdu[0] == 0x08, Array(pdu[5...]) == [0x2A, 0x2B] {
      for other in open where other !== end && other.isUsable && other.judge.request != nil {
        fail("the Database Hash is read alone", "a request is pending on \(other.name)")
      }
    }
    guard let footprint = watch.footprint else { return }
    for other in others where other.number < watch.number && other.carrier !== end {
      guard Self.conflict(footprint, other.footprint) else { continue }
      fail(
        "procedures on one value keep their order",
        "\(watch.name) on \(end.name), \(other.name) on \(other.carrier?.name ?? "none")")
    }
    guard watch.exchanges.isEmpty else { return }
    let former = commandBearers(in: footprint, before: watch.place)
    if former.count == 1, former[0] !== end {
      fail("procedures follow commands", "\(watch.name) on \(end.name), not \(former[0].name)")
    }
  }

  /// The bearers of the commands to values. A procedure can follow those of one bearer.
  private func commandBearers(in footprint: Footprint, before place: Int) -> [LinkEnd] {
    var bearers: [LinkEnd] = []
    for (handle, command) in commands
    where command.since < place && footprint.range.contains(AttributeHandle(handle)) {
      if isSuitable(command.end), !bearers.contains(where: { $0 === command.end }) {
        bearers.append(command.end)
      }
    }
    return bearers
  }

  private static func conflict(_ one: Footprint, _ other: Footprint?) -> Bool {
    guard let other, one.isWrite || other.isWrite else { return false }
    return one.range.start <= other.range.end && other.range.start <= one.range.end
  }

  /// Whether a bearer lives and takes what fits the unenhanced one.
  private func isSuitable(_ end: LinkEnd) -> Bool {
    end.isUsable && end.session.bearer.mtu >= main.session.bearer.mtu
  }

  /// The procedures that were cancelled while a request was in flight.
  private var cancelled: [OperationWatch] = []

  func noteCancelled(_ watch: OperationWatch) {
    if watch.isInFlight { cancelled.append(watch) }
  }

  func nextNumber() -> Int {
    lastNumber += 1
    return lastNumber
  }

  // MARK: Commands and values

  /// The bearer for a command to an attribute.
  func carrier(ofCommandsTo handle: AttributeHandle) -> LinkEnd {
    hasCommanded = true
    guard isGrouped, let end = end(of: group.session(forCommandsTo: handle)) else { return main }
    if let former = commands[handle.rawValue]?.end, former !== end, isSuitable(former) {
      fail("commands of one attribute keep their bearer", "\(former.name), then \(end.name)")
    }
    let footprint = HandleRange(handle, handle).map { Footprint($0, isWrite: true) }
    for other in operations where other.isInFlight && other.carrier !== end {
      guard let footprint, let its = other.footprint, its.isWrite,
        Self.conflict(footprint, its), commandBearers(in: its, before: .max).count < 2
      else { continue }
      fail("commands do not overtake writes", "\(handle) on \(end.name): \(other.name)")
    }
    if commands[handle.rawValue]?.end !== end { commands[handle.rawValue] = (end, nextNumber()) }
    return end
  }

  /// The bearer for the values of attributes; nil if they have different ones.
  func carrier(ofValues handles: [UInt16]) -> LinkEnd? {
    let list = handles.map { AttributeHandle($0) }
    guard isGrouped else { return main }
    return end(
      of: list.count == 1
        ? group.session(forValuesOf: list[0]) : group.session(forValuesOf: list))
  }

  /// Checks that the values of an attribute stay on a bearer while it lives.
  func noteValue(_ handle: UInt16, at end: LinkEnd) {
    if let former = values[handle], former !== end, isSuitable(former) {
      fail(
        "values of one attribute keep their bearer",
        "\(AttributeHandle(handle)): \(former.name), then \(end.name)")
    }
    values[handle] = end
  }

  /// Checks that a value is not older than those before it, unless its bearer has ended at the sender.
  func receiveValue(_ handle: UInt16, _ value: [UInt8], isIndication: Bool, at end: LinkEnd) {
    guard connection.isTrusted, connection.keepsOrder, value.count >= 4 else { return }
    let serial = UInt32(number(value, 0)) | UInt32(number(value, 2)) << 16
    // The range of a Service Changed is larger than any serial number.
    guard serial <= 0xFFFF else { return }
    if let last = received[isIndication ? 1 : 0][handle], serial <= last.serial {
      if last.end === end || !end.peer.isClosed {
        fail(
          "values of one attribute arrive in order",
          "\(AttributeHandle(handle)): \(serial) on \(end.name) after \(last.serial) on "
            + last.end.name)
      }
      return
    }
    received[isIndication ? 1 : 0][handle] = (serial, end)
  }

  /// Checks the limits of what the group keeps.
  func checkOperations() {
    // During a call the lists may differ.
    guard !main.isClosed, device.current == nil else { return }
    let limit = device.configuration.maximumWaiting
    if group.operationCount > (limit + 1) * group.all.count + limit {
      fail("queues keep their limits", "\(group.operationCount) procedures")
    }
    if !(operations.count...operations.count + drops).contains(group.operationCount) {
      fail(
        "every procedure ends",
        "\(operations.count) are open, and the group knows of \(group.operationCount)")
    }
    if group.all.count != enhancedCount + 1 {
      fail("a dead bearer is forgotten", "\(group.all.count) sessions")
    }
  }
}
