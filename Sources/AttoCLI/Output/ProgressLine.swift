import CLinux
import Glibc

/// One line on a terminal's standard error that long work renews, and that is gone when it ends.
///
/// Nothing is shown where standard error is no terminal, with `--json` or with `--quiet`, nor for
/// work that ends within a quarter of a second. Renewed ten times a second at most, however often
/// it is told something; cut at the terminal's width, since a line that wraps cannot be renewed.
/// What ``Terminal`` prints takes its place, so that no result stands behind half a line; after
/// that the next text is shown at once.
///
/// The loop's thread only.
final class ProgressLine {
  /// Nanoseconds of work before the first line, and between two lines.
  private static let patience: Int64 = 250_000_000
  private static let interval: Int64 = 100_000_000

  let isShown: Bool
  private let begin: Int64
  private var next: Int64 = 0

  /// - Parameter arguments: those of the command, with `--json` and `--quiet`.
  convenience init(_ arguments: Arguments) {
    self.init(isWanted: !arguments.has("json") && !arguments.has("quiet"))
  }

  init(isWanted: Bool = true) {
    isShown = isWanted && isatty(STDERR_FILENO) == 1
    begin = clinux_monotonic() + Self.patience
  }

  deinit { clear() }

  /// Shows a text, unless one was shown just now.
  func show(_ text: @autoclosure () -> String) {
    guard isShown else { return }
    let now = clinux_monotonic()
    guard now >= begin, now >= next || !Terminal.showsProgress else { return }
    next = now + Self.interval
    Terminal.progress(String(text().prefix(Self.columns - 1)))
  }

  /// Shows how much of so much is done, and what it is at.
  func show(_ done: Int, of all: Int, _ what: @autoclosure () -> String) {
    show("\(done)/\(all) (\(done * 100 / max(1, all)) %)  \(what())")
  }

  func clear() { Terminal.clearProgress() }

  /// The terminal's width; 80 if it does not say.
  private static var columns: Int {
    var size = winsize()
    let isKnown = ioctl(STDERR_FILENO, UInt(TIOCGWINSZ), &size) == 0 && size.ws_col > 1
    return isKnown ? Int(size.ws_col) : 80
  }
}

extension OptionSpec {
  static let quiet = OptionSpec("quiet", nil, "no progress on a terminal")
}
