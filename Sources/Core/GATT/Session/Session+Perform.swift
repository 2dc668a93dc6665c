import AttoATT

/// Why a procedure that was driven by ``Session/perform(_:at:send:receive:deliver:)`` has failed.
public enum PerformError<LinkFailure: Error>: Error {
  /// The procedure or its bearer has failed.
  case procedure(ProcedureError)
  /// Sending or receiving has failed. The session has ended.
  case link(LinkFailure)
}

extension Session {
  /// How often in a row `receive` may return nothing while the time stands still.
  private static let standstillLimit = 1000

  /// Carries out a procedure with functions that send and receive PDUs, and returns its result. For
  /// programs that wait for one procedure after another; requests of the peer are answered meanwhile.
  ///
  /// - Parameters:
  ///   - now: returns the time.
  ///   - send: sends one PDU, and waits for room if there is none.
  ///   - receive: waits for the next PDU until a deadline; returns nil if none has come by then. Throws
  ///     if the link has ended. It may return nil earlier. After 1,000 times in a row at one instant of
  ///     `now`, the deadline counts as reached: a clock that stands still does not keep the caller.
  ///   - deliver: gets actions such as a notification, and the octets of their PDU, which
  ///     ``AttoATT/PDU/init(_:mtu:)`` decodes. Indications are confirmed afterwards.
  /// - Throws: `procedure` with what the procedure throws, `bearer(.transactionTimeout)` if the peer
  ///   does not answer, or `bearer(.linkEnded)` if `receive` does not wait although there is no
  ///   deadline; `link` with the error of `send` or `receive`.
  public func perform<P: Procedure, LinkFailure: Error>(
    _ procedure: P, at now: () -> Instant,
    send: (RawSpan) throws(LinkFailure) -> Void,
    receive: (Instant?) throws(LinkFailure) -> [UInt8]?,
    deliver: (SessionAction, RawSpan) -> Void = { _, _ in }
  ) throws(PerformError<LinkFailure>) -> P.Output {
    let operation = Performed(procedure)
    if P.self == ExchangeMTU.self {
      startExchangeMTU(operation, at: now())
    } else {
      start(operation, at: now())
    }
    var idle = (since: now(), count: 0)
    do throws(LinkFailure) {
      while true {
        _ = try transmit { (pdu) throws(LinkFailure) in
          try send(pdu)
          return true
        }
        if operation.result != nil { break }
        guard let octets = try receive(deadline) else {
          let time = now()
          idle = time == idle.since ? (time, idle.count + 1) : (time, 1)
          if idle.count < Self.standstillLimit {
            _ = advance(to: time)
          } else if let deadline {
            _ = advance(to: deadline)
          } else {
            linkEnded()
          }
          continue
        }
        idle.count = 0
        let action = self.receive(octets.span.bytes, at: now())
        switch action {
        case .none, .failed: break
        case .indication:
          deliver(action, octets.span.bytes)
          confirm()
        default: deliver(action, octets.span.bytes)
        }
      }
    } catch {
      if bearer.failure == nil { linkEnded() }
      throw .link(error)
    }
    switch operation.result {
    case .success(let output): return output
    case .failure(let error): throw .procedure(error)
    case nil: throw .procedure(.cancelled)
    }
  }
}

/// Keeps the result of its procedure.
private final class Performed<P: Procedure>: ProcedureOperation<P> {
  var result: Result<P.Output, ProcedureError>?
  override func finish(_ result: Result<P.Output, ProcedureError>) { self.result = result }
}
