import ATT

/// One PDU that went over a link in a case.
public struct ExchangedPDU: Equatable, Sendable {
  /// Whether the peer under test sent it.
  public let isFromPeer: Bool
  /// The PDU, its opcode first.
  public let octets: [UInt8]

  /// One with these values; its properties say what each means.
  public init(isFromPeer: Bool, _ octets: [UInt8]) {
    self.isFromPeer = isFromPeer
    self.octets = octets
  }

  /// Decoded, in words.
  public var summary: String { PDU(octets.span.bytes).summary }
}

/// What a peer did that it should not have done, or did not do.
public struct Finding: Equatable, Sendable {
  /// The rule, as a sentence.
  public var rule: String
  /// Where the specification has it: `Vol 3, Part F, 3.4.1.1`; nil for a transcript's line.
  public var section: String?
  /// What happened, as a clause.
  public var happened: String
  /// The line of the transcript, from 1.
  public var line: Int?
  /// What would have been right, as a PDU or a pattern.
  public var expected: String?
  /// What came instead.
  public var got: [UInt8]?

  /// One with these values; its properties say what each means.
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

/// What has become of one case.
public struct CaseReport: Equatable, Sendable {
  /// How a case came out.
  public enum Outcome: Equatable, Sendable {
    /// The peer kept every rule of it.
    case passed
    /// A rule was broken.
    case broken(Finding)
    /// The case does not fit this peer, or was not wanted; and why.
    case skipped(String)
    /// The peer did nothing of what the case is about.
    case notExercised(String)
    /// The peer could not be reached any more.
    case unreachable(String)
  }

  /// The case, as ``NamePattern`` matches it.
  public let name: String
  /// What it tries.
  public let title: String
  /// How it came out.
  public var outcome: Outcome
  /// All PDUs, in order; at most `exchangeLimit` with `octetLimit` octets, the first.
  public var exchange: [ExchangedPDU]
  /// How long it took.
  public var duration: Duration

  /// PDUs of a case that are kept.
  public static let exchangeLimit = 10_000
  /// Octets of those in all.
  public static let octetLimit = 1 << 20

  /// One with these values; its properties say what each means.
  public init(
    name: String, title: String, outcome: Outcome, exchange: [ExchangedPDU] = [],
    duration: Duration = .zero
  ) {
    self.name = name
    self.title = title
    self.outcome = outcome
    self.exchange = exchange
    self.duration = duration
  }

  /// Whether the run has found something.
  public var isBroken: Bool {
    switch outcome {
    case .broken, .unreachable: true
    case .passed, .skipped, .notExercised: false
    }
  }

  /// One word: `passed`, `broken`, `skipped`, `not exercised`, `unreachable`.
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
