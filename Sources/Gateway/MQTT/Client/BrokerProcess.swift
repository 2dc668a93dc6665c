import AttoEventLoop
import AttoLinks
import AttoStreams
import CAttoLinux
import CAttoMosquitto
import Glibc

/// The process that holds a connection to a broker, in that process.
package enum BrokerConnectionProcess {
  /// The only argument of the program then.
  package static let option = "--broker-connection"

  /// Serves the gateway that has started this process, until the connection ends.
  package static func serve() -> Never { cmosquitto_serve(CLINUX_INHERITED) }
}

/// The gateway's end of the process that holds a connection to a broker. Used on the loop's thread.
///
/// # Theory
/// libmosquitto and OpenSSL run there, so that what a broker sends cannot end the gateway and its links, nor
/// take its memory. `Connection.c` is the other end, and `Frames.h` describes what passes between the two.
///
///     running --finish()--> finishing --it ends, or time--> ended
///        '-----it ends, a malformed frame, kill()----> ended
///
/// The process is reaped when its descriptor says that it has ended; until then this object lives. Its end is
/// reported once, when it is reaped and all that it has sent is read, and never within a call of the owner.
///
/// Nothing waits without a limit: while the socket between the two has no room, ``isFull`` is true and the owner
/// sends nothing. Frames that arrive are carried out in the turn in which they are read.
final class BrokerProcess {
  /// The time that it has to send what waits, after ``finish(_:)``.
  static let finishingTime: Duration = .seconds(2)
  /// Octets that may wait for the process. The owner's last frame may come on top of a batch.
  private static let outputLimit = 2 * Int(CMOSQUITTO_FRAME_LIMIT)

  /// What the owner learns.
  enum Event {
    case frame(BrokerFrame)
    /// More can be sent.
    case writable
    /// The process has ended, for this reason; nothing follows.
    case ended(String)
  }

  private let loop: Loop
  private let process: Int32
  private let descriptor: OwnedDescriptor
  private let stream: ByteStream
  private var reader = BrokerFrame.Reader()
  private var watch: WatchID?
  private var isClosed = false
  private var status: Int32?
  private var timer: LoopTimer?
  /// Nil when nothing is reported any more.
  private var report: ((Event) -> Void)?
  private var finished: (() -> Void)?
  /// Why the process was killed.
  private var reason: String?

  /// Starts the process.
  ///
  /// - Throws: ``BrokerProcess/Failure``.
  init(on loop: Loop, report: @escaping (Event) -> Void) throws(Failure) {
    var ends: [Int32] = [-1, -1]
    var result = clinux_stream_pair(&ends)
    guard result == 0 else { throw Failure(errno: -result) }
    let own = OwnedDescriptor(owning: ends[0])
    let other = OwnedDescriptor(owning: ends[1])
    var number: Int32 = -1
    result = clinux_start_self(BrokerConnectionProcess.option, other.rawValue, &number)
    guard result > 0 else { throw Failure(errno: -result) }
    process = result
    descriptor = OwnedDescriptor(owning: number)
    self.loop = loop
    self.report = report
    do throws(LoopError) {
      stream = try ByteStream(
        StreamSocket(own, peerName: BrokerConnectionProcess.option), outputLimit: Self.outputLimit,
        trigger: .level,
        on: loop)
      watch = try loop.watch(number, trigger: .level, self)
    } catch {
      _ = Glibc.kill(process, SIGKILL)
      _ = waitpid(process, nil, 0)
      throw Failure(errno: error.errno)
    }
    stream.onOctets = { [weak self] in self?.received($0) }
    stream.onDrained = { [weak self] in self?.report?(.writable) }
    // Holds this object until the stream is closed.
    stream.onClosed = { self.closed() }
  }

  /// Whether the process does not accept more at the moment.
  var isFull: Bool { stream.isFull }

  /// Sends what `append` appends, at the end of the turn.
  func send(_ append: (inout [UInt8]) -> Void) { stream.send(append) }

  /// Lets the process send what waits, and end. Reports nothing more.
  ///
  /// - Parameter done: called when it has ended, or after ``finishingTime``.
  func finish(_ done: @escaping () -> Void) {
    report = nil
    guard !isClosed else { return done() }
    finished = done
    timer = LoopTimer(after: Self.finishingTime, on: loop) { [weak self] in self?.end() }
    stream.finish()
  }

  /// Ends the process at once. Reports nothing more.
  func kill() {
    report = nil
    end()
  }

  private func received(_ octets: [UInt8]) {
    reader.append(octets)
    for frame in reader.frames() {
      guard let report else { return }
      guard let frame else {
        reason = "its process has sent a malformed frame"
        return end()
      }
      report(.frame(frame))
    }
  }

  private func end() {
    timer?.cancel()
    stream.close()
  }

  /// Either end has closed the socket: the process has nothing more to do.
  private func closed() {
    isClosed = true
    if status == nil { _ = Glibc.kill(process, SIGKILL) }
    let finished = finished
    self.finished = nil
    finished?()
    tellEnd()
  }

  private func tellEnd() {
    guard isClosed, let status, let report else { return }
    self.report = nil
    report(.ended(reason ?? Self.text(status)))
  }

  /// Why a process could not be started.
  struct Failure: Error, CustomStringConvertible {
    let errno: Int32
    var description: String { "cannot start its process: \(String(cString: strerror(errno)))" }
  }
}

extension BrokerProcess: ReadinessHandler {
  func ready(_ readiness: Readiness) {
    let status = clinux_reap(process)
    guard status != -EAGAIN, let watch else { return }
    loop.unwatch(watch)
    self.watch = nil
    self.status = status
    tellEnd()
  }

  private static func text(_ status: Int32) -> String {
    status < 256
      ? "its process has ended with status \(status)"
      : "its process was ended by \(String(cString: strsignal(status - 256)))"
  }
}
