import AttoATT
import AttoGATT

/// Checks one end of a bearer by the PDUs that it receives and sends.
///
/// # Theory
///
/// Whatever the link and the peer do, an end can be checked by the sequence of PDUs that it
/// received and sent. The judge decodes them itself and tracks the state of the bearer: ATT_MTU,
/// the requests and indications in flight, and the pending responses. ``ServerModel`` gives the
/// expected responses of a server. Rules that require a correct peer and link apply only if
/// `isTrusted`.
final class Judge {
  let configuration: BearerConfiguration
  let isTrusted: Bool
  /// Whether this end also sends arbitrary PDUs. Then its behaviour as a client is not checked.
  let isRogue: Bool
  let model: ServerModel?
  let client: ModelClient?
  private let report: (_ rule: String, _ what: String) -> Void

  var mtu: Int
  private var ownRequestedMTU: Int?
  private var ownMTU: Int?
  private var hasExchanged = false
  private var peerMTU: Int?
  private(set) var isDead = false

  private(set) var request: (pdu: [UInt8], since: Instant, owner: ExchangeRecord?)?
  private var indication: (handle: UInt16, revision: Int?, id: TransactionID?, since: Instant)?
  private var received: [Received] = []
  private var owedConfirmations = 0
  var answers = ModelAnswers()
  /// The application's answers for the command that is being executed.
  var commandAnswers: ModelAnswers?
  private var command: [UInt8]?
  /// The revision of the database for which this bearer was last sent Database Out Of Sync.
  private var refusedAt: Int?

  /// The PDUs that the application has sent, until they appear in the outbox.
  var notifications: [[UInt8]] = []
  var indications: [(id: TransactionID, handle: UInt16, value: [UInt8])] = []
  var commands: [[UInt8]] = []
  var rawPDUs: [[UInt8]] = []
  /// The indication whose confirmation was just received.
  private(set) var confirmed: TransactionID?
  /// The procedure whose response was just received.
  private(set) var responseOwner: ExchangeRecord?
  private(set) var mayDie = false

  struct Received {
    let pdu: [UInt8]
    let form: PDUForm
    /// Whether it was too long when it arrived, whatever ATT_MTU was when its turn came.
    var isTooLong = false
    var outOfSync: UInt16?
    var hasBegun = false
  }

  init(
    _ configuration: BearerConfiguration, isTrusted: Bool, isRogue: Bool, model: ServerModel?,
    client: ModelClient?, report: @escaping (String, String) -> Void
  ) {
    self.configuration = configuration
    self.isTrusted = isTrusted
    self.isRogue = isRogue
    self.model = model
    self.client = client
    self.report = report
    mtu = if case .enhanced(let mtu) = configuration.channel { mtu } else { 23 }
  }

  private var isFixed: Bool { configuration.channel == .fixed }
  var isExchanging: Bool { ownRequestedMTU != nil }
  var owesNothing: Bool { received.isEmpty && owedConfirmations == 0 }
  var isWaiting: Bool { request != nil || indication != nil }

  /// The channel of an enhanced bearer was reconfigured.
  func raise(mtu: Int) { self.mtu = mtu }

  private func agree() {
    if let least = [ownMTU, peerMTU].compactMap(\.self).min() { mtu = max(23, least) }
  }

  /// On a link that may be reused, responses and values may have the length that was agreed on
  /// before, until this side exchanges ATT_MTU.
  func receiveLimit(_ pdu: [UInt8]) -> Int {
    guard configuration.linkMayBeReused, !hasExchanged, let opcode = pdu.first else { return mtu }
    let responses: [UInt8] = [
      0x01, 0x03, 0x05, 0x07, 0x09, 0x0B, 0x0D, 0x0F, 0x11, 0x13, 0x17, 0x19, 0x21, 0x1B, 0x1D,
      0x23,
    ]
    return responses.contains(opcode) ? max(mtu, pdu.count) : mtu
  }

  // MARK: Receiving

  /// Checks a PDU that will be passed to the session.
  func arrive(_ pdu: [UInt8], at now: Instant) {
    (confirmed, responseOwner, mayDie) = (nil, nil, false)
    guard !isDead else { return }
    let form = PDUForm(pdu, limit: receiveLimit(pdu))
    switch form {
    case .empty, .notification, .multipleNotification, .ignored: break
    case .request, .exchangeRequest, .refused:
      if received.count > configuration.maximumPipelined {
        if isTrusted { report("one request at a time", "the peer sends too many requests") }
        mayDie = true
      }
      received.append(Received(pdu: pdu, form: form, isTooLong: pdu.count > mtu))
      begin()
    case .response, .malformedResponse: arrive(response: pdu, form, at: now)
    case .indication, .malformedIndication: owedConfirmations += 1
    case .confirmation:
      guard let indication else { break }
      self.indication = nil
      confirmed = indication.id
      guard let revision = indication.revision, let client else { break }
      client.isBeingTold = false
      if revision == model?.revision {
        client.changed = nil
        if client.bearers == 1 { client.awareness = .aware }
      }
    case .writeCommand:
      if pdu[0] == 0xD2, !isFixed { break }
      command = pdu
      commandAnswers = ModelAnswers()
    }
  }

