import ATT

/// A GATT client procedure: requests that follow from the responses before them. Vol 3, Part
/// G, 4.
///
/// A procedure is a value that knows neither time nor link. Its owner asks it for a request,
/// has the bearer send it, and hands it the response; until it is finished or throws. While
/// another procedure's request is on the wire, it waits: the owner asks for the request only
/// when the bearer is free, so that it is built with the ATT_MTU of that moment.
///
/// One that has finished or thrown has ended and is not used again.
public protocol Procedure {
  associatedtype Output: Sendable

  /// Whether the procedure fills the server's prepare queue, of which a client has but one, and
  /// leaves it empty: no two of them may be under way. False if not stated.
  static var preparesWrites: Bool { get }

  /// Appends the next request. Asked again before a response was taken, it appends the same
  /// request: the link has become more secure, after the peer had refused it for want of that.
  ///
  /// - Parameter out: has room for exactly ATT_MTU octets.
  /// - Throws: ``ProcedureError/misuse(_:)`` when what the caller asked for cannot be written
  ///   as a PDU at this ATT_MTU; nothing has been sent then.
  mutating func encodeRequest(into out: inout OutputRawSpan) throws(ProcedureError)

  /// Takes the response to the last request.
  ///
  /// - Parameters:
  ///   - response: the response or Error Response. The bearer has seen that it is one to the
  ///     opcode of the last request.
  ///   - mtu: the bearer's ATT_MTU.
  /// - Throws: `refused` if it is an Error Response that the procedure does not expect,
  ///   `violation` if it contradicts the request or itself, or a limit is reached; the procedure
  ///   has ended then.
  mutating func receive(_ response: borrowing PDU, mtu: Int) throws(ProcedureError) -> Step<Output>

  /// Gives an operation's procedure a response, and tells the operation if that was the last.
  /// True if there is another request to send. Every procedure has this; none writes its own.
  ///
  /// It is a requirement so that each procedure has it compiled for its own types. In
  /// ``ProcedureOperation``, which is generic, the runtime would look up the types of the step
  /// and of the result for each response: some 2,000 instructions.
  static func advance(
    _ operation: ProcedureOperation<Self>, _ response: borrowing PDU, mtu: Int
  ) -> Bool

  /// Asks the procedure to end before it has done its work.
  ///
  /// - Returns: false, as most do, if the owner may drop it at once, together with the response
  ///   under way. True if it has left something on the server that it must clear first: the
  ///   owner goes on with it as before, until it throws ``ProcedureError/cancelled``.
  mutating func cancel() -> Bool
}

extension Procedure {
  public static var preparesWrites: Bool { false }

  /// Nothing to clear.
  public mutating func cancel() -> Bool { false }
}

/// What follows a response.
public enum Step<Output> {
  /// There is another request to send.
  case request
  /// The procedure has ended.
  case finished(Output)
}

extension Step: Equatable where Output: Equatable {}
extension Step: Sendable where Output: Sendable {}
