import AttoATT
import AttoEventLoop
import AttoGATT

/// A notified or indicated value.
public struct ReceivedValue: Equatable, Sendable {
  /// The characteristic's value handle.
  public let handle: AttributeHandle
  /// The octets.
  public let value: [UInt8]
  /// Whether it was an indication, which has been confirmed, or a notification.
  public let isIndication: Bool
  /// The number of values lost directly before this one, because none was received in time.
  public let missed: Int
  /// When the connection received it, on the loop's clock (CLOCK_MONOTONIC).
  public let time: Instant
}

/// The values for one consumer, in order of arrival. Used on the loop's thread.
///
/// When `limit` values or `octetLimit` octets wait, the connection stops reading from its link, so that
/// the peer is held back and nothing is lost. It cannot do so on L2CAP's fixed channel, which has no flow
/// control, nor while a response is awaited, which may come after more values. Then the queue grows to
/// four times the limits; values beyond that are dropped, and counted in the next value. What is left in
/// the link after the peer has gone is all accepted: no more than the kernel's socket buffer.
///
/// A value of more than 65,520 octets, which an ATT_MTU of 65,535 lets a peer send, does not fit an
/// entry of the queue. It is dropped and counted too.
final class ValueQueue {
  /// The characteristic's value handle; nil for all values.
  let handle: AttributeHandle?
  private let limit: Int
  private let octetLimit: Int
  /// The handle, the kind, the number of missed values and the time, before a value in the queue.
  private static let headerLength = 15
  @exclusivity(unchecked) private var queue = PDUQueue()
  @exclusivity(unchecked) private var missed = 0
  /// Callers that wait for the next value.
  private let waiters = WaiterList<Void, [ReceivedValue]?, AttoError>()
  /// Set when no more values come: nil inside for a normal end.
  @exclusivity(unchecked) private var end: AttoError??
  /// Called when there is room again.
  @exclusivity(unchecked) var whenDrained: (() -> Void)?

  init(handle: AttributeHandle?, limit: Int, octetLimit: Int) {
    self.handle = handle
    self.limit = limit
    self.octetLimit = octetLimit
  }

  var count: Int { queue.count }
  /// Whether the connection should stop reading.
  var isFull: Bool { queue.count >= limit || queue.byteCount >= octetLimit }
  private var isOverfull: Bool {
    queue.count >= limit * 4 || queue.byteCount >= octetLimit * 4
  }

  /// - Parameter isLimited: whether a value is dropped if too many wait.
  func offer(
    _ handle: AttributeHandle, _ value: RawSpan, isIndication: Bool, isLimited: Bool = true,
    at time: Instant
  ) {
    if !waiters.isEmpty {
      let received = ReceivedValue(
        handle: handle, value: value.owned, isIndication: isIndication, missed: missed,
        time: time)
      missed = 0
      waiters.resumeFirst(.success([received]))
      return
    }
    let length = Self.headerLength + value.byteCount
    guard length <= UInt16.max, !isLimited || !isOverfull else {
      missed += 1
      return
    }
    queue.append(limit: length) { out in
      out.append(handle)
      out.append(isIndication ? 1 as UInt8 : 0)
      out.append(UInt32(truncatingIfNeeded: missed), as: UInt32.self)
      out.append(time.nanoseconds, as: Int64.self)
      out.append(value)
    }
    missed = 0
  }

  /// Resumes with all waiting values, or with the first one that arrives; with nil at a normal end.
  func receive(_ waiter: Waiter<[ReceivedValue]?, AttoError>) {
    if queue.isEmpty {
      if let end {
        waiter.resume(end.map { .failure($0) } ?? .success(nil))
      } else {
        waiters.append(waiter)
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
        let time = entry.unsafeLoadUnaligned(fromByteOffset: 7, as: Int64.self)
        values.append(
          ReceivedValue(
            handle: AttributeHandle(UInt16(littleEndian: handle)),
            value: entry.extracting(droppingFirst: Self.headerLength).owned,
            isIndication: entry.octet(at: 2) == 1, missed: Int(missed),
            time: Instant(nanoseconds: time)))
      }
      queue.removeFirst()
    }
    waiter.resume(.success(values))
    if wasFull { whenDrained?() }
  }

  /// No more values come. Those that wait can still be received.
  func finish(_ error: AttoError?) {
    guard end == nil else { return }
    end = .some(error)
    whenDrained = nil
    waiters.resumeAll(error.map { .failure($0) } ?? .success(nil))
  }
}
