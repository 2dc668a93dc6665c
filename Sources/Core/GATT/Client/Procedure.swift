import AttoATT

/// A GATT client procedure: a sequence of requests, each of which depends on the responses so far.
/// Vol 3, Part G, 4.
///
/// A procedure is a value without a clock or link. Its owner asks it for a request, sends it, and
/// passes it the response, until it finishes or throws. The owner asks for a request only when the
/// bearer is free, so that the request is built with the ATT_MTU of that moment.
///
/// A procedure that has finished or thrown must not be used again.
public protocol Procedure {
  associatedtype Output: Sendable

  /// Whether the procedure uses the server's prepare queue, of which a client has only one. Two
  /// such procedures must not run at the same time. False by default.
  static var preparesWrites: Bool { get }

  /// The values that the procedure reads or writes. On several bearers, procedures that may affect
  /// each other keep their order. nil, the default, for declarations, which no procedure changes.
  var footprint: Footprint? { get }

  /// Appends the next request. If it is called again without a response, it must append the same
  /// request: the peer had refused it for insufficient security, which has been raised since.
  ///
  /// - Parameter out: an output with room for exactly ATT_MTU octets.
  /// - Throws: ``ProcedureError/misuse(_:)`` if the request does not fit this ATT_MTU or is
  ///   invalid. Then nothing is sent.
  mutating func encodeRequest(into out: inout OutputRawSpan) throws(ProcedureError)

  /// Receives the response to the last request.
  ///
  /// - Parameters:
  ///   - response: the response or Error Response. The bearer has checked that it belongs to the
  ///     opcode of the last request.
  ///   - mtu: the bearer's ATT_MTU.
  /// - Throws: `refused` for an Error Response that the procedure does not expect, `violation` if
  ///   the response contradicts the request or itself, `limit` if one is reached. Then the procedure
  ///   has ended.
  mutating func receive(_ response: borrowing PDU, mtu: Int) throws(ProcedureError) -> Step<Output>

  /// Passes a response to an operation's procedure, and finishes the operation if that was the
  /// last. Returns true if there is another request to send. Do not implement this: every procedure
  /// has it.
  ///
  /// It is a requirement so that it is compiled for the types of each procedure. In the generic
  /// ``ProcedureOperation`` the runtime would look up the types of the step and the result for each
  /// response, which takes about 2000 instructions.
  static func advance(
    _ operation: ProcedureOperation<Self>, _ response: borrowing PDU, mtu: Int
  ) -> Bool

  /// Cancels the procedure.
  ///
  /// - Returns: false, as most do, if the owner may drop the procedure at once, together with the
  ///   response in flight. True if it must clear something on the server first: the owner continues
  ///   until the procedure throws ``ProcedureError/cancelled``.
  mutating func cancel() -> Bool
}

extension Procedure {
  public static var preparesWrites: Bool { false }
  public var footprint: Footprint? { nil }

  /// Returns false: there is nothing to clear.
  public mutating func cancel() -> Bool { false }
}

/// The next step after a response.
public enum Step<Output> {
  /// There is another request to send.
  case request
  /// The procedure has ended.
  case finished(Output)
}

extension Step: Equatable where Output: Equatable {}
extension Step: Sendable where Output: Sendable {}
