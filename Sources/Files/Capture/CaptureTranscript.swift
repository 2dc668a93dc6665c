import ATT

/// Makes a transcript of the PDUs of a capture, which can be played again.
///
/// # Theory
///
/// Both ends of a link may be clients of each other, and a transcript has one client. So each
/// connection makes up to two cases: one for what its host asked (or the central, at a sniffer),
/// one for what its peer did. Which of them a PDU belongs to its opcode says: requests, commands
/// and confirmations go from client to server, the others back (Vol 3, Part F, 3.3). An opcode of
/// no PDU counts as a request, or by its bit 6 as a command, and so does an empty PDU.
///
/// Limits: those of a transcript that is read, 100,000 lines, 4 MiB and 4096 octets in a PDU.
public struct CaptureTranscript: Sendable {
  /// Lines that a transcript has at most, the headings and the empty lines before them among them.
  static let lineLimit = TranscriptParser.lineLimit
  /// Octets of text.
  static let octetLimit = FileBytes.limit

  private struct Key: Hashable {
    var connection: CapturedConnection
    var isOfHost: Bool
  }

  private var places: [Key: Int] = [:]
  private var cases: [Transcript.Case] = []
  private var lines = 0
  private var octets = 0
  private let profile: String?

  /// One without cases.
  ///
  /// - Parameter profile: what the server of each case serves, if that is known.
  public init(profile: String? = nil) {
    self.profile = profile
    if let profile { (lines, octets) = (2, profile.utf8.count + 10) }
  }

  /// Adds a PDU, in the order of the capture.
  ///
  /// - Throws: if the transcript would be longer than one may be.
  public mutating func take(_ pdu: CapturedPDU) throws(CaptureFault) {
    func refuse(_ what: String) -> CaptureFault {
      CaptureFault(
        record: pdu.record, offset: pdu.offset, "\(what); choose fewer with --connection HANDLE")
    }
    guard pdu.octets.count <= TranscriptParser.octetLimit else {
      throw refuse(
        "a PDU of \(pdu.octets.count) octets fits no transcript, whose lines hold "
          + "\(TranscriptParser.octetLimit)")
    }
    let isFromClient = Self.isFromClient(pdu.octets)
    let key = Key(connection: pdu.connection, isOfHost: pdu.isSent == isFromClient)
    let place: Int
    if let found = places[key] {
      place = found
    } else {
      let who =
        pdu.connection.isOnAir
        ? key.isOfHost ? "central" : "peripheral" : key.isOfHost ? "host" : "peer"
      let test = Transcript.Case(
        name: "\(pdu.connection)/\(who)", title: "the \(who) is the client")
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
    // One line is the empty one at the end.
    guard lines < Self.lineLimit, octets <= Self.octetLimit else {
      throw refuse(
        "a transcript has at most \(Self.lineLimit) lines and \(Self.octetLimit) octets")
    }
    cases[place].steps.append(Transcript.Step(step))
  }

  /// What was made of them.
  public var transcript: Transcript { Transcript(profile: profile, cases: cases) }

  /// Names of cases that begin with what a server sent: played against a server, they need the name
  /// of its profile, since they ask nothing at first.
  public var casesBegunByServers: [String] {
    cases.filter { test in
      if case .server? = test.steps.first?.action { true } else { false }
    }.map(\.name)
  }

  /// Whether a client has sent this.
  public static func isFromClient(_ pdu: [UInt8]) -> Bool {
    guard let first = pdu.first else { return true }
    return switch Opcode(first).kind {
    case .request, .command, .confirmation: true
    case .response, .notification, .indication: false
    }
  }
}
