import Atto
import Synchronization

/// The client's end, as an app writes it. The peer answers what it is asked, and sends
/// a burst of values when this end stands at the gate.
enum ClientRows {
  typealias Body = @Sendable (Connection, Rounds, Gate) async throws -> Void

  static let all: [String: Body] = [
    "client-read": { connection, rounds, _ in
      for _ in 0..<rounds.count {
        guard try await connection.readOnce(Counted.value).count == 20 else {
          stop("a wrong value")
        }
      }
    },
    "client-write-command": { connection, rounds, _ in
      let value = [UInt8](repeating: 0x31, count: 20)
      for _ in 0..<rounds.count {
        for _ in 0..<rounds.burst {
          try await connection.writeWithoutResponse(value, to: Counted.value)
        }
        _ = try await connection.readOnce(Counted.value)
      }
    },
    "client-observed": { connection, rounds, gate in
      // What comes is seen in place.
      let seen = Tally()
      connection.observeValues { _, value in seen.add(value.byteCount) }
      for _ in 0..<rounds.count {
        gate.pass(asking: true)
        _ = try await connection.readOnce(Counted.value)
      }
      guard seen.octets == rounds.count * rounds.burst * 20 else {
        stop("\(seen.octets) octets were seen")
      }
    },
    "client-awaited": { connection, rounds, gate in
      let values = try await connection.values(of: Counted.stream)
      var iterator = values.makeAsyncIterator()
      for _ in 0..<rounds.count {
        gate.pass(asking: true)
        for _ in 0..<rounds.burst {
          guard let value = try await iterator.next(), value.value.count == 20, value.missed == 0
          else { stop("a wrong value") }
        }
        _ = try await connection.readOnce(Counted.value)
      }
    },
  ]

  /// Octets that were seen.
  private final class Tally: Sendable {
    private let sum = Atomic<Int>(0)
    var octets: Int { sum.load(ordering: .relaxed) }

    func add(_ octets: Int) { sum.add(octets, ordering: .relaxed) }
  }
}
