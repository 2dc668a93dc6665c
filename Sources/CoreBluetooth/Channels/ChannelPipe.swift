internal import Atto
import Foundation

/// What lies between a channel, which belongs to the loop, and its two streams, which belong to the
/// app's threads: a bounded buffer in each direction.
///
/// # Theory
/// The loop fills `incoming` while there is room and empties `outgoing` as far as the peer takes
/// it; what has no room stays in the kernel, and so holds back whoever sends it. The app's reads
/// and writes have the loop go on where it had stopped. Reading from an empty buffer and writing
/// into a full one wait, as on Apple's streams.
///
///     open --both streams closed--> closing --outgoing is out | lingerTime--> closed
///       '--the peer or the link has ended it--> ended (what came can still be read)
///
/// `@unchecked Sendable`: all that changes is touched only while `condition` is locked, but for
/// what is isolated to the loop.
final class ChannelPipe: @unchecked Sendable {
  /// Octets that wait in each direction.
  static let bufferLimit = 1 << 16
  /// How long what was written before the streams were closed may take.
  static let lingerTime: Duration = .seconds(10)

  /// Either stream.
  enum Side: Hashable { case input, output }

  private let condition = NSCondition()
  private var incoming = Data()
  private var outgoing = Data()
  private var closed: Set<Side> = []
  private var hasEnded = false
  private var failure: (any Error)?
  /// Whether the loop has been told to go on and has not begun.
  private var isPumpDue = false
  private var changed: [Side: @Sendable () -> Void] = [:]
  private let channel: Channel
  @RadioLoop private var lingerTimer: OneTimer?

  init(_ channel: Channel) { self.channel = channel }

  /// Begins to move octets.
  @RadioLoop func start() {
    let bound = LoopBound(WeakReference(self), RadioLoop.loop)
    channel.whenReady { _ in RadioLoop.assumeIsolated { bound.value.object?.pump() } }
  }

  /// Says who is told that something can be read or written, or that it has ended; on any thread.
  func whenChanged(_ side: Side, _ body: @escaping @Sendable () -> Void) {
    condition.withLock { changed[side] = body }
  }

  // MARK: The app's side

  /// What an app may want to know of one direction.
  struct Prospect {
    /// Octets that can be read, or written, without waiting.
    var count: Int
    var hasEnded: Bool
    var failure: (any Error)?
  }

  func prospect(of side: Side) -> Prospect {
    condition.withLock {
      let count = side == .input ? incoming.count : hasEnded ? 0 : Self.bufferLimit - outgoing.count
      return Prospect(count: count, hasEnded: hasEnded, failure: failure)
    }
  }

  /// Waits for at least one octet; 0 at the end, or if the stream is closed meanwhile.
  func read(into room: UnsafeMutableRawBufferPointer) -> Int {
    guard !room.isEmpty else { return 0 }
    condition.lock()
    defer { condition.unlock() }
    while incoming.isEmpty, !hasEnded, !closed.contains(.input) { condition.wait() }
    guard !closed.contains(.input) else { return 0 }
    let count = min(room.count, incoming.count)
    incoming.copyBytes(to: room, count: count)
    incoming = count == incoming.count ? Data() : Data(incoming.dropFirst(count))
    pumpLater()
    return count
  }

  /// Waits for room for at least one octet; -1 after the end.
  func write(_ octets: UnsafeRawBufferPointer) -> Int {
    condition.lock()
    defer { condition.unlock() }
    while outgoing.count >= Self.bufferLimit, !hasEnded, !closed.contains(.output) {
      condition.wait()
    }
    guard !hasEnded, !closed.contains(.output) else { return -1 }
    let count = min(octets.count, Self.bufferLimit - outgoing.count)
    outgoing.append(contentsOf: octets[..<count])
    pumpLater()
    return count
  }

  /// Closes one stream; the channel is closed with the second.
  func close(_ side: Side) {
    let isLast = condition.withLock {
      guard closed.insert(side).inserted else { return false }
      changed[side] = nil
      if side == .input { incoming = Data() }
      condition.broadcast()
      return closed.count == 2
    }
    // Held by the loop until what was written is out.
    if isLast { RadioLoop.later { self.finish() } }
  }

  private func pumpLater() {
    guard !isPumpDue, !hasEnded else { return }
    isPumpDue = true
    RadioLoop.later { [weak self] in self?.pump() }
  }

  // MARK: The loop's side

  @RadioLoop private func pump() {
    condition.withLock { isPumpDue = false }
    do throws(LinkError) {
      try send()
      try receive()
    } catch {
      end(error)
    }
  }

  @RadioLoop private func send() throws(LinkError) {
    while true {
      let piece = condition.withLock { Array(outgoing.prefix(channel.sendLimit)) }
      guard !piece.isEmpty else { return }
      let count = try channel.send(piece.span.bytes)
      guard count > 0 else { return }
      let told = condition.withLock {
        outgoing = count == outgoing.count ? Data() : Data(outgoing.dropFirst(count))
        condition.broadcast()
        return changed[.output]
      }
      told?()
    }
  }

  @RadioLoop private func receive() throws(LinkError) {
    while true {
      let room = condition.withLock {
        hasEnded || closed.contains(.input) ? 0 : Self.bufferLimit - incoming.count
      }
      guard room > 0 else { return }
      var piece = [UInt8](repeating: 0, count: min(room, 16_384))
      var receipt = ChannelReceipt.wouldBlock
      var failure: LinkError?
      piece.withUnsafeMutableBytes { bytes in
        var buffer = OutputRawSpan(buffer: bytes, initializedCount: 0)
        do throws(LinkError) {
          receipt = try channel.receive(into: &buffer)
        } catch {
          failure = error
        }
        _ = buffer.finalize(for: bytes)
      }
      if let failure { throw failure }
      switch receipt {
      case .wouldBlock: return
      case .closed: return end(nil)
      case .octets(let count):
        let told = condition.withLock {
          incoming.append(contentsOf: piece[..<count])
          condition.broadcast()
          return changed[.input]
        }
        told?()
      }
    }
  }

  /// The channel is over; nil: in order.
  @RadioLoop private func end(_ error: LinkError?) {
    let told = condition.withLock {
      guard !hasEnded else { return [@Sendable () -> Void]() }
      hasEnded = true
      outgoing = Data()
      if let error, error.errno != EPIPE, error.errno != ECONNRESET, error.errno != ENOTCONN {
        failure = ErrorMapping.disconnection(.link(error))
      }
      condition.broadcast()
      return Array(changed.values)
    }
    for tell in told { tell() }
    lingerTimer?.cancel()
    lingerTimer = nil
    channel.close()
  }

  /// Ends it at this end, whatever the streams are: what can be sent or received at once is.
  @RadioLoop func endNow() {
    pump()
    end(nil)
  }

  @RadioLoop private func finish() {
    pump()
    guard condition.withLock({ !outgoing.isEmpty }) else { return end(nil) }
    // Both hold this object until it is over.
    channel.whenReady { _ in RadioLoop.assumeIsolated { self.drain() } }
    lingerTimer = OneTimer(after: Self.lingerTime, on: RadioLoop.loop) {
      RadioLoop.assumeIsolated { self.end(nil) }
    }
  }

  @RadioLoop private func drain() {
    do throws(LinkError) {
      try send()
      if condition.withLock({ outgoing.isEmpty }) { end(nil) }
    } catch {
      end(error)
    }
  }
}
