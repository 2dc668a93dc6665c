/// Writes log lines to standard error.
public struct Logger: Sendable {
  let log: OSLog

  /// Creates a logger without a source.
  public init() { log = .default }
  /// Creates a logger for a subsystem, as a reversed domain name, and a category in it.
  public init(subsystem: String, category: String) {
    log = OSLog(subsystem: subsystem, category: category)
  }
  /// Creates a logger for the source of an OSLog.
  public init(_ logObj: OSLog) { log = logObj }

  /// Writes a line of level notice.
  public func log(_ message: @autoclosure () -> OSLogMessage) {
    log.write(.default) { message().text }
  }
  /// Writes a line.
  public func log(level: OSLogType, _ message: @autoclosure () -> OSLogMessage) {
    log.write(level) { message().text }
  }
  /// Writes a line of level debug.
  public func trace(_ message: @autoclosure () -> OSLogMessage) {
    log.write(.debug) { message().text }
  }
  /// Writes a line of level debug.
  public func debug(_ message: @autoclosure () -> OSLogMessage) {
    log.write(.debug) { message().text }
  }
  /// Writes a line of level info.
  public func info(_ message: @autoclosure () -> OSLogMessage) {
    log.write(.info) { message().text }
  }
  /// Writes a line of level notice.
  public func notice(_ message: @autoclosure () -> OSLogMessage) {
    log.write(.default) { message().text }
  }
  /// Writes a line of level error.
  public func warning(_ message: @autoclosure () -> OSLogMessage) {
    log.write(.error) { message().text }
  }
  /// Writes a line of level error.
  public func error(_ message: @autoclosure () -> OSLogMessage) {
    log.write(.error) { message().text }
  }
  /// Writes a line of level fault.
  public func critical(_ message: @autoclosure () -> OSLogMessage) {
    log.write(.fault) { message().text }
  }
  /// Writes a line of level fault.
  public func fault(_ message: @autoclosure () -> OSLogMessage) {
    log.write(.fault) { message().text }
  }
}
