import AttoEventLoop
import AttoLinks
import CAttoLinux
import Glibc

/// Why a stream ended.
package enum StreamEnd: Equatable, Sendable {
  /// The other end will send no more.
  case closedByPeer
  /// The connection was lost: an `errno`.
  case lost(Int32)
  /// The other end does not read: more octets wait than ``ByteStream/outputLimit`` allows.
  case notReading
}

/// A connected stream socket on a loop. The loop's thread only.
///
/// # Theory
/// What is sent in one turn of the loop is collected and sent with one call at its end. What the socket
/// has no room for waits, up to a limit; beyond it the stream ends, since a client that does not read
/// must not cost memory. `SO_SNDBUF` bounds what the kernel holds.
///
///     open --finish()--> finishing --all is sent--> draining --the peer closes, or time--> closed
///       '-----the peer closes, an error, too much waits, close()----> closed
///
/// While draining, what arrives is dropped: a socket that is closed with unread octets is reset, and
/// then the peer may lose what was sent last, which is usually why it was closed.
///
/// ``pause()`` stops receiving, so that the socket's buffers fill and hold the peer back.
///
/// A TCP socket tells of room only after it had none, so it is watched edge-triggered. A Unix socket tells each
/// time that the peer has read; it is watched level-triggered, and for room only while it has none.
package final class ByteStream {
  /// Octets that one call receives, and calls in one turn.
  static let chunk = 16_384
  static let chunksPerTurn = 4
  /// How long the peer may take to close after ``finish()``.
  package static let drainingTime: Duration = .seconds(5)
  /// Octets that are dropped meanwhile.
  static let drainingLimit = 1 << 20

  private enum Phase { case open, finishing, draining, closed }

  /// The address of the other end.
  package let peerName: String
  /// Octets that may wait to be sent.
  package let outputLimit: Int
  /// Called with what has arrived; never empty.
  package var onOctets: (([UInt8]) -> Void)?
  /// Called once, unless this end closes or finishes the stream, which is closed then.
  package var onEnd: ((StreamEnd) -> Void)?
  /// Called when all that waited because the socket had no room was sent.
  package var onDrained: (() -> Void)?
  /// Called once when the socket is closed, whoever closed it.
  package var onClosed: (() -> Void)?

  private let loop: Loop
  private var socket: StreamSocket?
  private var watch: WatchID?
  private var phase = Phase.open
  private var output: [UInt8] = []
  private var sent = 0
  /// Whether the socket has no room at the moment.
  package private(set) var isFull = false
  private let trigger: Trigger
  private var awaitsRoom = false
  private var isPaused = false
  private var awaitsTurnEnd = false
  private var drained = 0
  private var limit: LoopTimer?

  /// Takes the socket over.
  ///
  /// - Parameter trigger: `level` for a Unix socket that carries much; it is never paused.
  package init(
    _ socket: StreamSocket, outputLimit: Int, trigger: Trigger = .edge, on loop: Loop
  ) throws(LoopError) {
    self.loop = loop
    self.trigger = trigger
    self.outputLimit = outputLimit
    self.socket = socket
    peerName = socket.peerName
    watch = try loop.watch(socket.descriptor.rawValue, trigger: trigger, self)
  }

  /// Octets that wait to be sent.
  package var waiting: Int { output.count - sent }

  /// Sends octets, at the end of this turn. Does nothing once the stream is finished or closed.
  package func send(_ octets: [UInt8]) {
    if !octets.isEmpty { send { $0.append(contentsOf: octets) } }
  }

  /// Sends the octets that `append` appends, which is not called once the stream is finished or closed.
  package func send(_ append: (inout [UInt8]) -> Void) {
    guard phase == .open else { return }
    if sent > 0, sent >= output.count / 2 {
      output.removeFirst(sent)
      sent = 0
    }
    append(&output)
    // Collecting more would only cost memory.
    if waiting >= Self.chunk, !isFull { flush() }
    guard !awaitsTurnEnd, phase == .open else { return }
    awaitsTurnEnd = true
    loop.atEndOfTurn(self)
  }

  /// Receives nothing more until ``resume()``.
  package func pause() { isPaused = true }

  package func resume() {
    guard isPaused else { return }
    isPaused = false
    if let watch { loop.reschedule(watch, .readable) }
  }

  /// Sends what waits, closes this direction, and the stream when the peer has closed its own.
  package func finish() {
    guard phase == .open else { return }
    phase = .finishing
    isPaused = false
    limit = LoopTimer(after: Self.drainingTime, on: loop) { [weak self] in self?.close() }
    if !awaitsTurnEnd { flush() }
    if let watch { loop.reschedule(watch, .readable) }
  }

  /// Closes the stream at once; calling it again does nothing.
  package func close() {
    guard phase != .closed else { return }
    phase = .closed
    limit?.cancel()
    if let watch { loop.unwatch(watch) }
    watch = nil
    socket = nil
    output = []
    sent = 0
    onOctets = nil
    onEnd = nil
    onDrained = nil
    let onClosed = onClosed
    self.onClosed = nil
    onClosed?()
  }

  private func updateInterest() {
    guard trigger == .level, isFull != awaitsRoom, let watch else { return }
    awaitsRoom = isFull
    loop.setInterest(watch, isFull ? [.readable, .writable] : .readable)
  }

  private func end(_ reason: StreamEnd) {
    let onEnd = onEnd
    let tells = phase == .open
    close()
    if tells { onEnd?(reason) }
  }

  private func flush() {
    while let socket, !isFull, sent < output.count {
      let result = output.withUnsafeBytes {
        clinux_send(socket.descriptor.rawValue, $0.baseAddress! + sent, $0.count - sent)
      }
      if result >= 0 {
        sent += result
      } else if result == -Int(EAGAIN) {
        isFull = true
      } else {
        return end(.lost(Int32(-result)))
      }
    }
    updateInterest()
    if sent == output.count {
      output.removeAll(keepingCapacity: output.capacity <= Self.chunk)
      sent = 0
      if phase == .finishing, let socket {
        phase = .draining
        _ = shutdown(socket.descriptor.rawValue, Int32(SHUT_WR))
      }
    } else if waiting > outputLimit {
      end(.notReading)
    }
  }

  private func receive() {
    for _ in 0..<Self.chunksPerTurn {
      guard let socket, !isPaused else { return }
      var count = 0
      let octets = [UInt8](unsafeUninitializedCapacity: Self.chunk) { buffer, filled in
        count = clinux_receive_stream(socket.descriptor.rawValue, buffer.baseAddress!, buffer.count)
        filled = max(count, 0)
      }
      if count == -Int(EAGAIN) { return }
      guard count > 0 else { return end(count == 0 ? .closedByPeer : .lost(Int32(-count))) }
      if phase == .open {
        onOctets?(octets)
      } else {
        drained += count
        if drained > Self.drainingLimit { return close() }
      }
      if trigger == .level, count < Self.chunk { return }
    }
    if trigger == .edge, let watch { loop.reschedule(watch, .readable) }
  }
}

extension ByteStream: ReadinessHandler, TurnHandler {
  package func ready(_ readiness: Readiness) {
    if readiness.contains(.writable), isFull {
      isFull = false
      flush()
      if waiting == 0 { onDrained?() }
    }
    if !readiness.isDisjoint(with: [.readable, .hangup, .error]) { receive() }
  }

  package func turnEnds() {
    awaitsTurnEnd = false
    if phase == .open || phase == .finishing { flush() }
  }
}
