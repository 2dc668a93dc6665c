import Atto
import Files
import Synchronization

/// A value that the profile gives a behaviour, as it is now.
///
/// Handlers run on the server's loop, inline or as tasks: the lock is never contended, and
/// makes that true without an argument.
final class BehavedValue: Sendable {
  let described: ProfileDatabase.Behaved
  let handle: AttributeHandle
  /// Where an echo goes.
  let echo: AttributeHandle?
  private let octets: Mutex<[UInt8]>
  private let sunk = Mutex<[ClientID: Sunk]>([:])

  /// What a sink has swallowed.
  struct Sunk {
    var writes = 0
    var octets = 0
  }

  /// - Parameter distance: how far its service was moved from where the profile's layout has it.
  init(_ described: ProfileDatabase.Behaved, movedBy distance: Int = 0) {
    func moved(_ handle: AttributeHandle) -> AttributeHandle {
      AttributeHandle(UInt16(clamping: Int(handle.rawValue) + distance))
    }
    self.described = described
    handle = moved(described.handle)
    echo = described.echo.map(moved)
    octets = Mutex(described.value)
  }

  func sink(_ octets: Int, from client: ClientID) {
    sunk.withLock { sunk in
      sunk[client, default: Sunk()].writes += 1
      sunk[client, default: Sunk()].octets += octets
    }
  }

  /// What a client has sunk, which is forgotten by this.
  func takeSunk(by client: ClientID) -> Sunk? {
    sunk.withLock { $0.removeValue(forKey: client) }
  }

  var behaviour: Profile.Behaviour { described.behaviour }

  /// The value, before its counter grows.
  func next() -> [UInt8] {
    octets.withLock { value in
      defer { count(&value) }
      return value
    }
  }

  /// The counter is as many octets as the profile says, least significant first, and wraps.
  private func count(_ value: inout [UInt8]) {
    for index in 0..<min(behaviour.counter ?? 0, value.count) {
      value[index] &+= 1
      if value[index] != 0 { return }
    }
  }

  /// Keeps what is written, in the order of the parts, unless it is a sink.
  func write(_ parts: [(offset: Int, part: [UInt8])]) -> ErrorCode? {
    octets.withLock { value in
      var new = value
      var end = 0
      let limits = described.limits
      for (offset, part) in parts {
        guard offset <= new.count || behaviour.isSink else { return .invalidOffset }
        let longest = limits.isFixedLength ? value.count : limits.maximumLength
        guard offset + part.count <= longest else { return .invalidAttributeValueLength }
        if behaviour.isSink { continue }
        for (index, octet) in part.enumerated() {
          if offset + index < new.count {
            new[offset + index] = octet
          } else {
            new.append(octet)
          }
        }
        end = max(end, offset + part.count)
      }
      if !behaviour.isSink {
        if !limits.isFixedLength { new.removeLast(new.count - end) }
        value = new
      }
      return nil
    }
  }
}
