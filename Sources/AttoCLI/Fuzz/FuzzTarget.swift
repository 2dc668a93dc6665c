import Atto
import Files

/// A peer under attack: the link to it, and what has passed on that link.
final class FuzzTarget {
  private let connecting: Connecting
  private let loop: Loop
  /// For a response, and for the probe's.
  private let patience: Duration
  private var connection: RawConnection?
  /// What has passed since the link was opened, as the steps of a transcript.
  private(set) var steps: [Transcript.Step] = []
  /// Requests that had no response in time although the peer answered the probe after them.
  private(set) var unanswered = 0
  private(set) var links = 0
  /// Told before each PDU of an attack, with its place among all that have passed on the link.
  var willSend: (Int) -> Void = { _ in }

  /// Find Information of the first handle: every server must answer it, if with an error.
  /// Vol 3, Part F, 4.2 and table 4.1.
  static let probe: [UInt8] = [0x04, 0x01, 0x00, 0x01, 0x00]

  init(_ connecting: Connecting, _ patience: Duration, on loop: Loop) {
    self.connecting = connecting
    self.patience = patience
    self.loop = loop
  }

  /// Opens a link, if there is none, and forgets what has passed on the last.
  func open() async throws {
    guard connection == nil else { return }
    let note = ConnectingNote(connecting.endpoint, on: loop)
    defer { note.end() }
    connection = try await RawConnection.connect(
      to: connecting.endpoint, options: connecting.options, loop: loop)
    links += 1
    steps = []
  }

  func close() {
    connection?.close()
    connection = nil
  }

  /// Sends a PDU and waits for its response, if it asks for one and the peer gives it.
  func send(_ pdu: [UInt8], awaitsResponse: Bool = true) async throws(AttoError) {
    guard let connection else { return }
    willSend(steps.count + 1)
    steps.append(Transcript.Step(.client(pdu)))
    try await connection.send(pdu)
    guard awaitsResponse, let first = pdu.first, Opcode(first).kind == .request else { return }
    let isAnswered = try await receive { Opcode($0.first ?? 0).kind == .response }
    if !isAnswered { unanswered += 1 }
  }

  /// Whether the peer answers the probe in time.
  func answersProbe() async throws(AttoError) -> Bool {
    guard let connection else { return false }
    steps.append(Transcript.Step(.client(Self.probe)))
    try await connection.send(Self.probe)
    // Late responses of what came before are no answer.
    return try await receive {
      $0.starts(with: [0x05]) || $0.starts(with: [0x01, 0x04, 0x01, 0x00])
    }
  }

  /// Takes what comes until it is what was wanted; indications are confirmed meanwhile.
  private func receive(_ isWanted: ([UInt8]) -> Bool) async throws(AttoError) -> Bool {
    guard let connection else { return false }
    let end = ContinuousClock.now + patience
    while true {
      let left = ContinuousClock.now.duration(to: end)
      guard left > .zero, let pdu = try await connection.receive(within: left) else {
        return false
      }
      steps.append(Transcript.Step(.server(Transcript.Pattern(pdu))))
      if isWanted(pdu) { return true }
      if let first = pdu.first, Opcode(first).kind == .indication {
        steps.append(Transcript.Step(.client([0x1E])))
        try await connection.send([0x1E])
      }
    }
  }
}
