internal import Atto
import AttoEventLoop
import AttoLinks
import AttoRadio
import Foundation

/// A bounded buffer in each direction between a channel, which is used on the loop, and its two
/// streams, which are used on the app's threads.
///
/// # Theory
/// The loop fills `incoming` while there is room, and empties `outgoing` as far as the peer accepts
/// data. The rest stays in the kernel, whose flow control holds back the sender. Each read and write
/// of the app wakes the loop. Reading an empty buffer and writing a full one block, as on Apple's
/// streams.
///
///     open --both streams closed--> closing --outgoing is sent | lingerTime--> closed
///       '--ended by the peer or the link--> ended (received data can still be read)
///
/// `@unchecked Sendable`: all state is touched only while `condition` is locked, or is isolated to the
/// loop.
final class ChannelPipe: @unchecked Sendable {
  /// The size of each buffer, in octets.
  static let bufferLimit = 1 << 16
  /// How long to go on sending after the streams are closed.
  static let lingerTime: Duration = .seconds(10)

  enum Side: Hashable { case input, output }

  private let condition = NSCondition()
  private var incoming = Data()
  private var outgoing = Data()
  private var closed: Set<Side> = []
  private var hasEnded = false
  private var failure: (any Error)?
  /// Whether a `pump()` is scheduled on the loop.
  private var isPumpDue = false
  private var changed: [Side: @Sendable () -> Void] = [:]
  private let channel: Channel
  @RadioLoop private var lingerTimer: LoopTimer?

  init(_ channel: Channel) { self.channel = channel }

  @RadioLoop func start() {
    let bound = LoopBound(WeakReference(self), RadioLoop.loop)
    channel.whenReady { _ in RadioLoop.assumeIsolated { bound.value.object?.pump() } }
  }

  /// Sets the callback for data, room or the end of the channel. It comes on any thread.
  func whenChanged(_ side: Side, _ body: @escaping @Sendable () -> Void) {
    condition.withLock { changed[side] = body }
  }

  // MARK: The app's side

  struct Prospect {
    /// Octets that can be read or written without blocking.
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

  /// Blocks for at least one octet. Returns 0 at the end, or when the stream is closed.
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

  /// Blocks for room for at least one octet. Returns -1 after the end.
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

  /// Closes one stream. The second one closes the channel.
  func close(_ side: Side) {
    let isLast = condition.withLock {
      guard closed.insert(side).inserted else { return false }
      changed[side] = nil
      if side == .input { incoming = Data() }
      condition.broadcast()
      return closed.count == 2
    }
    // The closure retains this object until the data is sent.
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
      return end(error)
    }
    if condition.withLock({ closed.count == 2 && outgoing.isEmpty }) { end(nil) }
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

  /// Ends the channel; nil: without an error.
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

  /// Closes the channel at this end, after sending and receiving what is possible at once.
  @RadioLoop func endNow() {
    pump()
    end(nil)
  }

  @RadioLoop private func finish() {
    pump()
    guard !condition.withLock({ hasEnded }) else { return }
    // Both closures retain this object until the end.
    channel.whenReady { _ in RadioLoop.assumeIsolated { self.pump() } }
    lingerTimer = LoopTimer(after: Self.lingerTime, on: RadioLoop.loop) {
      RadioLoop.assumeIsolated { self.end(nil) }
    }
  }
}
