import ATT

/// What a case against a server works with: a link of its own, and what is known of the server.
final class ServerBench {
  let wire: Wire
  let known: KnownServer
  /// For each response.
  let patience: Duration
  private(set) var mtu = 23

  /// The time that the case has.
  private let deadline: Duration

  static let timeLimit: Duration = .seconds(120)
  /// Values that may come before a response.
  static let valueLimit = 1000

  init(
    _ wire: Wire, _ known: KnownServer, patience: Duration, deadline: Duration = timeLimit
  ) {
    self.deadline = deadline
    self.wire = wire
    self.known = known
    self.patience = patience
  }

  // MARK: Requests

  /// Sends a request and takes its response, of which only length and opcode are judged here.
  /// Notifications meanwhile are passed over, indications confirmed.
  func ask(_ pdu: [UInt8]) async throws(CaseStop) -> [UInt8] {
    guard let response = try await tryAsking(pdu) else {
      throw Rule.answered.broken("no response to \(name(pdu)) came within \(patience)")
    }
    return response
  }

  /// nil if no response came.
  func tryAsking(_ pdu: [UInt8]) async throws(CaseStop) -> [UInt8]? {
    guard wire.elapsed < deadline else {
      throw Rule.answered.broken("the case did not end within \(deadline)")
    }
    try await wire.send(pdu)
    guard let response = try await next() else { return nil }
    let request = pdu.first ?? 0
    // A wrong match would make all that follows meaningless.
    let belongs =
      response[0] == 0x01
      ? response.count > 1 && response[1] == request : response[0] == request + 1
    guard belongs else {
      throw Rule.matches.broken(
        "\(summary(response)) came as the response to \(name(pdu))", got: response)
    }
    if response[0] == 0x01, response.count != 5 {
      throw Rule.errorForm.broken(
        "the Error Response has \(response.count) octets", expected: "5 octets", got: response)
    }
    return response
  }

  /// The next PDU that is neither a notification nor an indication.
  func next() async throws(CaseStop) -> [UInt8]? {
    // A server that sends values for ever is no reason to stay for ever.
    for _ in 0...Self.valueLimit {
      guard let pdu = try await wire.receive(within: patience) else { return nil }
      guard let first = pdu.first else {
        throw Rule.fits.broken("an empty PDU came, which no PDU is")
      }
      guard pdu.count <= mtu else {
        throw Rule.fits.broken(
          "a PDU of \(pdu.count) octets came while ATT_MTU is \(mtu)", got: pdu)
      }
      switch Opcode(first).kind {
      case .notification: continue
      case .indication: try await wire.send([0x1E])
      default: return pdu
      }
    }
    return nil
  }

  // MARK: Judging

  /// Asks, and wants an error with one of these codes.
  @discardableResult
  func expectError(
    _ codes: [ErrorCode], at handle: UInt16?, to pdu: [UInt8], _ rule: Rule
  ) async throws(CaseStop) -> ErrorCode {
    guard let response = try await tryAsking(pdu) else {
      throw rule.broken("no response to \(name(pdu)) came within \(patience)")
    }
    let wanted =
      codes.isEmpty
      ? "an error" : "the error " + codes.map { "\($0)" }.joined(separator: " or ")
    guard response[0] == 0x01 else {
      throw rule.broken(
        "\(name(pdu)) was answered with \(summary(response))", expected: wanted,
        got: response)
    }
    let code = ErrorCode(response[4])
    guard codes.isEmpty || codes.contains(code) else {
      throw rule.broken(
        "\(name(pdu)) was answered with the error \(code)", expected: wanted,
        got: response)
    }
    let found = UInt16(response[2]) | UInt16(response[3]) << 8
    if let handle, found != handle, code != .requestNotSupported {
      throw Rule.errorForm.broken(
        "the error for \(name(pdu)) names the handle \(AttributeHandle(found))",
        expected: "\(AttributeHandle(handle))", got: response)
    }
    return code
  }

  /// Nothing may come for a moment.
  func expectQuiet(_ rule: Rule) async throws(CaseStop) {
    guard let pdu = try await wire.receive(within: .milliseconds(100)) else { return }
    guard let first = pdu.first, Opcode(first).kind != .notification else { return }
    throw rule.broken("\(summary(pdu)) came", expected: "nothing", got: pdu)
  }

  /// The server still answers.
  func probe() async throws(CaseStop) {
    guard let response = try await tryAsking([0x04, 0x01, 0x00, 0x01, 0x00]) else {
      throw Rule.alive.broken("the server has stopped answering: a Find Information got nothing")
    }
    _ = response
  }

  // MARK: What cases do

  /// Exchanges ATT_MTU; leaves the case out if the server does not.
  @discardableResult
  func exchange(_ offered: UInt16) async throws(CaseStop) -> Int {
    let response = try await ask([0x02] + octets(offered))
    guard response[0] == 0x03, response.count == 3 else {
      throw .skipped("the server does not exchange ATT_MTU")
    }
    let theirs = Int(UInt16(response[1]) | UInt16(response[2]) << 8)
    mtu = max(23, min(Int(offered), theirs))
    return theirs
  }

  /// Begins again on a new link.
  func reconnect() async throws(CaseStop) {
    await wire.close()
    mtu = 23
    try await wire.open()
  }

  /// The other client of the server; its ATT_MTU is the default.
  func turn(to client: Int) { wire.turn(to: client) }

  func name(_ pdu: [UInt8]) -> String {
    pdu.isEmpty ? "an empty PDU" : "\(EncodedText.hex(pdu)) (\(summary(pdu)))"
  }

  func summary(_ pdu: [UInt8]) -> String { PDU(pdu.span.bytes).summary }
}

/// Least significant octet first.
func octets(_ number: UInt16) -> [UInt8] { [UInt8(number & 0xFF), UInt8(number >> 8)] }

/// A number from two octets; 0 beyond the end.
func number(_ octets: some Collection<UInt8>) -> UInt16 {
  let pair = Array(octets.prefix(2))
  return pair.count == 2 ? UInt16(pair[0]) | UInt16(pair[1]) << 8 : 0
}
