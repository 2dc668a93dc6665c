import Atto
import AttoGATT
import Synchronization

/// Values that a server of the soak's profile sends back, each different.
struct Echoes {
  /// How a value goes and comes back.
  struct Way {
    var name: String
    var written: AttributeHandle
    var value: AttributeHandle
    var configuration: AttributeHandle
    var kind: ClientCharacteristicConfiguration
  }

  static let plain: AttributeHandle = 0x0013
  static let ways = [
    Way(
      name: "notifications", written: 0x0026, value: 0x0020, configuration: 0x0021,
      kind: .notification),
    Way(
      name: "indications", written: 0x0028, value: 0x0023, configuration: 0x0024,
      kind: .indication),
  ]

  private let client: UInt32
  private var number: UInt32 = 0

  init(client: UInt32) { self.client = client }

  /// Returns the client's number, four octets, and the number of the value.
  mutating func next() -> [UInt8] {
    number &+= 1
    return [client, number].flatMap { word in
      (0..<4).map { UInt8(truncatingIfNeeded: word >> (8 * UInt32($0))) }
    }
  }
}

/// Counts by name.
final class Tally: Sendable {
  /// Errors beyond so many different ones are counted together.
  private static let nameLimit = 64
  private let counts = Mutex<[String: Int]>([:])

  func add(_ name: String, _ count: Int = 1) {
    counts.withLock { counts in
      let isKnown = counts[name] != nil || counts.count < Self.nameLimit
      counts[isKnown ? name : "failed otherwise", default: 0] += count
    }
  }

  /// The counts as a JSON object and a newline.
  var line: String {
    let pairs = counts.withLock { counts in
      counts.sorted { $0.key < $1.key }.map { name, count in
        let plain = name.unicodeScalars.map {
          $0.value < 32 || $0 == "\"" || $0 == "\\" ? " " : String($0)
        }
        return "\"\(plain.joined())\": \(count)"
      }
    }
    return "{\(pairs.joined(separator: ", "))}\n"
  }
}
