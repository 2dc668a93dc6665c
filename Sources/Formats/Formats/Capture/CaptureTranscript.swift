import AttoATT
import AttoText

/// Builds a transcript from the PDUs of a capture, so that they can be played again.
///
/// # Theory
///
/// Both ends of a link may be clients, but a case of a transcript has one client. Each connection
/// therefore becomes up to two cases: one with the host (or the sniffed central) as the client and
/// one with its peer. The opcode decides which case a PDU belongs to: requests, commands and
/// confirmations go from client to server, all others back (Vol 3, Part F, 3.3). An unknown opcode
/// counts as a command if its bit 6 is set, else as a request, and so does an empty PDU.
///
/// An enhanced bearer is opened in a case before its first PDU there, and numbered from 1 on. So its
/// number may differ from that in the capture.
///
/// Limits: those of reading a transcript, which are 100,000 lines, 4 MiB and 4096 octets in a PDU.
public struct CaptureTranscript: Sendable {
  static let lineLimit = TranscriptParser.lineLimit
  /// The longest text, in bytes.
  static let octetLimit = FileBytes.limit

  private struct Key: Hashable {
    var connection: CapturedConnection
    var isOfHost: Bool
  }

  /// ATT_MTU of an enhanced bearer for which the capture shows none.
  static let assumedMTU = 517

  private var places: [Key: Int] = [:]
  /// The numbers of enhanced bearers in the cases, by their numbers in the capture.
  private var bearers: [Key: [Int: Int]] = [:]
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
    let key = Key(connection: pdu.connection, isOfHost: pdu.isSent == isFromClient)
    let place: Int
    if let found = places[key] {
      place = found
    } else {
      let client =
        pdu.connection.isOnAir
        ? key.isOfHost ? "central" : "peripheral" : key.isOfHost ? "host" : "peer"
      let test = Transcript.Case(
        name: "\(pdu.connection)/\(client)", title: "the \(client) is the client")
      place = cases.count
      places[key] = place
      cases.append(test)
      lines += 2
      octets += test.description.utf8.count + 1
    }
    var steps: [Transcript.Step] = []
    var bearer = 0
    if pdu.bearer > 0 {
      var numbers = bearers[key] ?? [:]
      bearer = numbers[pdu.bearer] ?? numbers.count + 1
      if numbers.updateValue(bearer, forKey: pdu.bearer) == nil {
        guard bearer <= TranscriptBearers.limit else {
          throw fault("the connection has more than \(TranscriptBearers.limit) enhanced bearers")
        }
        bearers[key] = numbers
        let mtu = max(pdu.mtu ?? Self.assumedMTU, Transcript.smallestBearerMTU)
        let opening = Transcript.Step(.bearers(count: 1, mtu: mtu))
        steps.append(opening)
        octets += opening.description.utf8.count + 1
      }
      octets += "\(bearer)".utf8.count
    }
    steps.append(
      Transcript.Step(
        isFromClient ? .client(pdu.octets) : .server(Transcript.Pattern(pdu.octets)), bearer: bearer
      ))
    lines += steps.count
    octets += 2 + 3 * pdu.octets.count
    // The text ends with an empty line, which counts.
    guard lines < Self.lineLimit, octets <= Self.octetLimit else {
      throw fault(
        "the transcript is over the limit of \(Self.lineLimit) lines and \(Self.octetLimit) octets")
    }
    cases[place].steps += steps
  }

  /// The transcript of all PDUs so far.
  public var transcript: Transcript { Transcript(profile: profile, cases: cases) }

  /// The names of cases that start with a PDU of the server. To play one against a server, the
  /// transcript must name its profile.
  public var casesBegunByServers: [String] {
    cases.filter { test in
      for step in test.steps {
        switch step.action {
        case .client: return false
        case .server: return true
        default: continue
        }
      }
      return false
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
