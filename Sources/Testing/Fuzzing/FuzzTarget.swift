import AttoATT
import AttoConformance
import AttoFormats

/// The server under attack: the current link and the PDUs on it.
final class FuzzTarget {
  private let peer: any TestPeer
  private let patience: Duration
  private var link: (any TestLink)?
  /// The PDUs since the link was opened, without those of the server beyond the limits.
  private(set) var steps: [Transcript.Step] = []
  /// The server's PDUs since the link was opened that are not in ``steps``.
  private(set) var omitted = 0
  private var received = 0
  private var receivedOctets = 0
  /// The requests without a response in time.
  private(set) var unanswered = 0
  /// The links on which a malformed request had no response, and no request after it.
  var silenced = 0
  private(set) var linkCount = 0
  /// Called before each PDU with its number on the link.
  var willSend: (Int) -> Void = { _ in }

  /// Find Information of handle 1.
  static let probe: [UInt8] = [0x04, 0x01, 0x00, 0x01, 0x00]

  init(_ peer: any TestPeer, _ patience: Duration) {
    self.peer = peer
    self.patience = patience
  }

  var isClosed: Bool { link == nil }

  /// Opens a link unless one is open.
  func open() async throws(PeerError) {
    guard link == nil else { return }
    link = try await peer.open()
    linkCount += 1
    steps = []
    (omitted, received, receivedOctets) = (0, 0, 0)
  }

  func close() async {
    await link?.close()
    link = nil
  }

  /// Sends a PDU and, if it is a request, waits for the response. Returns false if none came in time.
  @discardableResult
  func send(_ pdu: [UInt8], awaitsResponse: Bool = true) async throws(PeerError) -> Bool {
    guard let link else { return true }
    willSend(steps.count + 1)
    steps.append(Transcript.Step(.client(pdu)))
    try await link.send(pdu)
    guard awaitsResponse, let first = pdu.first, Opcode(first).kind == .request else { return true }
    let isAnswered = try await receive { Opcode($0.first ?? 0).kind == .response }
    if !isAnswered { unanswered += 1 }
    return isAnswered
  }

  /// Returns whether the server answers one of two probes. A server may lose the first one behind PDUs that it
  /// was still handling; it counts as a request without a response.
  func answersOneOfTwoProbes() async throws(PeerError) -> Bool {
    if try await answersProbe() { return true }
    guard try await answersProbe() else { return false }
    unanswered += 1
    return true
  }

  /// Sends the probe and returns whether the server answers in time.
  func answersProbe() async throws(PeerError) -> Bool {
    guard let link else { return false }
    steps.append(Transcript.Step(.client(Self.probe)))
    try await link.send(Self.probe)
    // Late responses to earlier requests do not count.
    return try await receive {
      $0.starts(with: [0x05]) || $0.starts(with: [0x01, 0x04, 0x01, 0x00])
    }
  }

  /// The most PDUs of the server on one link, and their octets, that are kept.
  static let receivedLimit = 4096
  static let octetLimit = 1 << 20

  /// Keeps a PDU of the server. Returns false if there are too many.
  private func keep(_ pdu: [UInt8]) -> Bool {
    guard received < Self.receivedLimit, receivedOctets + pdu.count <= Self.octetLimit else {
      omitted += 1
      return false
    }
    received += 1
    receivedOctets += pdu.count
    steps.append(Transcript.Step(.server(Transcript.Pattern(pdu))))
    return true
  }

  /// Receives until a PDU matches, and confirms indications. Returns false when the time is over.
  private func receive(_ isWanted: ([UInt8]) -> Bool) async throws(PeerError) -> Bool {
    guard let link else { return false }
    let end = link.elapsed + patience
    while true {
      let left = end - link.elapsed
      guard left > .zero, let pdu = try await link.receive(within: left) else { return false }
      let isKept = keep(pdu)
      if isWanted(pdu) { return true }
      if let first = pdu.first, Opcode(first).kind == .indication {
        if isKept { steps.append(Transcript.Step(.client([0x1E]))) }
        try await link.send([0x1E])
      }
    }
  }
}
