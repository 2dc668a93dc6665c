/// Why a script of a ``ScriptedPeer`` was not played to its end.
public enum ScriptError: Error, Hashable, Sendable, CustomStringConvertible {
  /// The text is no script; the message says where and what was expected.
  case invalid(String)
  /// The program under test did something else than the script's line.
  case deviation(line: Int, expected: String, found: String)
  /// The caller's task was cancelled.
  case cancelled

  /// A message such as `script:3: expected > 0a 03 00, found > 0a 04 00`.
  public var description: String {
    switch self {
    case .invalid(let message): message
    case .deviation(let line, let expected, let found):
      "script:\(line): expected \(expected), found \(found)"
    case .cancelled: "cancelled"
    }
  }
}
