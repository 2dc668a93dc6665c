import ATT

/// A procedure on its way, with whoever waits for it. Subclasses know how to tell them.
///
/// A class, so that a session can hold procedures of all kinds without knowing any; and an
/// abstract one, because the floors above differ in who waits: a task, a test.
open class ClientOperation {
  /// For subclasses.
  public init() {}

  /// Whether the operation fills the server's prepare queue, of which a client has but one: a
  /// session lets such operations have it one after another.
  open var preparesWrites: Bool { false }

  /// Appends the next request.
  ///
  /// - Throws: as ``Procedure/encodeRequest(into:)``; the operation is failed then.
  open func encodeRequest(into out: inout OutputRawSpan) throws(ProcedureError) {}

  /// Takes a response. True if there is another request to send; false if the operation has
  /// ended, well or not, and whoever waits for it has been told.
  open func receive(_ response: borrowing PDU, mtu: Int) -> Bool { false }

  /// Somebody wants the operation to end. True if it has something to clear first: it goes on,
  /// and ends by itself. See ``Procedure/cancel()``.
  open func cancel() -> Bool { false }

  /// The operation has ended without another response. Called once, and never after
  /// ``receive(_:mtu:)`` has returned false.
  open func fail(_ error: ProcedureError) {}
}

/// An operation that carries out one procedure.
open class ProcedureOperation<P: Procedure>: ClientOperation {
  /// Its accesses end before anybody is told anything, so that they need no check.
  @exclusivity(unchecked) fileprivate var procedure: P

  /// An operation that carries out this procedure.
  public init(_ procedure: P) {
    self.procedure = procedure
    super.init()
  }

  /// Makes this, once it has ended, an operation that carries out another procedure of its kind and
  /// may be started: who asks the same again and again, from ``finish(_:)`` too, needs one object
  /// for it all.
  public final func renew(_ procedure: P) { self.procedure = procedure }

  /// The procedure has ended. Override.
  open func finish(_ result: Result<P.Output, ProcedureError>) {}

  public final override var preparesWrites: Bool { P.preparesWrites }

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
