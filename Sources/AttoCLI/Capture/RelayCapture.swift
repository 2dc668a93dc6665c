import Atto
import Synchronization

/// `atto capture --listen`: what goes between clients and a peer.
struct RelayCapture {
  private let place: Endpoint
  private let connecting: Connecting
  private let pairing: PairingOptions
  private let isOnce: Bool
  private let report: RelayReport

  init(_ arguments: Arguments, place text: String) throws {
    do throws(EndpointError) {
      place = try Endpoint(text == "air" || text == "le" ? text + ":" : text)
    } catch {
      throw UsageError(error.description)
    }
    guard let other = arguments.words.first else {
      throw UsageError(
        "the peer's endpoint is missing: atto capture --listen \(text) ENDPOINT")
    }
    if arguments.value("security") == "auto" {
      throw UsageError(
        "--security auto repeats requests, and capture sends nothing of its own: name the level")
    }
    connecting = try Connecting(arguments, looksOn: false)
    try arguments.allow(words: 1)
    switch place {
    case connecting.endpoint:
      throw UsageError(
        "\(other) would be passed to itself: clients come to one place, the peer is another")
    case .le:
      throw UsageError("\(EndpointError(text: text, .notForListening))")
    default: break
    }
    pairing = try PairingOptions(arguments)
    isOnce = arguments.has("once") || place.isDescriptor || connecting.endpoint.isDescriptor
    let path = arguments.value("capture")
    report = RelayReport(
      peer: connecting.endpoint, isJSON: arguments.has("json"),
      file: try path.map { try CaptureFile(path: $0) })
  }

  func run(on loop: Loop) async throws {
    let radio = try await connecting.pairingRadio(on: loop)
    // Its agent answers for as long as it lives.
    defer { withExtendedLifetime(radio) {} }
    let agent = ConsoleAgent(options: pairing, loop: loop) { Terminal.note($0.text) }
    let ends = AsyncThrowingStream<Void, any Error>.makeStream()
    let (report, isOnce) = (report, isOnce)
    let relay = try await RawRelay.listen(
      on: place, to: connecting.endpoint, options: connecting.options,
      agent: place.isAir && !pairing.isStated ? nil : agent, adapter: radio, loop: loop
    ) { event in
      report.happened(event, on: loop)
      switch event {
      case .ended(_, let end) where isOnce: ends.continuation.finish(throwing: end.failure)
      case .deaf(let error): ends.continuation.finish(throwing: error)
      default: break
      }
    }
    defer { relay.stop() }
    if let notice = relay.notice { Terminal.note("atto capture: \(notice)") }
    report.begin(at: relay.endpoint)
    // Ends with the first client if that was wished, else when the task is cancelled.
    for try await _ in ends.stream {}
  }
}

extension Endpoint {
  fileprivate var isDescriptor: Bool { if case .descriptor = self { true } else { false } }
}

/// Why a client's dialogue could not be looked at to its end.
private struct RelayFailure: Error, CustomStringConvertible {
  let description: String
}

extension RelayEnd {
  /// What the command fails with where this was its only client; nil if it was in order.
  fileprivate var failure: (any Error)? {
    switch self {
    case .closed, .stopped: nil
    case .lost(_, let error, _): AttoError.link(error)
    case .notPassed: RelayFailure(description: "\(text)")
    case .unreachable(let error): error
    }
  }

  /// What a person reads.
  fileprivate var text: String {
    switch self {
    case .closed(let side, let undelivered): "the \(side) closed its link" + note(undelivered)
    case .lost(let side, let error, let undelivered):
      "the link of the \(side) was lost: \(error)" + note(undelivered)
    case .notPassed(let side, let length, let error):
      "a PDU of \(length) octets from the \(side) was not passed on, and both links are closed: "
        + error.description
    case .unreachable(let error): "there is no link to the peer: \(error)"
    case .stopped: "ended here"
    }
  }

  private func note(_ undelivered: Int) -> String {
    undelivered == 0
      ? "" : "; \(Shown.count(undelivered, "PDU")) shown here did not reach the other end"
  }
}

/// Shows what happens at a relay, and keeps its PDUs.
private final class RelayReport: Sendable {
  private let peer: Endpoint
  private let isJSON: Bool
  private let file: CaptureFile?
  /// What is said of links to the peer that do not come about, by client.
  private let notes = Mutex<[Int: ConnectingNote]>([:])

  init(peer: Endpoint, isJSON: Bool, file: CaptureFile?) {
    self.peer = peer
    self.isJSON = isJSON
    self.file = file
  }

  private struct Line: Encodable {
    let client: Int
    let direction: String
    let pdu: String
    let text: String
    let time: Double
  }

  func begin(at place: String) {
    file?.begin()
    Terminal.note("listening on \(place), for \(peer)")
  }

  func happened(_ event: RelayEvent, on loop: Loop) {
    switch event {
    case .connected(let client, let from):
      Terminal.note("client \(client) connected: \(from)")
      notes.withLock { $0[client] = ConnectingNote(peer, on: loop) }
    case .joined(let client): endNote(client)
    case .pdu(let client, let pdu): show(pdu, client)
    case .ended(let client, let end):
      endNote(client)
      Terminal.note("client \(client) ended: \(end.text)")
    case .refused(let error): Terminal.note("a client was not taken: \(error)")
    case .deaf: break
    }
  }

  private func endNote(_ client: Int) {
    notes.withLock { $0.removeValue(forKey: client) }?.end()
  }

  private func show(_ pdu: MonitoredPDU, _ client: Int) {
    file?.take(pdu, link: client - 1)
    let seen = SeenPDU(
      time: TimeOfDay.microseconds(of: pdu.time), isSent: pdu.direction == .sent,
      octets: pdu.octets)
    guard isJSON else { return Terminal.print(seen.text("client \(client)")) }
    // An encoder of strings and numbers does not fail.
    try? Terminal.print(
      json: Line(
        client: client, direction: seen.direction, pdu: Shown.hex(pdu.octets), text: seen.summary,
        time: seen.seconds))
  }
}
