import Atto
import AttoCommandLine
import AttoFormats
import AttoLinks
import AttoPeers
import AttoRelay
import Synchronization

/// `atto capture --listen`: a relay between clients and a peer.
final class RelayCapture: Sendable {
  private let place: Endpoint
  private let group: UInt32?
  private let connecting: Connecting
  private let isOnce: Bool
  private let changes: PDUChanges?
  /// nil for Wireshark, which shows the file, and takes text on standard error for a failure.
  private let results: Results?
  private let file: CaptureFile?
  /// The connections in the file, by client.
  private let captured = Mutex<[Int: WrittenConnection]>([:])
  /// What is known for the text of PDUs, by client.
  private let exchanges = Mutex<[Int: ExchangeText]>([:])
  /// The notes about connections to the peer that take long, by client.
  private let notes = Mutex<[Int: WaitingNote]>([:])
  private let end = AsyncThrowingStream<Void, any Error>.makeStream()

  package convenience init(_ arguments: Arguments, place: String) throws {
    try self.init(
      arguments, place: place,
      file: arguments[CommonOptions.capture].map { try CaptureFile(path: $0) },
      results: Results(arguments))
  }

  /// - Parameter arguments: of `atto capture`.
  init(_ arguments: Arguments, place text: String, file: CaptureFile?, results: Results?) throws {
    place = try Endpoint(argument: text)
    group = try ListeningGroup.id(arguments, for: place)
    connecting = try Connecting(arguments, isMonitored: false)
    switch place {
    case connecting.endpoint:
      throw UsageError("--listen and the peer must be different endpoints")
    case .le:
      throw UsageError("\(EndpointError(text: text, .notForListening))")
    default: break
    }
    isOnce =
      arguments[CaptureCommand.once] || place.isDescriptor || connecting.endpoint.isDescriptor
    changes = try arguments[CaptureCommand.change].map { path throws(TranscriptError) in
      try PDUChanges(contentsOfFile: path)
    }
    self.results = results
    self.file = file
  }

  private func note(_ text: String) { if results != nil { Terminal.note(text) } }

  func run(on loop: Loop) async throws {
    let radio = try await connecting.radio(on: loop)
    // Releasing the radio would end its agent.
    defer { withExtendedLifetime(radio) {} }
    let agent = try ConsoleAgent(connecting.arguments, on: loop) { self.note($0.text) }
    let crowd = CrowdLog(loop) { text, _ in self.note(text) }
    var listening = ListenOptions()
    listening.setAgent(agent, at: place)
    listening.unixGroup = group
    let relay = try await RawRelay.listen(
      on: place, listening, to: connecting.endpoint, options: connecting.options, adapter: radio,
      changes: changes, loop: loop
    ) { self.happened($0, crowd, on: loop) }
    defer { relay.stop() }
    if let notice = relay.notice { Terminal.note("atto capture: warning: \(notice)") }
    connecting.noteUnchecked(connecting.options.security)
    file?.begin()
    note("listening on \(relay.endpoint), relaying to \(connecting.endpoint)")
    // Ends with the first client for --once, else when the task is cancelled.
    for try await _ in end.stream {}
  }

  private func happened(_ event: RelayEvent, _ crowd: CrowdLog, on loop: Loop) {
    switch event {
    case .connected(let client, let from):
      note("client \(client) connected: \(from)")
      guard results != nil else { return }
      notes.withLock {
        $0[client] = WaitingNote(connectingTo: connecting.endpoint, on: loop)
      }
    case .joined(let client, let addresses):
      endNote(client)
      captured.withLock { $0[client] = file?.open { ends($0, addresses) } }
    case .pdu(let client, let pdu):
      if let connection = captured.withLock({ $0[client] }) { file?.write(pdu, on: connection) }
      guard let results else { return }
      let isSent = pdu.direction == .sent
      let text = exchanges.withLock {
        $0[client, default: ExchangeText()].text(pdu.octets, isSent: isSent)
      }
      SeenPDU(
        time: TimeOfDay.microseconds(of: pdu.time), isSent: isSent, octets: pdu.octets, text: text
      ).print("client \(client)", json: ["client": client], to: results)
    case .changed(let client, let change):
      guard let results else { return }
      results.print(
        "client \(client)  ~ \(change.text) (line \(change.line))",
        json: [
          "client": client, "changed": change.text, "line": change.line,
          "passed": change.passed.map { Shown.hex($0) },
          "answer": change.answer.map { Shown.hex($0) },
        ])
    case .ended(let client, let end, let undelivered):
      endNote(client)
      exchanges.withLock { $0[client] = nil }
      if let connection = captured.withLock({ $0.removeValue(forKey: client) }) {
        file?.close(connection, isByPeer: end == .closed(by: .peer))
      }
      if results != nil || end.failure != nil {
        Terminal.note("client \(client) ended: \(end.text(undelivered))")
      }
      if isOnce {
        self.end.continuation.finish(throwing: end.failure)
      } else if let failure = end.failure {
        Terminal.note(hintsFor: failure)
      }
    case .refused(let error):
      guard crowd.showsFailure() else { return }
      Terminal.note("cannot accept a client: \(error)")
      Terminal.note(hintsFor: error)
    case .deaf(let error): end.continuation.finish(throwing: error)
    }
  }

  /// The ends of a connection in the file: the clients, for which the relay's endpoint stands, and the
  /// peer.
  private func ends(_ number: Int, _ addresses: LinkAddresses?) -> WrittenConnection {
    var ends = CaptureEnds(of: connecting.endpoint, isCentral: true).connection(number, addresses)
    ends.own = WrittenConnection.Address(for: "\(place)")
    return ends
  }

  private func endNote(_ client: Int) {
    notes.withLock { $0.removeValue(forKey: client) }?.end()
  }
}

extension Endpoint {
  fileprivate var isDescriptor: Bool { if case .descriptor = self { true } else { false } }
}

extension RelayEnd {
  /// The command's error if this was the only client; nil if it ended normally.
  fileprivate var failure: (any Error)? {
    switch self {
    case .closed, .stopped: nil
    case .lost(_, let error): AttoError.link(error)
    case .notPassed: Unreachable(message: text())
    case .unreachable(let error): error
    }
  }

  fileprivate func text(_ undelivered: Int = 0) -> String {
    let note =
      undelivered == 0
      ? "" : "; \(Shown.count(undelivered, "PDU")) shown here did not reach the other side"
    return switch self {
    case .closed(let side): "the \(side) closed its connection\(note)"
    case .lost(let side, let error): "the connection to the \(side) was lost: \(error)\(note)"
    case .notPassed(let side, let length, let error):
      "cannot relay a PDU of \(length) octets from the \(side), closed both connections: \(error)"
    case .unreachable(let error): "cannot connect to the peer: \(error)"
    case .stopped: "stopped"
    }
  }
}
