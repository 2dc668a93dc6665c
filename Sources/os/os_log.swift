// The values may be anything. Apple's must be CVarArg, as every object is there: on Linux objects
// and, without Foundation, texts are not.

/// Writes a line whose text is in the way of printf. Values are marked as `%{public}@`,
/// `%{private}s` and so on; what is not marked is shown, see ``OSLogPrivacy``.
public func os_log(
  _ message: StaticString, dso: UnsafeRawPointer? = #dsohandle, log: OSLog = .default,
  type: OSLogType = .default, _ args: Any?...
) {
  log.write(type) { FormattedText("\(message)", args).text }
}

/// Writes a line whose text is in the way of printf.
public func os_log(
  _ type: OSLogType, dso: UnsafeRawPointer? = #dsohandle, log: OSLog = .default,
  _ message: StaticString, _ args: Any?...
) {
  log.write(type) { FormattedText("\(message)", args).text }
}

/// Writes a line of level notice.
@_disfavoredOverload
public func os_log(_ message: @autoclosure () -> OSLogMessage) {
  OSLog.default.write(.default) { message().text }
}

/// Writes a line.
@_disfavoredOverload
public func os_log(
  _ type: OSLogType, log: OSLog = .default, _ message: @autoclosure () -> OSLogMessage
) {
  log.write(type) { message().text }
}
