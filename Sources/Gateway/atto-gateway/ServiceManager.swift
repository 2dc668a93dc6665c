import AttoEventLoop
import AttoStreams
import CAttoLinux
import Glibc

/// Tells systemd what the gateway does, by the protocol of sd_notify(3). The loop's thread only. Does
/// nothing where systemd did not start the process.
final class ServiceManager {
  private let path: String?
  private let watchdogPause: Duration?
  private let loop: Loop
  private var timer: LoopTimer?

  init(on loop: Loop) {
    self.loop = loop
    path = environment("NOTIFY_SOCKET")
    let isOurs = environment("WATCHDOG_PID").map { $0 == "\(getpid())" } ?? true
    // Twice as often as asked for, as sd_watchdog_enabled(3) recommends.
    watchdogPause =
      isOurs
      ? environment("WATCHDOG_USEC").flatMap { Int64($0) }.flatMap {
        $0 > 1 ? .microseconds($0 / 2) : nil
      } : nil
  }

  /// Everything that was configured has begun.
  func ready() {
    tell("READY=1")
    watch()
  }

  func reloading() { tell("RELOADING=1\nMONOTONIC_USEC=\(clinux_monotonic() / 1000)") }

  func stopping() { tell("STOPPING=1") }

  /// A line that `systemctl status` shows.
  func status(_ text: String) { tell("STATUS=\(text)") }

  /// The loop that sends this is alive.
  private func watch() {
    guard let watchdogPause, path != nil else { return }
    tell("WATCHDOG=1")
    timer = LoopTimer(after: watchdogPause, on: loop) { [weak self] in self?.watch() }
  }

  /// If systemd's queue is full this is lost.
  private func tell(_ text: String) {
    if let path { UnixDatagrams.send(Array(text.utf8), to: path) }
  }
}
