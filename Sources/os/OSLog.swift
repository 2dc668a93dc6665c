/// Where lines come from: a subsystem, as a reversed domain name, and a category in it.
public final class OSLog: Sendable {
  /// A category with a meaning of its own.
  public struct Category: Hashable, Sendable {
    public let rawValue: String
    public init(rawValue: String) { self.rawValue = rawValue }
    /// Where an app's points of interest go.
    public static let pointsOfInterest = Category(rawValue: "PointsOfInterest")
    /// Signposts that are recorded only when somebody asks.
    public static let dynamicTracing = Category(rawValue: "DynamicTracing")
    /// The same, with stack traces; here without.
    public static let dynamicStackTracing = Category(rawValue: "DynamicStackTracing")
  }

  let subsystem: String
  let category: String
  private let isOn: Bool

  private init(subsystem: String, category: String, isOn: Bool) {
    self.subsystem = subsystem
    self.category = category
    self.isOn = isOn
  }

  public convenience init(subsystem: String, category: String) {
    self.init(subsystem: subsystem, category: category, isOn: true)
  }

  public convenience init(subsystem: String, category: Category) {
    self.init(subsystem: subsystem, category: category.rawValue, isOn: true)
  }

  /// Lines that name no source.
  public static let `default` = OSLog(subsystem: "", category: "", isOn: true)
  /// What is logged here goes nowhere.
  public static let disabled = OSLog(subsystem: "", category: "", isOn: false)

  /// Whether such lines are written.
  public func isEnabled(type: OSLogType) -> Bool { isOn && LogLine.isWanted(type) }

  /// Whether signposts are written: where lines of level debug are.
  public var signpostsEnabled: Bool { isEnabled(type: .debug) }

  /// Writes a line, if it is wanted. The message is made only then.
  func write(_ type: OSLogType, _ message: () -> String) {
    guard isEnabled(type: type) else { return }
    LogLine.write(type, subsystem, category, message())
  }
}
