import Atto
import AttoFormats
import Synchronization

/// The state of a value with a behaviour.
///
/// Handlers run on the server's loop, so the locks are never contended.
final class ScriptedValue: Sendable {
  let described: ProfileLayout.ScriptedValue
  private let octets: Mutex<[UInt8]>
  private let sinks = Mutex<[ClientID: Sink]>([:])
  private let streams = Mutex<[ClientID: Stream]>([:])
  /// The octets that clients have written in the present second.
  private let seconds = Mutex<[ClientID: UInt32]>([:])

  /// The stream or burst of a client.
  private struct Stream {
    /// The length of the values, if the client has set it.
    var size: Int?
    /// The values that the client gets at present.
    var series: ValueSeries?
  }

  /// Counts of one client's writes to a sink.
  struct Sink {
    var writes = 0
    var octets = 0
    var sequence = SequenceCount()
    /// Nanoseconds of the loop's clock.
    var first: Int64 = 0
    var last: Int64 = 0
    var damaged: UInt64 = 0

    var metrics: ThroughputMetrics {
      ThroughputMetrics(writes: writes, octets: octets, nanoseconds: last - first)
    }

    var tally: WriteTally {
      var tally = WriteTally()
      tally.writes = UInt64(writes)
      tally.octets = UInt64(octets)
      tally.lost = sequence.lost
      tally.doubled = sequence.doubled
      tally.outOfOrder = sequence.outOfOrder
      tally.microseconds = UInt64(max(0, last - first) / 1000)
      tally.damaged = damaged
      return tally
    }
  }

  init(_ described: ProfileLayout.ScriptedValue) {
    self.described = described
    octets = Mutex(described.value)
  }

  var handle: AttributeHandle { described.handle }
  var behaviour: Profile.Behaviour { described.behaviour }

  // MARK: - Sinks

  /// Counts a write. A tally counts its number too, and an empty write clears it. Metrics are cleared by
  /// a write of one octet, from which their time begins.
  func sink(_ value: RawSpan, from client: ClientID, at time: Int64) {
    let octets = value.byteCount
    var number: UInt32?
    let isDamaged = behaviour.hasCheckSums && !CheckSum.isCorrect(value)
    if behaviour.isTally, octets >= 4, !isDamaged {
      number = (0..<4).reduce(0) {
        $0 | UInt32(value.unsafeLoad(fromByteOffset: $1, as: UInt8.self)) << (8 * UInt32($1))
      }
    }
    sinks.withLock { sinks in
      if behaviour.isTally, octets == 0 {
        sinks[client] = nil
        return
      }
      if behaviour.hasThroughputMetrics, octets == 1 {
        sinks[client] = Sink(first: time, last: time)
        return
      }
      // Modified in place, because a copy would be made and stored for each write.
      { (sink: inout Sink) in
        if sink.writes == 0, sink.first == 0 { sink.first = time }
        sink.last = time
        sink.writes += 1
        sink.octets += octets
        if let number { sink.sequence.receive(number) }
        if isDamaged { sink.damaged += 1 }
      }(&sinks[client, default: Sink()])
    }
  }

  /// Counts octets of the present second of a client. Returns true if they begin it.
  func beginSecond(_ octets: Int, of client: ClientID) -> Bool {
    seconds.withLock { seconds in
      let before = seconds[client]
      seconds[client] = (before ?? 0) &+ UInt32(truncatingIfNeeded: octets)
      return before == nil
    }
  }

  /// The octets of a client's second, which ends; nil if the client has left.
  func endSecond(of client: ClientID) -> UInt32? {
    seconds.withLock { $0.removeValue(forKey: client) }
  }

  func removeSink(of client: ClientID) -> Sink? {
    _ = endSecond(of: client)
    return sinks.withLock { $0.removeValue(forKey: client) }
  }

  // MARK: - Streams

  func streamSize(for client: ClientID) -> Int {
    streams.withLock { $0[client]?.size } ?? behaviour.streamSize ?? 0
  }

  /// Sets a stream's size from a written value: two octets, little-endian, 4 to 512.
  func setStreamSize(_ parts: [(offset: Int, part: [UInt8])], by client: ClientID) -> ErrorCode? {
    guard parts.count == 1, parts[0].offset == 0, parts[0].part.count == 2 else {
      return .invalidAttributeValueLength
    }
    let size = Int(parts[0].part[0]) | Int(parts[0].part[1]) << 8
    guard 4...ValueLimits.longest ~= size else { return .valueNotAllowed }
    streams.withLock { $0[client, default: Stream()].size = size }
    return nil
  }

  /// Ends the series that a client gets at present, and begins another one.
  func beginSeries(to client: ClientID) -> ValueSeries {
    let new = ValueSeries()
    streams.withLock { streams in
      streams[client]?.series?.end()
      streams[client, default: Stream()].series = new
    }
    return new
  }

  func forget(_ client: ClientID) {
    streams.withLock { $0.removeValue(forKey: client) }?.series?.end()
  }

  // MARK: - Values

  /// The response to a read: the reading client's tally or metrics, the CPU time, or the value.
  func read(by client: ClientID) -> [UInt8] {
    if behaviour.isProcessTime { return ProcessTime.value }
    if behaviour.hasThroughputMetrics {
      return (sinks.withLock { $0[client]?.metrics } ?? ThroughputMetrics()).value
    }
    guard behaviour.isTally else { return next() }
    return (sinks.withLock { $0[client]?.tally } ?? WriteTally()).value
  }

  /// Returns the value and increments its counter, if any.
  func next() -> [UInt8] {
    octets.withLock { value in
      defer { increment(&value) }
      return value
    }
  }

  private func increment(_ value: inout [UInt8]) {
    for index in 0..<min(behaviour.counter ?? 0, value.count) {
      value[index] &+= 1
      if value[index] != 0 { return }
    }
  }

  /// Checks written parts and, unless the value is a sink, stores them in order.
  func write(_ parts: [(offset: Int, part: [UInt8])]) -> ErrorCode? {
    octets.withLock { value in
      var new = value
      var end = 0
      let limits = described.limits
      let longest = limits.isFixedLength ? value.count : limits.maximumLength
      for (offset, part) in parts {
        guard offset <= new.count || behaviour.isSink else { return .invalidOffset }
        guard offset + part.count <= longest else { return .invalidAttributeValueLength }
        if behaviour.isSink { continue }
        new.replaceSubrange(offset..<min(offset + part.count, new.count), with: part)
        end = max(end, offset + part.count)
      }
      guard !behaviour.isSink else { return nil }
      if !limits.isFixedLength { new.removeLast(new.count - end) }
      value = new
      return nil
    }
  }
}

/// The numbered values of one burst, or of a stream for one subscription.
final class ValueSeries: Sendable {
  private let hasEnded = Atomic<Bool>(false)

  var isWanted: Bool { !hasEnded.load(ordering: .relaxed) }

  func end() { hasEnded.store(true, ordering: .relaxed) }
}