  private func arrive(response pdu: [UInt8], _ form: PDUForm, at now: Instant) {
    guard let request else { return }
    let fits: Bool
    if case .malformedResponse = form {
      fits = false
    } else {
      fits = pdu[0] == 0x01 ? pdu[1] == request.pdu[0] : pdu[0] == request.pdu[0] + 1
    }
    guard fits else {
      if isTrusted { report("responses match requests", "\(hex(pdu)) to \(hex(request.pdu))") }
      mayDie = true
      return
    }
    self.request = nil
    if request.pdu[0] == 0x02 {
      if pdu[0] == 0x03 {
        ownMTU = min(ownRequestedMTU ?? 0, Int(number(pdu, 1)))
        agree()
      }
      ownRequestedMTU = nil
    }
    request.owner?.exchanges.append((request.pdu, pdu))
    responseOwner = request.owner
  }

  /// Completes the check after the session has received the PDU.
  func settle() {
    guard let pdu = command else { return }
    command = nil
    if let model, let client, let answers = commandAnswers { model.command(pdu, client, answers) }
    commandAnswers = nil
  }

  /// Starts the oldest unanswered request, which the server executes now.
  private func begin() {
    guard !received.isEmpty, !received[0].hasBegun else { return }
    received[0].hasBegun = true
    guard case .request = received[0].form, let model, let client else { return }
    received[0].outOfSync = model.arrive(received[0].pdu, client, &refusedAt)
  }

  // MARK: Sending

  /// Checks a PDU that is new in the outbox.
  func produce(_ pdu: [UInt8], encoder: ExchangeRecord?, at now: Instant) {
    if isDead { report("a dead bearer is silent", hex(pdu)) }
    if let place = rawPDUs.firstIndex(of: pdu) {
      rawPDUs.remove(at: place)
      return
    }
    if pdu.count > mtu { report("no PDU beyond ATT_MTU", "\(hex(pdu)) at ATT_MTU \(mtu)") }
    guard let opcode = pdu.first else { return report("a PDU has an opcode", "an empty PDU") }
    switch opcode {
    case 0x02, 0x04, 0x06, 0x08, 0x0A, 0x0C, 0x0E, 0x10, 0x12, 0x16, 0x18, 0x20:
      if let request {
        report("one request at a time", "\(hex(pdu)) while \(hex(request.pdu)) is unanswered")
      }
      if opcode == 0x02 {
        if !isFixed || ownMTU != nil { report("one exchange of ATT_MTU", hex(pdu)) }
        ownRequestedMTU = Int(number(pdu, 1))
        hasExchanged = true
      }
      if encoder == nil { report("requests have an owner", hex(pdu)) }
      request = (pdu, now, encoder)
    case 0x1B, 0x23:
      if isExchanging { report("no values during the exchange of ATT_MTU", hex(pdu)) }
      if notifications.first == pdu {
        notifications.removeFirst()
      } else {
        report("notifications in order, none lost, none doubled", hex(pdu))
      }
      checkSync(pdu)
    case 0x1D: produce(indication: pdu, at: now)
    case 0x1E:
      owedConfirmations -= 1
      if owedConfirmations < 0 { report("one confirmation for each indication", hex(pdu)) }
    case 0x52, 0xD2:
      if commands.first == pdu {
        commands.removeFirst()
      } else {
        report("commands in order, none lost, none doubled", hex(pdu))
      }
    default: produce(response: pdu)
    }
  }

  private func checkSync(_ pdu: [UInt8]) {
    if let client, client.isOutOfSync {
      report("no values to a client that is out of sync", hex(pdu))
    }
  }

  private func produce(indication pdu: [UInt8], at now: Instant) {
    if indication != nil { report("one indication at a time", hex(pdu)) }
    if isExchanging { report("no values during the exchange of ATT_MTU", hex(pdu)) }
    let handle = number(pdu, 1)
    let value = Array(pdu[3...])
    if let model, let client, let index = model.row(handle),
      model.rows[index].type == ModelRow.serviceChanged
    {
      if let owed = client.changed, value.count == 4,
        number(value, 0) <= owed.0, number(value, 2) >= owed.1
      {
        if model.serviceChangedHandle(for: client) != handle {
          report("values only to those who asked", "Service Changed \(hex(pdu))")
        }
      } else {
        report("Service Changed tells what has changed", hex(pdu))
      }
      if client.isBeingTold { report("Service Changed is told on one bearer", hex(pdu)) }
      client.isBeingTold = true
      indication = (handle, model.revision, nil, now)
      return
    }
    checkSync(pdu)
    guard let next = indications.first, next.handle == handle,
      value == Array(next.value.prefix(mtu - 3))
    else { return report("indications in order, none lost, none doubled", hex(pdu)) }
    indications.removeFirst()
    indication = (handle, nil, next.id, now)
  }

