/// How much a line matters. The names and numbers are Apple's (OS_LOG_TYPE_...).
public struct OSLogType: RawRepresentable, Hashable, Sendable {
  public let rawValue: UInt8
  public init(rawValue: UInt8) { self.rawValue = rawValue }
  public init(_ rawValue: UInt8) { self.rawValue = rawValue }

  /// What is worth keeping; `notice`.
  public static let `default` = OSLogType(0x00)
  /// What may help.
  public static let info = OSLogType(0x01)
  /// What helps while something is being made; hidden unless `OS_LOG` says `debug`.
  public static let debug = OSLogType(0x02)
  /// Something went wrong.
  public static let error = OSLogType(0x10)
  /// Something went wrong that never should: a bug.
  public static let fault = OSLogType(0x11)

  /// In the order of what they matter; Apple's numbers are not.
  var rank: Int {
    switch self {
    case .debug: 0
    case .info: 1
    case .error: 3
    case .fault: 4
    default: 2
    }
  }

  /// As it stands in a line.
  var name: String {
    switch self {
    case .debug: "debug"
    case .info: "info"
    case .error: "error"
    case .fault: "fault"
    default: "notice"
    }
  }
}
