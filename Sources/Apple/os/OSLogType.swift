/// The level of a line. The names and numbers are Apple's (OS_LOG_TYPE_...).
public struct OSLogType: RawRepresentable, Hashable, Sendable {
  public let rawValue: UInt8
  public init(rawValue: UInt8) { self.rawValue = rawValue }
  public init(_ rawValue: UInt8) { self.rawValue = rawValue }

  /// The default level, shown as `notice`.
  public static let `default` = OSLogType(0x00)
  /// Additional information.
  public static let info = OSLogType(0x01)
  /// Information for development; hidden unless `OS_LOG=debug` is set.
  public static let debug = OSLogType(0x02)
  /// An error.
  public static let error = OSLogType(0x10)
  /// A bug in the program.
  public static let fault = OSLogType(0x11)

  /// The levels and their names in a line, in their order, which is not that of Apple's numbers.
  private static let ranks: [(level: OSLogType, name: String)] = [
    (.debug, "debug"), (.info, "info"), (.default, "notice"), (.error, "error"), (.fault, "fault"),
  ]

  /// Unknown levels have the rank of the default level.
  var rank: Int { Self.ranks.firstIndex { $0.level == self } ?? 2 }
  var name: String { Self.ranks[rank].name }

  init?(name: String) {
    guard let found = Self.ranks.first(where: { $0.name == name }) else { return nil }
    self = found.level
  }
}
