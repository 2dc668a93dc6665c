import AttoATT

/// Builds a transcript from the PDUs of a capture, so that they can be played again.
///
/// # Theory
///
/// Both ends of a link may be clients, but a case of a transcript has one client. Each connection
/// therefore becomes up to two cases: one with the host (or the sniffed central) as the client and
/// one with its peer, and so does each enhanced bearer. The opcode decides which case a PDU belongs to: requests, commands and
/// confirmations go from client to server, all others back (Vol 3, Part F, 3.3). An unknown opcode
/// counts as a command if its bit 6 is set, else as a request, and so does an empty PDU.
///
/// Limits: those of reading a transcript, which are 100,000 lines, 4 MiB and 4096 octets in a PDU.
public struct CaptureTranscript: Sendable {
  static let lineLimit = TranscriptParser.lineLimit
  /// The longest text, in bytes.
  static let octetLimit = FileBytes.limit

  private struct Key: Hashable {
    var connection: CapturedConnection
    var bearer: Int
    var isOfHost: Bool
  }

  private var places: [Key: Int] = [:]
  private var cases: [Transcript.Case] = []
  private var lines = 0
  private var octets = 0
  private let profile: String?

  /// Creates an empty transcript.
  ///
  /// - Parameter profile: the profile that the server of each case serves, if known.
  public init(profile: String? = nil) {
    self.profile = profile
    if let profile { (lines, octets) = (2, profile.utf8.count + 10) }
  }

  /// Adds the next PDU of the capture.
  ///
  /// - Throws: ``CaptureFault`` if the transcript would exceed its limits.
  public mutating func append(_ pdu: CapturedPDU) throws(CaptureFault) {
    func fault(_ reason: String) -> CaptureFault {
      CaptureFault(record: pdu.record, offset: pdu.offset, reason: reason)
    }
    guard pdu.octets.count <= TranscriptParser.octetLimit else {
      throw fault(
        "a PDU of \(pdu.octets.count) octets is too long for a transcript (the limit is "
          + "\(TranscriptParser.octetLimit))")
    }
    let isFromClient = Self.isFromClient(pdu.octets)
    let key = Key(
      connection: pdu.connection, bearer: pdu.bearer, isOfHost: pdu.isSent == isFromClient)
    let place: Int
    if let found = places[key] {
      place = found
    } else {
      let client =
        pdu.connection.isOnAir
        ? key.isOfHost ? "central" : "peripheral" : key.isOfHost ? "host" : "peer"
      let bearer = pdu.bearer > 0 ? "/bearer\(pdu.bearer)" : ""
      let test = Transcript.Case(
        name: "\(pdu.connection)/\(client)\(bearer)", title: "the \(client) is the client")
      place = cases.count
      places[key] = place
      cases.append(test)
      lines += 2
      octets += test.description.utf8.count + 1
    }
    let step: Transcript.Action =
      isFromClient ? .client(pdu.octets) : .server(Transcript.Pattern(pdu.octets))
    lines += 1
    octets += 2 + 3 * pdu.octets.count
    // The text ends with an empty line, which counts.
    guard lines < Self.lineLimit, octets <= Self.octetLimit else {
      throw fault(
        "the transcript is over the limit of \(Self.lineLimit) lines and \(Self.octetLimit) octets")
    }
    cases[place].steps.append(Transcript.Step(step))
  }

  /// The transcript of all PDUs so far.
  public var transcript: Transcript { Transcript(profile: profile, cases: cases) }

  /// The names of cases that start with a PDU of the server. To play one against a server, the
  /// transcript must name its profile.
  public var casesBegunByServers: [String] {
    cases.filter { test in
      if case .server? = test.steps.first?.action { true } else { false }
    }.map(\.name)
  }

  /// Whether a client sends this PDU, by its opcode.
  public static func isFromClient(_ pdu: [UInt8]) -> Bool {
    guard let first = pdu.first else { return true }
    return switch Opcode(first).kind {
    case .request, .command, .confirmation: true
    case .response, .notification, .indication: false
    }
  }
}
