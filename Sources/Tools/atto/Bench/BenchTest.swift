import AttoLinkTiming

enum BenchTest: String, CaseIterable, Sendable {
  case read
  case write
  case writeCommand = "write-command"
  case notify
  case indicate
  case longRead = "long-read"
  case discover
  case ping

  /// The duration that the latency measures.
  var latency: String {
    switch self {
    case .read, .write, .ping: "round trip"
    case .longRead, .discover: "whole procedure"
    case .writeCommand: "until the link took it"
    case .notify, .indicate: "between two values"
    }
  }

  /// What the peer has to offer, for messages.
  var need: String {
    switch self {
    case .read: "a readable characteristic"
    case .longRead: "a readable characteristic, best with a long value"
    case .write: "a characteristic of bench.json, or --handle of one with the property write"
    case .writeCommand:
      "a characteristic of bench.json or of Nordic's throughput service, or --handle of one with the"
        + " property writeWithoutResponse"
    case .notify: "a characteristic that notifies by itself"
    case .indicate: "a characteristic that indicates by itself"
    case .discover, .ping: "nothing"
    }
  }

  var isWritten: Bool { self == .write || self == .writeCommand }

  var isFromPeer: Bool { self == .notify || self == .indicate }

  /// Whether each operation awaits an answer.
  var isRoundTrip: Bool { self != .notify && self != .writeCommand }

  /// Whether an operation takes as many requests as the peer makes it.
  var isProcedure: Bool { self == .longRead || self == .discover }

  /// The traffic whose timing is that of the test.
  var traffic: Throughput.Traffic {
    switch self {
    case .notify: .notify
    case .writeCommand: .writeCommand
    case .write, .indicate: .write
    case .read, .longRead, .discover, .ping: .read
    }
  }
}
