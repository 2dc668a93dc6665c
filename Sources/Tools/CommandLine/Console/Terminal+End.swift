import CAttoLinux
import CLineEditor
import Glibc
import Synchronization

/// Failures, and the end of the command.
extension Terminal {
  /// Whether failures are printed as JSON.
  private static let isJSON = Atomic<Bool>(false)
  /// What failed. As JSON it is printed at the end, when the exit status is known.
  private static let failures = Mutex<[(command: String, status: ExitStatus)]>([])

  /// How long an interrupted command still waits for readers, in nanoseconds.
  static let grace: Int64 = 1_000_000_000
  /// The same for the reader of standard error, which is told what is lost.
  private static let lastGrace: Int64 = 500_000_000

  /// Sets whether a failure is printed as one JSON object, the last line on standard error.
  package static func setJSON(_ new: Bool) { isJSON.store(new, ordering: .relaxed) }

  /// Prints on standard error why a command failed.
  package static func note(_ command: String, failed status: ExitStatus, usage: String? = nil) {
    failures.withLock { $0.append((command, status)) }
    guard !isJSON.load(ordering: .relaxed) else { return }
    put(["\(command): \(status.message)"], as: .failure, on: errors, mayDrop: false)
    put(status.hints.map { "hint: \($0)" }, as: .note, on: errors, mayDrop: false)
    if let usage { put(lines(of: usage), as: .note, on: errors, mayDrop: false) }
  }

  /// Prints on standard error why a part of the work failed, with which the command goes on.
  package static func note(_ part: String, refused status: ExitStatus) {
    guard isJSON.load(ordering: .relaxed), let line = try? encoded(status.json) else {
      return note("\(part): \(status.message)")
    }
    note(line)
  }

  /// Prints the failure that the exit status stands for as JSON, after the messages of others.
  private static func noteFailures(of status: Int32) {
    guard isJSON.load(ordering: .relaxed), status != 0 else { return }
    var failures = failures.withLock { $0 }
    let index = failures.lastIndex { $0.status.code == status }
    let main = index.map { failures.remove(at: $0).status } ?? ExitStatus(CancellationError())
    for other in failures { note("\(other.command): \(other.status.message)") }
    guard let line = try? encoded(main.json) else { return }
    put([line], as: .result, on: errors, mayDrop: false)
  }

  /// The error of the first failed write to standard output; nil if none failed.
  package static var outputFailure: Int32? { output.failure }

  /// Reports that a file could not be written completely: exit status 2.
  package static func failed(_ message: String) {
    note("atto", failed: ExitStatus(.file, message))
  }

  static func outputFailed(_ errno: Int32) {
    if errno == EPIPE, currentDelivery == .log {
      return note(
        "warning: nobody reads standard output any more: events are not printed from now on")
    }
    // The command ends as if interrupted.
    if interruption.load(ordering: .relaxed) >= 0 { kill(getpid(), SIGTERM) }
  }

  /// Waits until everything is written: as long as the readers take, but if the command is interrupted
  /// only for ``grace``. Reports what is lost. Returns the exit status.
  ///
  /// - Parameter command: the name in messages.
  package static func finish(_ status: Int32, of command: String) -> Int32 {
    clineeditor_restore()
    clearProgress()
    var end = isInterrupted.load(ordering: .relaxed) ? clinux_monotonic() + grace : nil
    let wasInterrupted = end != nil
    let queues = OutputQueue.all.filter { $0 !== errors || errors === output }
    drain(queues, &end)
    var isCut = false
    for queue in queues where queue.giveUp() { isCut = isCut || queue === output }
    var status = status
    if let errno = outputFailure, errno != EPIPE || currentDelivery == .transfer {
      let why = String(cString: strerror(errno))
      note(command, failed: ExitStatus(.file, "cannot write to standard output: \(why)"))
      status = 2
    } else if outputFailure != nil {
      status = currentDelivery == .log ? status : 0
    } else if isCut, !wasInterrupted, status == 0 {
      status = 3
    }
    if status == 0, failures.withLock({ $0.contains { $0.status.kind == .file } }) { status = 2 }
    noteFailures(of: status)
    if end != nil { end = clinux_monotonic() + lastGrace }
    drain([errors], &end)
    return status
  }

  /// - Parameter end: when to give up; nil: not before an interruption, which sets it.
  private static func drain(_ queues: [OutputQueue], _ end: inout Int64?) {
    for queue in queues { queue.writeWithoutThread() }
    guard queues.contains(where: { $0.bytes > 0 }) else { return }
    let written = clinux_eventfd()
    for queue in queues { queue.whenBelow(0) { clinux_eventfd_signal(written) } }
    while queues.contains(where: { $0.bytes > 0 }) {
      var waits = [
        pollfd(fd: written, events: Int16(POLLIN), revents: 0),
        pollfd(fd: interruption.load(ordering: .relaxed), events: Int16(POLLIN), revents: 0),
      ]
      let left = end.map { Int32(max(0, $0 - clinux_monotonic()) / 1_000_000) }
      // Without the eventfd, the process has no descriptor left.
      let count = poll(&waits, 2, left ?? (written < 0 ? 10 : -1))
      if count == 0, left != nil { return }
      var number: UInt64 = 0
      if waits[0].revents != 0 { read(written, &number, MemoryLayout.size(ofValue: number)) }
      if waits[1].revents != 0, clinux_signalfd_read(waits[1].fd) != 0 {
        if isInterrupted.exchange(true, ordering: .relaxed) { return }
        end = clinux_monotonic() + grace
      }
    }
  }
}
