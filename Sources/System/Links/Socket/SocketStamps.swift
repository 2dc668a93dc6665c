import CAttoLinux

/// The kernel's time stamps of the PDUs of an L2CAP socket, in nanoseconds of CLOCK_MONOTONIC. On a channel's
/// stream, a PDU is what one call sends.
///
/// # Theory
/// The kernel stamps a received PDU when it takes it from the controller, and hands the stamp out with the
/// PDU. Since Linux 6.15 it also stamps a sent PDU twice: when it gives the PDU to the controller, and when the
/// controller reports it as completed (Number Of Completed Packets, Vol 4, Part E, 7.7.19), which it does
/// after the peer's link layer has acknowledged it. Of a PDU in several packets it stamps the first, but the last
/// on a channel.
///
/// These stamps arrive on the socket's error queue and name a PDU by its number, or, on a stream, by the number
/// of its last octet. An older kernel ignores
/// MSG_ERRQUEUE and would return a received PDU, so the queue is read only if the kernel accepts the
/// option for completions, which is as old as the queue.
///
/// While stamps wait there, the socket is reported as in error. So ``collect()`` has to be called then.
package final class SocketStamps {
  /// The stamps of a sent PDU; nil if they have not come.
  package struct Sent: Equatable, Sendable {
    package var number: UInt32
    package var given: Int64?
    package var completed: Int64?
  }

  /// The stamps that this kernel gives.
  package let kinds: KernelStamps
  /// The stamp of the PDU that was received last; 0 without one.
  package var arrived: Int64 = 0
  /// The same; nil without one.
  package var arrival: Int64? { arrived > 0 ? arrived : nil }
  /// The number of the next PDU to be sent, or of the next octet of a stream. Wraps around.
  package private(set) var next: UInt32 = 0
  private let socket: Int32
  /// PDUs sent last, a ring. A stamp of an older one is ignored.
  private var recent = [Sent](repeating: Sent(number: .max), count: SocketStamps.capacity)
  /// The oldest of them.
  private var oldest = 0

  /// The sent PDUs whose stamps are kept: more than a send buffer of the usual size holds.
  package static let capacity = 1024

  /// nil if the kernel refuses all stamps.
  init?(of socket: Int32) {
    self.socket = socket
    let received = CLINUX_STAMP_SOFTWARE | CLINUX_STAMP_RX_SOFTWARE
    let sent =
      CLINUX_STAMP_TX_SOFTWARE | CLINUX_STAMP_TX_COMPLETION | CLINUX_STAMP_OPT_ID
      | CLINUX_STAMP_OPT_TSONLY
    if clinux_set_stamps(socket, Int32(received | sent)) == 0 {
      kinds = [.arrived, .given, .completed]
    } else if clinux_set_stamps(socket, Int32(received)) == 0 {
      kinds = .arrived
    } else {
      return nil
    }
    // Stamps of an earlier count, whose numbers mean other PDUs.
    collect()
  }

  /// The stamps of a socket of which they are wanted or no longer wanted.
  ///
  /// - Parameters:
  ///   - present: the stamps so far. The kernel goes on to count what is sent while stamps are wanted, so they
  ///     stay.
  static func set(_ isWanted: Bool, of socket: Int32, _ present: SocketStamps?) -> SocketStamps? {
    guard isWanted else {
      _ = clinux_set_stamps(socket, 0)
      return nil
    }
    return present ?? SocketStamps(of: socket)
  }

  func noteSent(_ count: Int32) {
    for _ in 0..<count { noteSent(octets: 1) }
  }

  /// Notes what one call has sent on a stream.
  func noteSent(octets: Int) {
    guard octets > 0 else { return }
    next &+= UInt32(truncatingIfNeeded: octets)
    recent[oldest] = Sent(number: next &- 1)
    oldest = (oldest + 1) % Self.capacity
  }

  /// The stamps of a PDU so far; nil if it is not among the last ``capacity``.
  package func sent(_ number: UInt32) -> Sent? {
    recent.first { $0.number == number }
  }

  /// Takes the stamps of sent PDUs that have come, at most two for each of ``capacity`` PDUs.
  package func collect() {
    guard kinds.contains(.completed) else { return }
    for _ in 0..<2 * Self.capacity {
      var (kind, number, moment): (Int32, UInt32, Int64) = (0, 0, 0)
      guard clinux_next_stamp(socket, &kind, &number, &moment) > 0 else { return }
      add(kind, number, moment)
    }
  }

  private func add(_ kind: Int32, _ number: UInt32, _ moment: Int64) {
    guard moment > 0, let index = recent.firstIndex(where: { $0.number == number }) else { return }
    switch Int(kind) {
    case CLINUX_STAMP_SENT: recent[index].given = moment
    case CLINUX_STAMP_COMPLETED: recent[index].completed = moment
    default: break
    }
  }
}

/// The time stamps that a kernel gives of the PDUs of a link.
public struct KernelStamps: OptionSet, Sendable {
  /// The bits.
  public let rawValue: UInt8
  /// Stamps with these bits.
  public init(rawValue: UInt8) { self.rawValue = rawValue }

  /// When the kernel received a PDU.
  public static let arrived = KernelStamps(rawValue: 1)
  /// When the kernel gave a PDU to the controller: Linux 6.15.
  public static let given = KernelStamps(rawValue: 2)
  /// When the controller reported a PDU as completed: Linux 6.15.
  public static let completed = KernelStamps(rawValue: 4)
}
