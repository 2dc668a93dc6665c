import AttoATT

/// The environment of a case against a server: its link, and the survey of the server.
final class ServerBench {
  let links: RecordedLinks
  let known: KnownServer
  let rule: Rule
  /// How long to wait for each response.
  let patience: Duration
  /// ATT_MTU of the current bearer.
  var mtu: Int { links.bearer == 0 ? exchanged[links.current] ?? 23 : Self.bearerMTU }
  /// ATT_MTU of the unenhanced bearers after an exchange, by client.
  private var exchanged: [Int: Int] = [:]

  /// The longest duration of the case.
  private let deadline: Duration

  /// The values that ``next()`` has received, at most ``valueLimit``.
  var received: [[UInt8]] = []
  /// Whether ``next()`` confirms indications.
  var confirms = true

  static let timeLimit: Duration = .seconds(120)
  /// The most values that are kept.
  static let valueLimit = 1000
  /// The values and requests that are taken before another PDU. A server that sends without pause may have sent
  /// thousands before it reads a request.
  static let pduLimit = 100_000
  /// The MTU that this end has for enhanced bearers, the smallest possible one.
  static let bearerMTU = 64

  init(
    _ links: RecordedLinks, _ known: KnownServer, _ rule: Rule, patience: Duration,
    deadline: Duration
  ) {
    self.links = links
    self.known = known
    self.rule = rule
    self.patience = patience
    self.deadline = deadline
  }

  // MARK: Requests

  /// Sends a request and returns the response, checking only its length and opcode. Ignores
  /// notifications and confirms indications.
  func ask(_ pdu: [UInt8]) async throws -> [UInt8] {
    guard let response = try await tryAsking(pdu) else {
      throw Rule.answered.broken("received no response to \(name(pdu)) within \(patience)")
    }
    return response
  }

  /// Like ``ask(_:)``, but skips the case if the server does not support the request.
  func askIfSupported(_ pdu: [UInt8], called name: String? = nil) async throws -> [UInt8] {
    let response = try await ask(pdu)
    try require(
      response[0] != 0x01 || response[4] != 0x06,
      orSkip: "the server does not support \(name ?? "\(Opcode(pdu[0]))")")
    return response
  }

  func read(_ handle: UInt16) async throws -> [UInt8] { try await ask([0x0A] + octets(handle)) }

  func write(_ value: [UInt8], to handle: UInt16) async throws -> [UInt8] {
    try await ask([0x12] + octets(handle) + value)
  }

  /// Like ``ask(_:)``, but returns nil if no response arrives.
  func tryAsking(_ pdu: [UInt8]) async throws -> [UInt8]? {
    try Rule.ending.check(links.elapsed < deadline, "the case did not end within \(deadline)")
    try await links.send(pdu)
    guard let response = try await next() else { return nil }
    let request = pdu.first ?? 0
    // After the response of another request, everything else would be out of step.
    let belongs =
      response[0] == 0x01
      ? response.count > 1 && response[1] == request : response[0] == request + 1
    try Rule.matches.check(
      belongs, "received \(summary(response)) as the response to \(name(pdu))", got: response)
    if response[0] == 0x01, response.count != 5 {
      throw Rule.errorForm.broken(
        "the Error Response has \(response.count) octets", expected: "5 octets", got: response)
    }
    try Rule.errorForm.check(
      response[0] != 0x01 || response[4] != 0, "the Error Response has the code 0x00", got: response
    )
    // What malformed responses and lists mean is not known; other values are for the cases to check.
    let isList = [0x05, 0x07, 0x09, 0x11].contains(response[0])
    if let finding = PDUFinding.findings(in: response).first, finding.isMalformed || isList {
      throw Rule("A response has the form of its opcode", finding.section).broken(
        "\(finding.text), from octet \(finding.octet) on", got: response)
    }
    return response
  }

