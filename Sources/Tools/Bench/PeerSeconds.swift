import Atto
import AttoEventLoop
import AttoGATT
import CAttoLinux

/// What a peer with ST's throughput application has received: the octets of each second, which it notifies. Used on the
/// loop's thread only. The connection retains it until it observes other values.
///
/// A second begins with the first value after the one before, so that all values are in one of them.
final class PeerSeconds {
  /// How long a second and its notification may take.
  private static let patience: Int64 = 1_500_000_000

  private let place: (value: AttributeHandle, configuration: AttributeHandle)
  private let connection: Connection
  private let loop: Loop
  /// The octets of the seconds so far.
  private(set) var octets: UInt64 = 0
  /// The octets of the best second.
  private(set) var best: UInt32 = 0
  /// When the last second was notified, or ``settle(_:)`` was called.
  private var last: Int64 = 0

  init(
    _ place: (value: AttributeHandle, configuration: AttributeHandle), over connection: Connection,
    on loop: Loop
  ) {
    (self.place, self.connection, self.loop) = (place, connection, loop)
  }

  func begin() async throws {
    let seconds = LoopBound(self, loop)
    connection.observeValues { [value = place.value] handle, octets in
      guard handle == value, octets.byteCount == 4 else { return }
      seconds.value.add(
        octets.unsafeLoadUnaligned(fromByteOffset: 0, as: UInt32.self).littleEndian)
    }
    try await connection.write(
      ClientCharacteristicConfiguration.notification.octets, to: place.configuration)
  }

  private func add(_ count: UInt32) {
    octets += UInt64(count)
    best = max(best, count)
    last = clinux_monotonic()
  }

  /// Waits until these octets are accounted for, or no second is notified any more.
  func settle(_ sent: UInt64) async throws {
    last = clinux_monotonic()
    while octets < sent, clinux_monotonic() < last + Self.patience {
      try await loop.sleep(for: .milliseconds(10))
    }
  }

  /// Forgets the seconds so far.
  func reset() { (octets, best) = (0, 0) }

  func end() async { try? await connection.unsubscribe(cccd: place.configuration) }
}
