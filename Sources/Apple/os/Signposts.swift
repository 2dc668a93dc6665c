import Glibc

// Signposts are written as lines of level debug, with the duration of an interval.

/// The kind of a signpost.
public struct OSSignpostType: RawRepresentable, Hashable, Sendable {
  public let rawValue: UInt8
  public init(rawValue: UInt8) { self.rawValue = rawValue }
  public static let event = OSSignpostType(rawValue: 0)
  public static let begin = OSSignpostType(rawValue: 1)
  public static let end = OSSignpostType(rawValue: 2)

  fileprivate var word: String {
    switch self {
    case .begin: "begin"
    case .end: "end"
    default: "event"
    }
  }
}

/// Distinguishes intervals with the same name.
public struct OSSignpostID: Hashable, Sendable {
  public let rawValue: UInt64
  public init(_ value: UInt64) { rawValue = value }
  /// Creates an identifier that is unique in this process.
  public init(log: OSLog) { self = .random }
  public static let exclusive = OSSignpostID(0xEEEE_B0B5_B2B2_EEEE)
  public static let invalid = OSSignpostID(.max)
  public static let null = OSSignpostID(0)
  fileprivate static var random: OSSignpostID { OSSignpostID(.random(in: 1..<UInt64.max)) }
}

/// Marks the beginning or the end of an interval, or an event, with a message in printf format.
public func os_signpost(
  _ type: OSSignpostType, dso: UnsafeRawPointer = #dsohandle, log: OSLog, name: StaticString,
  signpostID: OSSignpostID = .exclusive, _ format: StaticString = "", _ arguments: Any?...
) {
  log.writeSignpost("\(type.word) \(name)") { FormattedText("\(format)", arguments).text }
}

extension OSLog {
  fileprivate func writeSignpost(_ event: @autoclosure () -> String, _ message: () -> String) {
    write(.debug) {
      let message = message()
      return message.isEmpty ? event() : "\(event()): \(message)"
    }
  }
}

/// The state of an interval that has begun.
public final class OSSignpostIntervalState: Sendable {
  fileprivate let began: UInt64
  fileprivate init() { began = OSSignposter.nanoseconds }
}

/// Marks intervals and events.
public struct OSSignposter: Sendable {
  private let log: OSLog

  public init() { log = .default }
  public init(subsystem: String, category: String) {
    log = OSLog(subsystem: subsystem, category: category)
  }
  public init(subsystem: String, category: OSLog.Category) {
    log = OSLog(subsystem: subsystem, category: category)
  }
  public init(logHandle: OSLog) { log = logHandle }
  public init(logger: Logger) { log = logger.log }

  /// A signposter that writes nothing.
  public static let disabled = OSSignposter(logHandle: .disabled)

  /// Whether signposts are written.
  public var isEnabled: Bool { log.signpostsEnabled }

  public func makeSignpostID() -> OSSignpostID { .random }

  public func beginInterval(
    _ name: StaticString, id: OSSignpostID = .exclusive,
    _ message: @autoclosure () -> OSLogMessage = ""
  ) -> OSSignpostIntervalState {
    log.writeSignpost("begin \(name)") { message().text }
    return OSSignpostIntervalState()
  }

  public func endInterval(
    _ name: StaticString, _ state: OSSignpostIntervalState,
    _ message: @autoclosure () -> OSLogMessage = ""
  ) {
    log.writeSignpost("end \(name) after \(Self.since(state)) ms") { message().text }
  }

  public func emitEvent(
    _ name: StaticString, id: OSSignpostID = .exclusive,
    _ message: @autoclosure () -> OSLogMessage = ""
  ) {
    log.writeSignpost("event \(name)") { message().text }
  }

  public func withIntervalSignpost<Result>(
    _ name: StaticString, id: OSSignpostID = .exclusive, around task: () throws -> Result
  ) rethrows -> Result {
    let state = beginInterval(name, id: id)
    defer { endInterval(name, state) }
    return try task()
  }

  fileprivate static var nanoseconds: UInt64 {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
  }

  private static func since(_ state: OSSignpostIntervalState) -> String {
    OSLogFloatFormatting.fixed(precision: 3).text(Double(nanoseconds - state.began) / 1e6)
  }
}
