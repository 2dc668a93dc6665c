import AttoLinkTiming

package enum BenchTest: String, CaseIterable, Sendable {
  case read
  case write
  case writeCommand = "write-command"
  case notify
  case indicate
  case longRead = "long-read"
  case discover
  case ping
  /// The scenarios of ``ScenarioPlan``.
  case send
  case receive
  case exchange = "ping packets"
  case pong

  /// Those of `--test`.
  static let selectable: [BenchTest] = [
    .read, .write, .writeCommand, .notify, .indicate, .longRead, .discover, .ping,
  ]

  /// In results. A scenario's carrier tells it from a test of the same name.
  var name: String { self == .exchange ? "ping" : rawValue }

  /// The duration that the latency measures.
  var latency: String {
    switch self {
    case .read, .write, .ping, .exchange: "round trip"
    case .longRead, .discover: "whole procedure"
    case .writeCommand, .send: "until the link took it"
    case .notify, .indicate, .receive, .pong: "between two values"
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
    case .discover, .ping, .send, .receive, .exchange, .pong: "nothing"
    }
  }

  /// Whether this end sends values.
  var isWritten: Bool { [.write, .writeCommand, .send, .exchange].contains(self) }

  var isFromPeer: Bool { [.notify, .indicate, .receive, .pong].contains(self) }

  /// Whether each operation awaits an answer.
  var isRoundTrip: Bool {
    ![.notify, .writeCommand, .send, .receive, .pong].contains(self)
  }

  /// Whether an operation takes as many requests as the peer makes it.
  var isProcedure: Bool { self == .longRead || self == .discover }

  /// The traffic whose timing is that of the test.
  var traffic: Throughput.Traffic {
    switch self {
    case .notify, .receive, .pong: .notify
    case .writeCommand, .send: .writeCommand
    case .write, .indicate, .exchange: .write
    case .read, .longRead, .discover, .ping: .read
    }
  }
}