  private func produce(response pdu: [UInt8]) {
    guard let first = received.first, first.hasBegun else {
      return report("responses match requests", "\(hex(pdu)) to nothing")
    }
    received.removeFirst()
    var expected: [UInt8]
    switch first.form {
    case .refused(let code):
      expected = [0x01, first.pdu[0], 0, 0, code]
      // Of a request that was too long and had to wait, only the opcode is left.
      if first.isTooLong, expected != pdu { expected[4] = 0x06 }
    case .exchangeRequest:
      if isFixed {
        expected = [0x03] + octets(UInt16(configuration.receiveMTU))
        if peerMTU == nil || configuration.linkMayBeReused {
          peerMTU = min(configuration.receiveMTU, Int(number(first.pdu, 1)))
          agree()
        }
      } else {
        expected = [0x01, 0x02, 0, 0, 0x06]
      }
    default:
      if let handle = first.outOfSync {
        expected = [0x01, first.pdu[0]] + octets(handle) + [0x12]
      } else if let model, let client {
        var request = ModelRequest(
          pdu: first.pdu, client: client, mtu: mtu, answers: answers, refusedAt: refusedAt)
        defer { refusedAt = request.refusedAt }
        do throws(ModelHalt) {
          expected = try model.respond(&request)
        } catch {
          return report(
            "answers are awaited", "\(hex(pdu)) to \(hex(first.pdu)), with \(error) open")
        }
      } else {
        expected = Self.refusal(first.pdu)
      }
    }
    answers.end()
    if pdu != expected {
      report(
        "responses are right", "\(hex(pdu)) to \(hex(first.pdu)), not \(hex(expected))")
    }
    begin()
  }

  /// The response of a device without a server.
  private static func refusal(_ pdu: [UInt8]) -> [UInt8] {
    switch pdu[0] {
    case 0x04, 0x06, 0x08, 0x10:
      let (start, end) = (number(pdu, 1), number(pdu, 3))
      let isRange = start > 0 && start <= end
      return [0x01, pdu[0]] + octets(start) + [isRange ? 0x0A : 0x01]
    case 0x0A: return [0x01, pdu[0]] + octets(number(pdu, 1)) + [0x01]
    default: return [0x01, pdu[0], 0, 0, 0x06]
    }
  }

  // MARK: Time and the end

  /// Checks that nothing is in flight for longer than the transaction timeout.
  func check(at now: Instant) {
    guard !isDead, !isRogue else { return }
    let timeout = configuration.transactionTimeout
    if let request, request.since + timeout < now {
      report("transactions time out", hex(request.pdu))
    }
    if let indication, indication.since + timeout < now {
      report("transactions time out", "an indication of \(AttributeHandle(indication.handle))")
    }
  }

  /// Checks the failure of the bearer.
  func die(_ failure: BearerFailure, at now: Instant) {
    if !isDead {
      switch failure {
      case .linkEnded, .channelEnded: break
      case .transactionTimeout(let opcode):
        let since = opcode == .handleValueIndication ? indication?.since : request?.since
        if !isRogue, since.map({ $0 + configuration.transactionTimeout <= now }) != true {
          report("a bearer dies for a reason", "\(failure)")
        }
      case .mismatchedResponse, .mismatchedError, .malformedResponse, .tooManyPipelinedRequests:
        if !mayDie && !isRogue { report("a bearer dies for a reason", "\(failure)") }
      }
    }
    isDead = true
    request = nil
    responseOwner = nil
    if indication?.revision != nil { client?.isBeingTold = false }
    indication = nil
    received = []
    owedConfirmations = 0
    answers.removeAll()
    notifications = []
    indications = []
    commands = []
    rawPDUs = []
  }

  /// Notes that the application has cancelled this indication.
  func forget(indication id: TransactionID) {
    indications.removeAll { $0.id == id }
    if indication?.id == id { indication?.id = nil }
  }

  /// Checks after each call that the session has sent everything and that the bearer has the
  /// expected state.
  ///
  /// - Parameter bearerMTU: the ATT_MTU of the bearer.
  func checkState(bearerMTU: Int) {
    if !isDead, bearerMTU != mtu {
      report("ATT_MTU is what was exchanged", "\(bearerMTU), not \(mtu)")
    }
    if !isDead, !notifications.isEmpty || !commands.isEmpty {
      report("notifications in order, none lost, none doubled", "one was not sent")
    }
    if !isDead, mayDie, !isRogue {
      report("a broken conversation ends the bearer", "it lives on")
    }
  }
}

func hex(_ octets: [UInt8]) -> String { Hex.text(octets, separator: " ") }