  /// Receives the next PDU other than a notification or an indication, and other than what the peer
  /// sends as a client.
  func next() async throws -> [UInt8]? {
    // Bounded in number and time, for servers that never stop sending values.
    let end = links.elapsed + patience
    for _ in 0..<Self.pduLimit {
      let left = max(.zero, end - links.elapsed)
      guard let pdu = try await links.receive(within: left) else { return nil }
      guard let first = pdu.first else { throw Rule.fits.broken("received an empty PDU") }
      try Rule.fits.check(
        pdu.count <= mtu, "received a PDU of \(pdu.count) octets with an ATT_MTU of \(mtu)",
        got: pdu)
      switch Opcode(first).kind {
      case .notification: keep(pdu)
      case .indication:
        keep(pdu)
        if confirms { try await links.send([0x1E]) }
      case .request: try await links.send(Self.refusal(of: pdu))
      case .command: continue
      default: return pdu
      }
    }
    // No rule says how many may come.
    throw CaseStop.skipped("\(Self.pduLimit) values came before the response")
  }

  private func keep(_ pdu: [UInt8]) {
    if received.count < Self.valueLimit { received.append(pdu) }
  }

  /// Receives the next notification or indication, which may have come before a response; nil if there is
  /// none in time.
  func nextValue(within time: Duration) async throws -> [UInt8]? {
    let end = links.elapsed + time
    while received.isEmpty, end > links.elapsed {
      guard let pdu = try await links.receive(within: end - links.elapsed) else { return nil }
      try Rule.fits.check(
        !pdu.isEmpty && pdu.count <= mtu,
        "received a PDU of \(pdu.count) octets with an ATT_MTU of \(mtu)", got: pdu)
      switch Opcode(pdu[0]).kind {
      case .notification: received.append(pdu)
      case .indication:
        received.append(pdu)
        if confirms { try await links.send([0x1E]) }
      case .request: try await links.send(Self.refusal(of: pdu))
      case .command: continue
      default: throw Rule.quiet.broken("received \(summary(pdu))", got: pdu)
      }
    }
    return received.isEmpty ? nil : received.removeFirst()
  }

  /// The response of a device without attributes to a request of the peer's client.
  static func refusal(of pdu: [UInt8]) -> [UInt8] {
    switch pdu[0] {
    case 0x04: [0x01, 0x04] + octets(number(pdu[1...])) + [0x0A]
    case 0x0A: [0x01, 0x0A] + octets(number(pdu[1...])) + [0x01]
    default: [0x01, pdu[0], 0, 0, 0x06]
    }
  }

  // MARK: Checks

  /// Checks the case's rule, where the correct response is a PDU.
  func check(
    _ holds: Bool, _ happened: @autoclosure () -> String, expected: [UInt8]? = nil,
    got: [UInt8]? = nil
  ) throws {
    try rule.check(holds, happened(), expected: expected.map(EncodedText.hex), got: got)
  }

  /// Skips the case, unless a condition holds.
  func require(_ holds: Bool, orSkip reason: @autoclosure () -> String) throws {
    guard holds else { throw CaseStop.skipped(reason()) }
  }

  /// Skips the case if a value is nil.
  func require<Value>(_ value: Value?, orSkip reason: @autoclosure () -> String) throws -> Value {
    guard let value else { throw CaseStop.skipped(reason()) }
    return value
  }

  /// Sends a request that must be answered with this response.
  ///
  /// - Parameter what: the beginning of the message about another response.
  func expect(_ wanted: [UInt8], to pdu: [UInt8], _ what: String) async throws {
    let response = try await ask(pdu)
    try check(response == wanted, "\(what) \(summary(response))", expected: wanted, got: response)
  }

  /// Sends a request that must be answered with one of these errors, or any if there are none.
  ///
  /// - Parameter rule: the rule instead of the case's.
  func expectError(
    _ codes: [ErrorCode], at handle: UInt16?, to pdu: [UInt8], _ rule: Rule? = nil
  ) async throws {
    let rule = rule ?? self.rule
    guard let response = try await tryAsking(pdu) else {
      throw rule.broken("received no response to \(name(pdu)) within \(patience)")
    }
    let wanted =
      codes.isEmpty ? "an error" : "the error " + codes.map { "\($0)" }.joined(separator: " or ")
    guard response[0] == 0x01 else {
      throw rule.broken(
        "\(name(pdu)) was answered with \(summary(response))", expected: wanted, got: response)
    }
    let code = ErrorCode(response[4])
    guard codes.isEmpty || codes.contains(code) else {
      throw rule.broken(
        "\(name(pdu)) was answered with the error \(code)", expected: wanted, got: response)
    }
    let found = number(response[2...])
    if let handle, found != handle, code != .requestNotSupported {
      throw Rule.errorForm.broken(
        "the error for \(name(pdu)) names the handle \(AttributeHandle(found))",
        expected: "\(AttributeHandle(handle))", got: response)
    }
  }

