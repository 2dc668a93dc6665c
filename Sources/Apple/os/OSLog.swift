/// The source of log lines: a subsystem, as a reversed domain name, and a category in it.
public final class OSLog: Sendable {
  /// A predefined category.
  public struct Category: Hashable, Sendable {
    public let rawValue: String
    public init(rawValue: String) { self.rawValue = rawValue }
    /// For an app's points of interest.
    public static let pointsOfInterest = Category(rawValue: "PointsOfInterest")
    /// For signposts that are recorded only on request.
    public static let dynamicTracing = Category(rawValue: "DynamicTracing")
    /// As ``dynamicTracing``. Apple's records stack traces too; this module does not.
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

  /// For lines without a source.
  public static let `default` = OSLog(subsystem: "", category: "", isOn: true)
  /// Writes nothing.
  public static let disabled = OSLog(subsystem: "", category: "", isOn: false)

  /// Whether lines of this level are written.
  public func isEnabled(type: OSLogType) -> Bool { isOn && type.rank >= LogLine.lowest }

  /// Whether signposts are written, as lines of level debug.
  public var signpostsEnabled: Bool { isEnabled(type: .debug) }

  /// Writes a line if its level is enabled. `message` is called only then.
  func write(_ type: OSLogType, _ message: () -> String) {
    guard isEnabled(type: type) else { return }
    LogLine.put(LogLine.text(type, subsystem, category, message(), at: LogLine.now()))
  }
}
