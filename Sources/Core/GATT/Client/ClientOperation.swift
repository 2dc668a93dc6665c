import AttoATT

/// A procedure in progress. Subclasses deliver its result.
///
/// This is an abstract class, so that a session can hold procedures of all types, and the modules
/// above can deliver results in different ways.
open class ClientOperation {
  /// Creates an operation, for subclasses.
  public init() {}

  /// Whether the operation uses the server's prepare queue. A client has only one, so a session
  /// runs such operations one after another.
  open var preparesWrites: Bool { false }

  /// The values that the operation reads or writes; see ``Procedure/footprint``.
  open var footprint: Footprint? { nil }

  /// Appends the next request.
  ///
  /// - Throws: as ``Procedure/encodeRequest(into:)``; then ``fail(_:)`` is called.
  open func encodeRequest(into out: inout OutputRawSpan) throws(ProcedureError) {}

  /// Receives a response.
  ///
  /// - Returns: true if there is another request to send; false if the operation has ended and
  ///   delivered its result or error.
  open func receive(_ response: borrowing PDU, mtu: Int) -> Bool { false }

  /// Cancels the operation. Returns true if it must clear something on the server first: it
  /// continues and ends by itself. See ``Procedure/cancel()``.
  open func cancel() -> Bool { false }

  /// Ends the operation with an error, without another response. Called at most once, and never
  /// after ``receive(_:mtu:)`` has returned false.
  open func fail(_ error: ProcedureError) {}
}

/// An operation that runs one procedure.
open class ProcedureOperation<P: Procedure>: ClientOperation {
  /// Its accesses end before any callback, so they need no check.
  @exclusivity(unchecked) fileprivate var procedure: P

  /// Creates an operation that runs this procedure.
  public init(_ procedure: P) {
    self.procedure = procedure
    super.init()
  }

  /// Replaces the procedure after the operation has ended, so that it can be started again. This
  /// saves an allocation where requests are repeated. It may be called from ``finish(_:)``.
  public final func renew(_ procedure: P) { self.procedure = procedure }

  /// Delivers the result of the procedure. Override this.
  open func finish(_ result: Result<P.Output, ProcedureError>) {}

  public final override var preparesWrites: Bool { P.preparesWrites }

  public final override var footprint: Footprint? { procedure.footprint }

  public final override func encodeRequest(
    into out: inout OutputRawSpan
  ) throws(ProcedureError) {
    try procedure.encodeRequest(into: &out)
  }

  public final override func receive(_ response: borrowing PDU, mtu: Int) -> Bool {
    P.advance(self, response, mtu: mtu)
  }

  public final override func cancel() -> Bool { procedure.cancel() }

  public final override func fail(_ error: ProcedureError) { finish(.failure(error)) }
}

extension Procedure {
  public static func advance(
    _ operation: ProcedureOperation<Self>, _ response: borrowing PDU, mtu: Int
  ) -> Bool {
    do throws(ProcedureError) {
      switch try operation.procedure.receive(response, mtu: mtu) {
      case .request: return true
      case .finished(let output): operation.finish(.success(output))
      }
    } catch {
      operation.finish(.failure(error))
    }
    return false
  }
}
