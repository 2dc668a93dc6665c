import Atto
import AttoEventLoop
import AttoGATT

/// What a peer with ST's throughput application has received: the octets of each second, which it notifies. Used on the
/// loop's thread only.
///
/// A second begins with the first value after the one before, so that all values are in one of them.
final class PeerSeconds {
  /// How long the notification of a second may take, after its second.
  private static let patience: Duration = .milliseconds(1500)

  private let connection: Connection
  private let loop: Loop
  private let configuration: AttributeHandle
  /// The octets of the seconds so far.
  private(set) var octets: UInt64 = 0
  /// The octets of the best second.
  private(set) var best: UInt32 = 0
  private var isLate = false
  private let arrivals = AsyncStream<Void>.makeStream(bufferingPolicy: .bufferingNewest(1))

  init(
    _ place: (value: AttributeHandle, configuration: AttributeHandle), over connection: Connection,
    on loop: Loop
  ) async throws {
    (self.connection, self.loop, configuration) = (connection, loop, place.configuration)
    let seconds = LoopBound(self, loop)
    connection.observeValues { handle, value in
      guard handle == place.value, value.byteCount == 4 else { return }
      seconds.value.add(
        value.unsafeLoadUnaligned(fromByteOffset: 0, as: UInt32.self).littleEndian)
    }
    try await connection.write([1, 0], to: configuration)
  }

  private func add(_ count: UInt32) {
    octets += UInt64(count)
    best = max(best, count)
    arrivals.continuation.yield()
  }

  /// Waits until these octets are accounted for, or no second is reported any more.
  func settle(_ sent: UInt64) async {
    var iterator = arrivals.stream.makeAsyncIterator()
    let seconds = LoopBound(self, loop)
    while octets < sent {
      let before = octets
      isLate = false
      let alarm = loop.after(Self.patience) {
        seconds.value.isLate = true
        seconds.value.arrivals.continuation.yield()
      }
      defer { alarm.cancel() }
      // A second that came earlier may have left something in the stream.
      while octets == before, !isLate {
        guard await iterator.next() != nil else { return }
      }
      if isLate { return }
    }
  }

  /// Begins to count anew.
  func reset() { (octets, best) = (0, 0) }

  func end() async {
    connection.observeValues(nil)
    try? await connection.unsubscribe(cccd: configuration)
  }
}
