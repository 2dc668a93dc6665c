import AttoATT
import AttoLinks

/// The times of an exchange on a bearer, in nanoseconds of CLOCK_MONOTONIC. See `Connection.timeExchanges(_:)`.
@nonexhaustive public enum TimedExchange: Hashable, Sendable {
  /// A request of this end and the response to it.
  case roundTrip(sent: Sending, response: Arrival)
  /// A notification or an indication of the peer.
  case value(Arrival)
  /// A command of this end: in the order of sending, once the controller has reported it as completed. Without stamps
  /// of that before each attempt to send it.
  case command(Sending)

  /// The times of a PDU that this end has sent.
  public struct Sending: Hashable, Sendable {
    /// The call that gave it to the kernel.
    public var call: Int64
    /// The kernel gave it to the controller; nil without a stamp.
    public var given: Int64?
    /// The controller reported it as completed; nil without a stamp.
    public var completed: Int64?

    package init(call: Int64, given: Int64? = nil, completed: Int64? = nil) {
      (self.call, self.given, self.completed) = (call, given, completed)
    }
  }

  /// The times of a PDU that has arrived.
  public struct Arrival: Hashable, Sendable {
    /// The kernel received it; nil without a stamp.
    public var kernel: Int64?
    /// This program received it.
    public var program: Int64

    package init(kernel: Int64? = nil, program: Int64) {
      (self.kernel, self.program) = (kernel, program)
    }
  }
}

/// Times the exchanges of a bearer.
///
/// # Theory
/// A bearer has one request in flight at a time (Vol 3, Part F, 3.3.2), so the next response belongs to the
/// request that was sent last. The kernel's stamps of that request wait on the socket's error queue, and
/// are taken from it when the response has come. A stamp that comes later than that is missing: the
/// exchange is reported without it.
///
/// Commands have no response. Their stamps are taken when the socket says that some wait, and controllers complete
/// packets in the order in which they were given. So a command is reported when it is completed, or a later one.
final class ExchangeTimer {
  private let stamps: SocketStamps?
  private let report: (TimedExchange) -> Void
  /// The request in flight: the call that sent it, and its number among the socket's PDUs.
  private var request: (call: Int64, number: UInt32)?
  /// The commands that are not completed, oldest first; at most ``SocketStamps/capacity``.
  private var commands: [(call: Int64, number: UInt32)] = []

  init(_ stamps: SocketStamps?, _ report: @escaping (TimedExchange) -> Void) {
    self.stamps = stamps
    self.report = report
  }

  /// Whether the link is reported as in error while stamps wait.
  var collects: Bool { stamps?.kinds.contains(.completed) == true }

  func collect() {
    stamps?.collect()
    // The stamp of the first one may be lost.
    while isCompleted(0) || isCompleted(1) { reportCommand() }
  }

  private func isCompleted(_ place: Int) -> Bool {
    place < commands.count && stamps?.sent(commands[place].number)?.completed != nil
  }

  private func reportCommand() {
    report(.command(stamped(commands.removeFirst())))
  }

  private func stamped(_ pdu: (call: Int64, number: UInt32)) -> TimedExchange.Sending {
    let stamps = stamps?.sent(pdu.number)
    return TimedExchange.Sending(call: pdu.call, given: stamps?.given, completed: stamps?.completed)
  }

  /// Before each attempt to send a PDU; the last one counts.
  func sends(_ pdu: RawSpan, at now: Int64) {
    guard pdu.byteCount > 0 else { return }
    let opcode = Opcode(pdu.octet(at: 0))
    if opcode.isCommand { sendsCommand(at: now) }
    guard opcode.response != nil else { return }
    request = (now, stamps?.next ?? 0)
  }

  private func sendsCommand(at now: Int64) {
    guard collects, let number = stamps?.next else { return report(.command(.init(call: now))) }
    if commands.last?.number == number { commands.removeLast() }
    if commands.count == SocketStamps.capacity { reportCommand() }
    commands.append((now, number))
  }

  /// After a PDU was received.
  func received(_ pdu: RawSpan, at now: Int64) {
    guard pdu.byteCount > 0 else { return }
    let arrival = TimedExchange.Arrival(kernel: stamps?.arrival, program: now)
    // What this PDU answers may be a command.
    collect()
    switch Opcode(pdu.octet(at: 0)) {
    case .handleValueNotification, .multipleHandleValueNotification, .handleValueIndication:
      report(.value(arrival))
    case let opcode where opcode.isResponse:
      guard let request else { return }
      self.request = nil
      report(.roundTrip(sent: stamped(request), response: arrival))
    default: break
    }
  }
}

extension Opcode {
  /// Whether this is a response, of an error too.
  fileprivate var isResponse: Bool {
    self == .errorResponse || Opcode(rawValue &- 1).response == self
  }
}
