import Atto
import AttoATT
import AttoCommandLine
import AttoPeers

/// `atto raw`: PDUs given in hex.
package enum RawCommand: Command {
  static let time = Option.seconds(
    "for", default: 0.2, "How long to show what comes after the last PDU was sent."
  ).formerly("listen")

  package static let description = CommandDescription(
    "raw", "Send PDUs exactly as given, and print what comes back.",
    synopsis: ["ENDPOINT HEX... [OPTIONS]"],
    arguments: [
      .endpoint,
      ArgumentDescription(
        name: "HEX...",
        summary: "PDUs in hex; \"\" is the empty PDU, - reads lines of hex from standard input.",
        isRepeatable: true),
    ],
    details: """
      After a request, the command waits for the response, at most --timeout, before it sends the next
      PDU. It answers nothing by itself: confirm an indication with 1e. At the end it shows what arrives
      within the time of --for.

      In a session, raw HEX... uses the open connection, beside the session's own requests, and shows all
      PDUs that pass meanwhile. The session confirms indications. raw ENDPOINT HEX... opens a connection of
      its own.
      """,
    options: [time], groups: Connecting.options, runsInSession: true,
    examples: ["atto raw air:Strap 0a1500 0aff0f 3f00", "atto raw air:Strap 12130001 --for 5"])

  package static func run(_ arguments: Arguments, on loop: Loop) async throws {
    let connecting = try Connecting(arguments)
    try arguments.forbid([CommonOptions.linkInfo], "cannot be used with raw")
    let pdus = try arguments.words.dropFirst().map { try $0 == "-" ? nil : octets(argument: $0) }
    guard !pdus.isEmpty else { throw UsageError("no PDU given") }
    if arguments.place != nil, pdus.contains(where: { $0 == nil }) {
      throw UsageError("- cannot be used in a session, whose lines standard input has")
    }
    if connecting.options.securityOnDemand != nil || connecting.raisesAsStated {
      throw UsageError(
        "--security auto and stated cannot be used with raw, because they send requests",
        hint: "name the security level")
    }
    let isLE = if case .le = connecting.endpoint { true } else { false }
    if !isLE, connecting.options.security > .low {
      throw UsageError(
        "raw raises the security of le: links only",
        hint: "in a session: connect ENDPOINT --security LEVEL, and then raw HEX")
    }
    let radio = try await connecting.radio(on: loop)
    // Releasing the radio would end its agent.
    defer { withExtendedLifetime(radio) {} }
    let waiting = WaitingNote(connectingTo: connecting.endpoint, on: loop)
    defer { waiting.end() }
    let connection = try await RawConnection.connect(
      to: connecting.endpoint, options: connecting.options, adapter: radio, loop: loop)
    waiting.end()
    defer { connection.close() }
    var exchange = RawExchange(
      connection: connection, timeout: arguments[CommonOptions.timeout] ?? .seconds(30),
      loop: loop, text: RawText(Results(arguments)))
    if let mtu = arguments[CommonOptions.mtu] { try await exchange.exchangeMTU(mtu) }
    var input: StandardInput?
    for pdu in pdus {
      if let pdu {
        _ = try await exchange.send(pdu)
      } else {
        let lines = input ?? StandardInput(on: loop)
        input = lines
        try await exchange.send(lines)
      }
    }
    do throws(AttoError) {
      Activity.wait { "listening" }
      let end = loop.now + arguments[time].inNanoseconds
      let progress = ProgressLine(arguments).keep(on: loop) { [loop] in
        "listening for \(max(0, (end - loop.now) / 1_000_000_000) + 1) s more"
      }
      defer { progress?.cancel() }
      while let more = try await exchange.receive(until: end) {
        exchange.show(more, isSent: false)
        await Terminal.room()
      }
    } catch {
      // Ctrl-C is a normal way to end the wait.
      guard error == .cancelled else { throw error }
    }
  }

  /// The PDUs of one connection.
  private struct RawExchange {
    let connection: RawConnection
    let timeout: Duration
    let loop: Loop
    var mtu = 23
    var text: RawText

    mutating func exchangeMTU(_ offered: Int) async throws {
      let request = [
        Opcode.exchangeMTURequest.rawValue, UInt8(offered & 0xFF), UInt8(offered >> 8),
      ]
      _ = try await send(request)
    }

    /// Takes over the ATT_MTU that a request and its response agree on. Vol 3, Part F, 3.4.2.
    private mutating func agree(_ request: [UInt8], _ response: [UInt8]) {
      guard case .exchangeMTURequest(let request) = PDU(request.span.bytes),
        case .exchangeMTUResponse(let response) = PDU(response.span.bytes)
      else { return }
      let answered = Int(response.serverReceiveMTU)
      if answered < 23 {
        Terminal.note(
          "warning: the peer answered an MTU of \(answered): the least is 23, which holds")
      }
      mtu = max(23, min(Int(request.clientReceiveMTU), answered))
    }

    /// Sends a PDU. Returns the response to a request, after showing what arrived before it.
    mutating func send(_ pdu: [UInt8]) async throws -> [UInt8]? {
      show(pdu, isSent: true)
      try await connection.send(pdu)
      guard let opcode = pdu.first.map({ Opcode($0) }), opcode.kind == .request else { return nil }
      let left = max(.zero, timeout - WaitingNote.delay)
      let waiting = WaitingNote(WaitingNote.text(opcode, left: left), on: loop)
      defer { waiting.end() }
      let end = loop.now + timeout.inNanoseconds
      while let received = try await receive(until: end) {
        show(received, isSent: false)
        await Terminal.room()
        if let first = received.first, Opcode(first).kind == .response {
          agree(pdu, received)
          return received
        }
      }
      throw AttoError.bearer(.transactionTimeout(opcode))
    }

    /// Sends the lines of standard input, each as it arrives. Empty lines and comments are skipped.
    mutating func send(_ lines: StandardInput) async throws {
      var number = 0
      while let line = try await lines.next() {
        number += 1
        let text = try line.get()
        guard let first = text.first(where: { !$0.isWhitespace }), first != "#" else { continue }
        do {
          _ = try await send(try octets(argument: text))
        } catch let error as UsageError {
          throw UsageError("line \(number) of standard input: \(error.message)", hint: error.hint)
        }
      }
    }

    /// The next PDU; nil at this time of the loop's clock, however many there are.
    func receive(until end: Int64) async throws(AttoError) -> [UInt8]? {
      let left = end - loop.refreshNow()
      return left > 0 ? try await connection.receive(within: .nanoseconds(left)) : nil
    }

    mutating func show(_ pdu: [UInt8], isSent: Bool) { text.show(pdu, isSent: isSent, mtu: mtu) }
  }
}

/// The PDUs of a connection, each as a line.
struct RawText {
  private let results: Results
  private var exchange = ExchangeText()

  init(_ results: Results) { self.results = results }

  mutating func show(_ pdu: [UInt8], isSent: Bool, mtu: Int) {
    let text = exchange.text(pdu, mtu: isSent ? .max : mtu, isSent: isSent)
    results.print(
      "\(isSent ? ">" : "<") \(Shown.pdu(pdu))  \(text)",
      json: ["direction": isSent ? "sent" : "received", "pdu": Shown.hex(pdu), "text": text])
  }
}
