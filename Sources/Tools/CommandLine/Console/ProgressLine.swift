import Atto
import AttoEventLoop
import CAttoLinux
import Glibc

/// A line of progress on standard error, updated in place and removed at the end.
///
/// It appears only on a terminal, without `--json` and `--quiet`, and after a quarter of a second. It
/// changes at most ten times a second, and is cut at the terminal's width because a wrapped line
/// cannot be updated. Output of ``Terminal`` replaces it.
///
/// Used on the loop's thread only.
package final class ProgressLine {
  /// Nanoseconds before the first update, and between two updates.
  private static let delay: Int64 = 250_000_000
  private static let interval: Int64 = 100_000_000

  package let isShown: Bool
  private let begin: Int64
  private var next: Int64 = 0
  /// The current step of a command that has several.
  private var step = ""

  /// - Parameter isBesideResults: whether results are printed meanwhile. Where they go to the terminal
  ///   too, they show the progress.
  package convenience init(_ arguments: Arguments, isBesideResults: Bool = false) {
    self.init(
      isShown: Self.isShown(arguments) && !(isBesideResults && Terminal.isOutputTerminal))
  }

  package init(isShown: Bool) {
    self.isShown = isShown
    begin = clinux_monotonic() + Self.delay
  }

  package static func isShown(_ arguments: Arguments) -> Bool {
    let isSilent = arguments[CommonOptions.json] || arguments[CommonOptions.quiet]
    return !isSilent && isatty(STDERR_FILENO) == 1
  }

  /// Whether progress is shown while standard input and output are copied: not if one is the terminal.
  package static var isShownBesideCopies: Bool {
    isatty(STDERR_FILENO) == 1 && isatty(STDIN_FILENO) == 0 && !Terminal.isOutputTerminal
  }

  deinit { clear() }

  /// Shows a text, unless another was shown just before.
  package func show(_ text: @autoclosure () -> String) {
    guard isShown else { return }
    let now = clinux_monotonic()
    guard now >= begin, now >= next || !Terminal.showsProgress else { return }
    next = now + Self.interval
    Terminal.progress(String(text().prefix(Self.columns - 1)))
  }

  /// Shows the number of steps done and the current step, which is also the command's activity.
  package func show(_ done: Int, of all: Int, _ step: @autoclosure () -> String) {
    let step = step()
    Activity.step { "\(done) of \(all) done, in \(step)" }
    guard isShown else { return }
    self.step = "\(done)/\(all) (\(done * 100 / max(1, all)) %)  \(step)"
    show(self.step)
  }

  /// Shows how much of an input is read.
  package func show(_ input: InputFile) {
    let (position, length) = (input.position, input.length ?? 0)
    show(
      length > 0
        ? "\(Shown.megabytes(position)) of \(Shown.megabytes(length))"
          + " (\(Int(100 * Double(position) / Double(length))) %)"
        : Shown.megabytes(position))
  }

  /// Shows a text until the task is cancelled, for work that does not say how far it is, or the current
  /// step, which may take long. nil if nothing is shown.
  package func keep(
    on loop: Loop, _ text: (@Sendable () -> String)? = nil
  ) -> Task<Void, any Error>? {
    guard isShown else { return nil }
    let line = LoopBound(self, loop)
    return Task(executorPreference: loop.tasks) {
      while true {
        try await loop.sleep(for: .milliseconds(250))
        let now = text?() ?? line.value.step
        if !now.isEmpty { line.value.show(now) }
      }
    }
  }

  package func clear() { Terminal.clearProgress() }

  /// The terminal's width; 80 if it is unknown.
  private static var columns: Int {
    var size = winsize()
    let isKnown = ioctl(STDERR_FILENO, UInt(TIOCGWINSZ), &size) == 0 && size.ws_col > 1
    return isKnown ? Int(size.ws_col) : 80
  }
}