  /// Sends PDUs that must not be answered.
  func expectQuiet(after pdus: [[UInt8]]) async throws {
    for pdu in pdus { try await links.send(pdu) }
    guard let pdu = try await unasked(within: .milliseconds(100)) else { return }
    throw rule.broken("received \(summary(pdu))", expected: "nothing", got: pdu)
  }

  /// Receives the next PDU other than a notification, and other than what the peer sends as a client.
  func unasked(within time: Duration, skipsValues: Bool = true) async throws -> [UInt8]? {
    let end = links.elapsed + time
    for _ in 0..<Self.pduLimit {
      guard let pdu = try await links.receive(within: max(.zero, end - links.elapsed)) else {
        return nil
      }
      switch pdu.first.map({ Opcode($0).kind }) {
      case .notification? where skipsValues: continue
      case .command?: continue
      case .request?: try await links.send(Self.refusal(of: pdu))
      default: return pdu
      }
    }
    return nil
  }

  /// Find Information of handle 1, which every server answers (Vol 3, Part F, 3.4.9).
  private static let probe: [UInt8] = [0x04, 0x01, 0x00, 0x01, 0x00]

  func probe() async throws {
    guard try await tryAsking(Self.probe) != nil else {
      throw Rule.alive.broken("the server does not answer Find Information any more")
    }
  }

  // MARK: Links

  /// Exchanges ATT_MTU; skips the case if the server does not support it.
  @discardableResult
  func exchange(_ offered: UInt16) async throws -> Int {
    let response = try await ask([0x02] + octets(offered))
    try require(
      response[0] == 0x03 && response.count == 3,
      orSkip: "the server does not support the exchange of ATT_MTU")
    let theirs = Int(number(response[1...]))
    exchanged[links.current] = max(23, min(Int(offered), theirs))
    return theirs
  }

  func reconnect() async throws {
    await links.close()
    exchanged[links.current] = nil
    try await links.open()
  }

  /// Runs a body as another client, on a link of its own, which stays open.
  ///
  /// - Returns: nil if the server serves only one client: it opens no second link, or answers nothing there.
  ///   The link is closed then, because it would be served in place of the next one.
  func asSecondClient<Result>(_ body: () async throws -> Result) async throws -> Result? {
    links.turn(to: 2)
    defer { links.turn(to: 1) }
    do {
      if try await tryAsking(Self.probe) != nil { return try await body() }
    } catch let failure as PeerError where failure != .cancelled {}
    await links.close()
    return nil
  }

  func endSecondClient() async {
    links.turn(to: 2)
    await links.close()
    links.turn(to: 1)
  }

  /// Opens enhanced bearers, with numbers from 1 on; skips the case if the server has none.
  func openBearers(_ count: Int) async throws {
    let features = known.values.first { $0.uuid == octets(0x2B3A) }?.octets
    try require(
      (features?.first ?? 0) & 0x01 != 0,
      orSkip:
        "the server does not offer enhanced bearers: bit 0 of Server Supported Features is not set")
    // A server that has answered on the link is ready for its bearers.
    try await probe()
    try await links.openBearers(count, mtu: Self.bearerMTU)
  }

  /// Continues on a bearer of the link; 0 is the unenhanced one.
  func turn(toBearer number: Int) { links.turn(toBearer: number) }

  func name(_ pdu: [UInt8]) -> String {
    pdu.isEmpty ? "an empty PDU" : "\(EncodedText.hex(pdu)) (\(summary(pdu)))"
  }

  func summary(_ pdu: [UInt8]) -> String { PDU(pdu.span.bytes).summary }
}

/// The number in two octets, little-endian.
func octets(_ number: UInt16) -> [UInt8] { [UInt8(number & 0xFF), UInt8(number >> 8)] }

/// The little-endian number in the first two octets; 0 if there are fewer.
func number(_ octets: some Collection<UInt8>) -> UInt16 {
  let pair = Array(octets.prefix(2))
  return pair.count == 2 ? UInt16(pair[0]) | UInt16(pair[1]) << 8 : 0
}
