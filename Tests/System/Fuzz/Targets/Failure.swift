import AttoATT
import Glibc
import Synchronization

/// The end of a run that has broken a rule.
enum Failure {
  private static let isTracing = Atomic(false)

  /// Whether each step is shown before it is taken: set to look at one input, where the last line
  /// before a trap is what led to it.
  static var traces: Bool {
    get { isTracing.load(ordering: .relaxed) }
    set { isTracing.store(newValue, ordering: .relaxed) }
  }

  /// Shows a step, if asked to.
  static func trace(_ line: @autoclosure () -> String) {
    if traces { say("| \(line())\n") }
  }

  /// Ends the process: libFuzzer keeps the input.
  static func broken(_ rule: String, _ what: String) -> Never {
    say("broken rule: \(rule)\n  \(what)\n")
    abort()
  }

  /// Writes on standard error, at once.
  private static func say(_ text: String) {
    let octets = Array(text.utf8)
    _ = write(2, octets, octets.count)
  }

  /// Ends the process if this does not hold.
  static func unless(
    _ holds: Bool, _ rule: @autoclosure () -> String, _ what: @autoclosure () -> String = ""
  ) {
    if !holds { broken(rule(), what()) }
  }
}

func hex(_ octets: some Sequence<UInt8>) -> String { Hex.text(octets, separator: " ") }
