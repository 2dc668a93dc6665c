import AttoATT

/// A PDU of a case.
public struct ExchangedPDU: Equatable, Sendable {
  /// Whether the peer under test sent it.
  public let isFromPeer: Bool
  /// The PDU.
  public let octets: [UInt8]
  /// The number of its enhanced bearer; 0 for the unenhanced one.
  public let bearer: Int

  /// Creates a PDU.
  public init(isFromPeer: Bool, _ octets: [UInt8], bearer: Int = 0) {
    self.isFromPeer = isFromPeer
    self.octets = octets
    self.bearer = bearer
  }

  /// The decoded PDU as text.
  public var summary: String { PDU(octets.span.bytes).summary }
}

/// A violation of a rule by a peer.
public struct Finding: Equatable, Sendable {
  /// The rule, as a sentence.
  public var rule: String
  /// The rule's section in the specification, such as `Vol 3, Part F, 3.4.1.1`; nil for a transcript.
  public var section: String?
  /// The violation, as a clause.
  public var happened: String
  /// The line of the transcript, from 1.
  public var line: Int?
  /// The correct PDU or pattern.
  public var expected: String?
  /// The received PDU.
  public var got: [UInt8]?

  /// Creates a violation.
  public init(
    _ rule: String, section: String? = nil, _ happened: String, line: Int? = nil,
    expected: String? = nil, got: [UInt8]? = nil
  ) {
    self.rule = rule
    self.section = section
    self.happened = happened
    self.line = line
    self.expected = expected
    self.got = got
  }
}

/// The result of a case.
public struct CaseReport: Equatable, Sendable {
  /// The outcome of a case.
  public enum Outcome: Equatable, Sendable {
    /// The peer followed all rules.
    case passed
    /// The peer violated a rule.
    case broken(Finding)
    /// The case does not apply to this peer or was not selected, for this reason.
    case skipped(String)
    /// The peer did nothing that the case tests, for this reason.
    case notExercised(String)
    /// The peer could not be reached, for this reason.
    case unreachable(String)
  }

  /// The name of the case, as ``NamePattern`` matches it.
  public let name: String
  /// A short description of the case.
  public let title: String
  /// The outcome.
  public var outcome: Outcome
  /// The first PDUs of the case, at most `exchangeLimit` with `octetLimit` octets in all.
  public var exchange: [ExchangedPDU]
  /// The duration of the case.
  public var duration: Duration
  /// What the peer did that breaks no rule of the case, and that its author should know: the use of a
  /// reserved value, for example.
  public var notes: [Finding]

  /// The most PDUs in ``exchange``.
  public static let exchangeLimit = 10_000
  /// The most octets in ``exchange``.
  public static let octetLimit = 1 << 20

  /// Creates a report.
  public init(
    name: String, title: String, outcome: Outcome, exchange: [ExchangedPDU] = [],
    duration: Duration = .zero, notes: [Finding] = []
  ) {
    self.name = name
    self.title = title
    self.outcome = outcome
    self.exchange = exchange
    self.duration = duration
    self.notes = notes
  }

  /// Whether the peer failed the case.
  public var isBroken: Bool {
    switch outcome {
    case .broken, .unreachable: true
    case .passed, .skipped, .notExercised: false
    }
  }

  /// The outcome as text: `passed`, `broken`, `skipped`, `not exercised`, `unreachable`.
  public var word: String {
    switch outcome {
    case .passed: "passed"
    case .broken: "broken"
    case .skipped: "skipped"
    case .notExercised: "not exercised"
    case .unreachable: "unreachable"
    }
  }
}

extension Finding {
  /// The finding as text, line by line.
  public var lines: [String] {
    var lines = [(line.map { "line \($0): " } ?? "") + happened]
    lines.append("rule: \(rule)" + (section.map { " (\($0))" } ?? ""))
    if let expected { lines.append("expected: \(expected)") }
    if let got { lines.append("got:      \(EncodedText.hex(got))") }
    return lines
  }
}

/// Octets as text.
public enum EncodedText {
  /// Lowercase pairs, parted by spaces; `(empty)` for none.
  public static func hex(_ octets: [UInt8]) -> String {
    octets.isEmpty ? "(empty)" : Hex.text(octets, separator: " ")
  }
}
