// Arguments may have any type. Apple's require CVarArg, which objects and, without Foundation, strings
// do not conform to on Linux.

/// Writes a line in printf format. Values can be marked, as in `%{public}@` and `%{private}s`; see
/// ``OSLogPrivacy``.
public func os_log(
  _ message: StaticString, dso: UnsafeRawPointer? = #dsohandle, log: OSLog = .default,
  type: OSLogType = .default, _ args: Any?...
) {
  log.write(type) { FormattedText("\(message)", args).text }
}

/// Writes a line in printf format.
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
