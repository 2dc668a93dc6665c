import Atto

/// `atto raw`: octets as they are, and what comes back.
enum RawCommand: Command {
  static let name = "raw"
  static let examples = [
    "atto raw air:Strap 0a1500 0aff0f 3f00",
    "atto raw air:Strap 12130001 --listen 5",
  ]
  static let summary = "Sends octets as PDUs, exactly, and prints what comes back."
  static let usage = "ENDPOINT HEX... [OPTIONS]"
  static let options =
    [
      OptionSpec("listen", "SECONDS", "go on listening for so long after the last (default 0.2)")
    ] + OptionSpec.connecting
  static let notes =
    "Each HEX is one PDU; \"\" is the empty one. After one whose opcode asks for an answer, the\n"
    + "next waits until an answer has come or --timeout is over. Nothing is answered on its own\n"
    + "account: confirm an indication with 1e."

  private struct Line: Encodable {
    let direction: String
    let pdu: String
    let text: String
  }

  static func run(_ arguments: Arguments, on loop: Loop) async throws {
    let connecting = try Connecting(arguments)
    if arguments.has("link-info") { throw UsageError("raw takes no --link-info") }
    let pdus = try arguments.words.dropFirst().map { try octets(argument: $0) }
    guard !pdus.isEmpty else { throw UsageError("what shall be sent?") }
    if connecting.options.securityOnDemand != nil {
      throw UsageError(
        "--security auto repeats requests, and raw sends nothing but what it is told")
    }
    let patience = try arguments.duration("timeout") ?? .seconds(30)
    let listen = try arguments.duration("listen") ?? .milliseconds(200)
    let isJSON = arguments.has("json")
    let radio = try await connecting.pairingRadio(on: loop)
    // Its agent answers for as long as it lives.
    defer { withExtendedLifetime(radio) {} }
    let note = ConnectingNote(connecting.endpoint, on: loop)
    defer { note.end() }
    let connection = try await RawConnection.connect(
      to: connecting.endpoint, options: connecting.options, loop: loop)
    note.end()
    defer { connection.close() }
    var mtu = 23
    if let offered = try arguments.integer("mtu", in: 23...65535) {
      let request = [
        Opcode.exchangeMTURequest.rawValue, UInt8(offered & 0xFF), UInt8(offered >> 8),
      ]
      try show("sent", request, isJSON, mtu)
      try await connection.send(request)
      let answer = try await answer(request, on: connection, patience, isJSON, mtu, loop)
      if case .exchangeMTUResponse(let response) = PDU(answer.span.bytes) {
        mtu = max(23, min(offered, Int(response.serverReceiveMTU)))
      }
    }
    for pdu in pdus {
      try show("sent", pdu, isJSON, mtu)
      try await connection.send(pdu)
      guard pdu.first.map({ Opcode($0).kind == .request }) ?? false else { continue }
      _ = try await answer(pdu, on: connection, patience, isJSON, mtu, loop)
    }
    do throws(AttoError) {
      while let more = try await connection.receive(within: listen) {
        do { try show("received", more, isJSON, mtu) } catch { return }
      }
    } catch {
      // All was sent and answered: to be interrupted is one way to end the listening.
      guard error == .cancelled else { throw error }
    }
  }

  /// Shows what comes until it is a response.
  private static func answer(
    _ request: [UInt8], on connection: RawConnection, _ patience: Duration, _ isJSON: Bool,
    _ mtu: Int, _ loop: Loop
  ) async throws -> [UInt8] {
    let silence = SilenceNote(
      SilenceNote.text(
        Opcode(request.first ?? 0), left: max(.zero, patience - SilenceNote.patience)), on: loop)
    defer { silence.end() }
    while let received = try await connection.receive(within: patience) {
      try show("received", received, isJSON, mtu)
      if let first = received.first, Opcode(first).kind == .response { return received }
    }
    throw AttoError.bearer(.transactionTimeout(Opcode(request.first ?? 0)))
  }

  private static func show(
    _ direction: String, _ pdu: [UInt8], _ isJSON: Bool, _ mtu: Int
  ) throws {
    let text = PDU(pdu.span.bytes, mtu: direction == "sent" ? .max : mtu).summary
    if isJSON {
      return try Terminal.print(
        json: Line(direction: direction, pdu: Shown.hex(pdu), text: text))
    }
    let arrow = direction == "sent" ? ">" : "<"
    Terminal.print("\(arrow) \(pdu.isEmpty ? "(empty)" : Shown.hex(pdu))  \(text)")
  }
}
