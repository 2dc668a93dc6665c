import Atto
import AttoCommandLine
import AttoEventLoop
import AttoRadio
import CAttoLinux

/// Carries packets on an L2CAP channel: each after its length in two octets, most significant first, as
/// `bumble-bench` has them.
final class ChannelCarrier: PacketCarrier {
  private let channel: Channel
  private var receiver: ((RawSpan?) -> Void)?
  /// What is received of a packet and its length, at most 64 KiB and the size of a read.
  private var pending: [UInt8] = []
  private var hasEnded = false
  private let room = AsyncStream<Void>.makeStream(bufferingPolicy: .bufferingNewest(1))
  private var sends = 0
  private(set) var waited: Int64 = 0
  /// Whether packets are timed, the call that sent the end of the last one, and when its answer was received.
  private var isTimed = false
  private var sentAt: Int64 = 0
  private var receivedAt: Int64 = 0
  let pdus: UInt64 = 0
  let mtu = 0
  let isAcknowledged = false

  init(_ channel: Channel) { self.channel = channel }

  func open(_ receive: @escaping (RawSpan?) -> Void) async throws {
    receiver = receive
    channel.whenReady { [weak self] _ in
      self?.receive()
      self?.room.continuation.yield()
    }
  }

  func send(_ packet: [UInt8]) async throws {
    var octets = [
      UInt8(truncatingIfNeeded: packet.count >> 8), UInt8(truncatingIfNeeded: packet.count),
    ]
    octets += packet
    var sent = 0
    while true {
      guard !hasEnded else { throw Unreachable(message: "the peer has closed the channel") }
      if isTimed { sentAt = clinux_monotonic() }
      sent += try channel.send(octets.span.bytes.extracting(droppingFirst: sent))
      if sent == octets.count { break }
      let start = clinux_monotonic()
      var iterator = room.stream.makeAsyncIterator()
      _ = await iterator.next()
      waited += clinux_monotonic() - start
      try Task.checkCancellation()
    }
    sends &+= 1
    // Nothing else runs while there is room.
    if sends % 32 == 0 { await channel.loop.yield() }
  }

  private func receive() {
    var octets = [UInt8](repeating: 0, count: 16_384)
    // A peer that never stops must not keep the loop.
    for _ in 0..<16 where !hasEnded {
      let receipt = try? octets.withUnsafeMutableBytes { bytes in
        var buffer = OutputRawSpan(buffer: bytes, initializedCount: 0)
        let receipt = try channel.receive(into: &buffer)
        _ = buffer.finalize(for: bytes)
        return receipt
      }
      switch receipt {
      case .wouldBlock: return
      case .octets(let count):
        if isTimed { receivedAt = clinux_monotonic() }
        pending += octets[..<count]
        deliver()
      case .closed, nil:
        hasEnded = true
        receiver?(nil)
      }
    }
    // The loop reports readiness once.
    let carrier = LoopBound(self, channel.loop)
    channel.loop.execute { carrier.value.receive() }
  }

  private func deliver() {
    var start = 0
    while pending.count - start >= 2 {
      let length = Int(pending[start]) << 8 | Int(pending[start + 1])
      guard pending.count - start - 2 >= length else { break }
      receiver?(pending.span.bytes.extracting(start + 2..<start + 2 + length))
      start += 2 + length
    }
    pending.removeFirst(start)
  }

  func timeStages(
    of operation: StagedOperation, _ took: @escaping (TimedExchange) -> Void
  ) async throws -> StageTimes? {
    // Of the calls that send a stream, only those of packets that are answered are told apart.
    guard operation == .roundTrip else { return nil }
    isTimed = true
    let kinds = channel.socket.stamp(true)
    return StageTimes(kinds, isRadio: channel.socket.carrier == .l2cap, of: .roundTrip)
  }

  var exchange: TimedExchange? {
    guard isTimed else { return nil }
    let stamps = channel.socket.stamps
    stamps?.collect()
    // One packet is in flight, so it is what was sent last.
    let sent = stamps.flatMap { $0.sent($0.next &- 1) }
    return .roundTrip(
      sent: .init(call: sentAt, given: sent?.given, completed: sent?.completed),
      response: .init(kernel: stamps?.arrival, program: receivedAt))
  }

  /// Closes the channel when what was sent has reached the peer, or after ten seconds.
  func close() async {
    for _ in 0..<500 where channel.hasUnsent {
      try? await channel.loop.sleep(for: .milliseconds(20))
    }
    channel.whenReady(nil)
    channel.close()
  }
}
