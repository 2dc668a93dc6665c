import Atto
import Glibc
import Synchronization

/// `--max-time`: ends a command like an interruption does, whatever it waits for.
///
/// The loop's timer ends it. A thread beside the loop does so where the loop is blocked, and ends the
/// process if the command does not end then either.
package struct MaxTime: Sendable {
  private let limit: Duration?
  private let isGiven: Bool
  private let isNormalEnd: Bool
  private let description: CommandDescription
  /// What the command was doing when the time was over; nil before.
  private static let activity = Mutex<String?>(nil)
  /// How much later than the loop the other thread notices.
  private static let lag: Duration = .seconds(1)
  /// How long an interrupted command may take to end.
  private static let grace: Duration = .seconds(5)

  package init(_ arguments: Arguments, of description: CommandDescription) throws {
    let given = arguments[CommonOptions.maxTime]
    self.description = description
    isGiven = given != nil
    isNormalEnd = description.timeLimit.isOpen(arguments)
    limit = try given ?? description.timeLimit.limit(arguments)
  }

  /// Starts the timers. Returns that of the loop, which keeps the loop until it is cancelled.
  package func start(on loop: Loop) -> Task<Void, any Error>? {
    guard let limit else { return nil }
    let name = description.name
    let timer = loop.after(limit) {
      Task(executorPreference: loop.tasks) { Self.interrupt(await Activity.text) }
    }
    Task.detached {
      try await Task.sleep(for: limit + Self.lag)
      Self.interrupt("")
      try await Task.sleep(for: Self.grace)
      let message = "did not end within \(Self.grace) after \(Self.text(limit))"
      Terminal.note("atto \(name)", failed: ExitStatus(.timeout, message))
      _exit(Terminal.finish(3, of: "atto \(name)"))
    }
    return timer
  }

  private static func interrupt(_ text: String) {
    let isFirst = activity.withLock { known in
      defer { known = known ?? text }
      return known == nil
    }
    if isFirst { kill(getpid(), SIGTERM) }
  }

  /// What to report about a command that has ended after the time was over: the error, which is nil
  /// where this is a normal end. Otherwise the command's own error.
  package func end(_ error: (any Error)?) -> (any Error)? {
    guard let limit, let activity = Self.activity.withLock({ $0 }) else { return error }
    if error == nil, isNormalEnd {
      Terminal.note("atto \(description.name): ended after \(Self.text(limit))")
      return nil
    }
    guard error == nil || ExitStatus(error ?? CancellationError()).isInterruption else {
      return error
    }
    return OutOfTime(
      message: "stopped after \(Self.text(limit))" + (activity.isEmpty ? "" : ": \(activity)"),
      hint: isGiven ? nil : "this is the default limit: allow more with --max-time")
  }

  package static func text(_ limit: Duration) -> String {
    "\(Decimal.text(limit / .seconds(1), places: 1)) s (--max-time)"
  }
}

/// What the command is doing, for the message of ``MaxTime``.
package enum Activity {
  package typealias Text = @Sendable () async -> String?

  private static let current = Mutex<(step: Text?, wait: Text?)>((nil, nil))

  /// Notes the step of a command that has several.
  static func step(_ text: @escaping Text) { current.withLock { $0.step = text } }

  /// Notes what the command waits for; nil: nothing.
  package static func wait(_ text: Text?) { current.withLock { $0.wait = text } }

  static var text: String {
    get async {
      let (step, wait) = current.withLock { $0 }
      return [await step?(), await wait?()].compactMap(\.self).joined(separator: "; ")
    }
  }
}
