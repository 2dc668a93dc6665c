/// What can be measured.
enum BenchTest: String, CaseIterable, Sendable {
  case read
  case write
  case writeCommand = "write-command"
  case notify
  case indicate
  case longRead = "long-read"
  case discover
  case ping

  /// What the latency of this test is the time of.
  var latency: String {
    switch self {
    case .read, .write, .ping: "round trip"
    case .longRead, .discover: "whole procedure"
    case .writeCommand: "until the link took it"
    case .notify, .indicate: "between two values"
    }
  }

  /// What a peer needs to have for it, in words.
  var need: String {
    switch self {
    case .read: "a characteristic that can be read"
    case .longRead: "a characteristic that can be read, best with a long value"
    case .write:
      "a characteristic with the property write, named by --handle unless it is a bench's"
    case .writeCommand:
      "a characteristic with the property writeWithoutResponse, named by --handle unless it is a"
        + " bench's"
    case .notify: "a characteristic that notifies by itself"
    case .indicate: "a characteristic that indicates by itself"
    case .discover, .ping: "nothing"
    }
  }

  /// Whether the values are sent from here.
  var isWritten: Bool { self == .write || self == .writeCommand }

  /// Whether the peer sends the values.
  var isFromPeer: Bool { self == .notify || self == .indicate }
}
