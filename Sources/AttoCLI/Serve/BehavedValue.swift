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
  /// What clients have asked a stream's values to be long.
  private let streamSizes = Mutex<[ClientID: Int]>([:])

  /// What a sink has swallowed.
  struct Sunk {
    var writes = 0
    var octets = 0
    var sequence = SequenceCount()
    /// Nanoseconds of the loop's clock.
    var first: Int64 = 0
    var last: Int64 = 0

    var tally: WriteTally {
      var tally = WriteTally()
      tally.writes = UInt64(writes)
      tally.octets = UInt64(octets)
      tally.lost = sequence.lost
      tally.doubled = sequence.doubled
      tally.outOfOrder = sequence.outOfOrder
      tally.microseconds = UInt64(max(0, last - first) / 1000)
      return tally
    }
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

  /// Swallows a value. A tally counts its number too, and forgets all at an empty one.
  func sink(_ value: RawSpan, from client: ClientID, at time: Int64) {
    let octets = value.byteCount
    var number: UInt32?
    if behaviour.isTally, octets >= 4 {
      number = (0..<4).reduce(0) {
        $0 | UInt32(value.unsafeLoad(fromByteOffset: $1, as: UInt8.self)) << (8 * UInt32($1))
      }
    }
    sunk.withLock { sunk in
      if behaviour.isTally, octets == 0 {
        sunk[client] = nil
        return
      }
      // In place: a copy of the entry would be made and stored for each write.
      { (entry: inout Sunk) in
        if entry.writes == 0 { entry.first = time }
        entry.last = time
        entry.writes += 1
        entry.octets += octets
        if let number { entry.sequence.take(number) }
      }(&sunk[client, default: Sunk()])
    }
  }

  /// What a read of a tally answers.
  func tally(of client: ClientID) -> [UInt8] {
    (sunk.withLock { $0[client]?.tally } ?? WriteTally()).value
  }

  /// Octets of the next value of a stream to a client.
  func streamSize(for client: ClientID) -> Int {
    streamSizes.withLock { $0[client] } ?? behaviour.streamSize ?? 0
  }

  /// Takes a stream's size as a client writes it: two octets, 4 to 512.
  func setStreamSize(_ parts: [(offset: Int, part: [UInt8])], by client: ClientID) -> ErrorCode? {
    guard parts.count == 1, parts[0].offset == 0, parts[0].part.count == 2 else {
      return .invalidAttributeValueLength
    }
    let size = Int(parts[0].part[0]) | Int(parts[0].part[1]) << 8
    guard 4...Profile.Value.lengthLimit ~= size else { return .valueNotAllowed }
    streamSizes.withLock { $0[client] = size }
    return nil
  }

  /// A client has gone.
  func forget(_ client: ClientID) { _ = streamSizes.withLock { $0.removeValue(forKey: client) } }

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
