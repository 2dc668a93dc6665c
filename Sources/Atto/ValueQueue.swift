import ATT
import GATT

/// A value that a server sent unasked.
public struct ReceivedValue: Equatable, Sendable {
  /// The characteristic's value handle.
  public let handle: AttributeHandle
  /// The octets.
  public let value: [UInt8]
  /// Whether it was an indication, which has been confirmed, or a notification.
  public let isIndication: Bool
  /// How many values were lost directly before this one, because nobody took them in time.
  public let missed: Int
}

/// Values on their way to one consumer, in order of arrival. The loop's thread only.
///
/// When `limit` values wait, the connection stops reading from its link, so that the peer is
/// held back and nothing is lost. It cannot do so on L2CAP's fixed channel, which has no flow
/// control, nor while a response is awaited, which may stand behind more values: there the
/// queue goes on to four times the limit, and what comes beyond that is dropped, and counted in
/// the value after it. What is left in the link once the peer has gone is taken whole; it is no
/// more than the kernel keeps for a socket.
final class ValueQueue {
  /// The values it takes; nil for all.
  let handle: AttributeHandle?
  private let limit: Int
  @exclusivity(unchecked) private var queue = PDUQueue()
  @exclusivity(unchecked) private var missed = 0
  /// Those who wait for the next value, in the order of their coming.
  @exclusivity(unchecked) private var waiting: [Completion<[ReceivedValue]?>] = []
  /// Set once nothing more will come: nil inside for an orderly end.
  @exclusivity(unchecked) private var end: AttoError??
  /// Called when there is room again.
  @exclusivity(unchecked) var whenDrained: (() -> Void)?

  init(handle: AttributeHandle?, limit: Int) {
    self.handle = handle
    self.limit = limit
  }

  /// Whether the connection should stop reading.
  var isFull: Bool { queue.count >= limit }

  /// - Parameter isLimited: whether a value is dropped if too many wait.
  func offer(
    _ handle: AttributeHandle, _ value: RawSpan, isIndication: Bool, isLimited: Bool = true
  ) {
    if !waiting.isEmpty {
      waiting.removeFirst().resume(
        .success([
          ReceivedValue(
            handle: handle, value: value.owned, isIndication: isIndication, missed: missed)
        ]))
      missed = 0
      return
    }
    guard !isLimited || queue.count < limit * 4 else {
      missed += 1
      return
    }
    queue.append(limit: value.byteCount + 7) { out in
      out.append(handle)
      out.append(isIndication ? 1 as UInt8 : 0)
      out.append(UInt32(truncatingIfNeeded: missed), as: UInt32.self)
      out.append(value)
    }
    missed = 0
  }

  /// Gives all that waits, or the first value that comes; nil at an orderly end.
  func take(_ completion: Completion<[ReceivedValue]?>) {
    if queue.isEmpty {
      if let end {
        completion.resume(end.map { .failure($0) } ?? .success(nil))
      } else {
        waiting.append(completion)
        completion.whenCancelled = { [unowned self] in
          waiting.removeAll { $0 === completion }
        }
      }
      return
    }
    let wasFull = isFull
    var values: [ReceivedValue] = []
    values.reserveCapacity(queue.count)
    while !queue.isEmpty {
      queue.withFirst { entry in
        let handle = entry.unsafeLoadUnaligned(fromByteOffset: 0, as: UInt16.self)
        let missed = entry.unsafeLoadUnaligned(fromByteOffset: 3, as: UInt32.self)
        values.append(
          ReceivedValue(
            handle: AttributeHandle(UInt16(littleEndian: handle)),
            value: entry.extracting(droppingFirst: 7).owned, isIndication: entry.octet(at: 2) == 1,
            missed: Int(missed)))
      }
      queue.removeFirst()
    }
    completion.resume(.success(values))
    if wasFull { whenDrained?() }
  }

  /// Nothing more will come. What waits is still given.
  func finish(_ error: AttoError?) {
    guard end == nil else { return }
    end = .some(error)
    whenDrained = nil
    let waiting = self.waiting
    self.waiting = []
    for waiter in waiting { waiter.resume(error.map { .failure($0) } ?? .success(nil)) }
  }
}
