import CAtto

/// A procedure of a C caller, whose results become events.
///
/// It is generic like its superclass, because Embedded Swift 6.3 passes the argument to an override
/// in a concrete subclass in the place where only a generic one expects it.
final class Started<P: Procedure>: ProcedureOperation<P> {
  private unowned(unsafe) let connection: Connection
  private let post: (Connection, P.Output) -> ProcedureError?
  /// 0 until the procedure has been started.
  var id: UInt64 = 0
  /// The error of a procedure that has ended before it was started.
  var early: ProcedureError?

  init(
    _ procedure: P, _ connection: Connection,
    _ post: @escaping (Connection, P.Output) -> ProcedureError?
  ) {
    unsafe self.connection = connection
    self.post = post
    super.init(procedure)
  }

  override func finish(_ result: Result<P.Output, ProcedureError>) {
    switch result {
    case .success(let output): unsafe connection.complete(id, post(connection, output))
    case .failure(let error):
      if id == 0 { early = error } else { unsafe connection.complete(id, error) }
    }
  }
}

extension Connection {
  /// Posts the end of a procedure.
  func complete(_ id: UInt64, _ error: ProcedureError?) {
    var event = atto_event()
    event.type = UInt32(ATTO_EVENT_COMPLETE)
    event.id = id
    if let error {
      event.result = Code.of(error)
      switch error {
      case .refused(let refusal):
        event.att_error = refusal.code.rawValue
        event.handle = refusal.handle.rawValue
      case .bearer(.transactionTimeout): break
      // The call that failed the bearer has said why.
      case .bearer: event.result = Int32(ATTO_ERR_FAILED)
      default: break
      }
    }
    post(event)
  }

  func post(_ handle: AttributeHandle, value: [UInt8]) {
    var event = atto_event()
    event.type = UInt32(ATTO_EVENT_VALUE)
    event.handle = handle.rawValue
    post(event, value.span.bytes)
  }

  func post(_ service: Service) {
    var event = atto_event()
    event.type = UInt32(ATTO_EVENT_SERVICE)
    event.handle = service.handle.rawValue
    event.end_handle = service.endGroupHandle.rawValue
    event.uuid = atto_uuid(service.uuid)
    event.flags = service.isPrimary ? 1 : 0
    post(event)
  }

  func post(_ include: IncludedService) {
    var event = atto_event()
    event.type = UInt32(ATTO_EVENT_INCLUDE)
    event.handle = include.handle.rawValue
    event.value_handle = include.startHandle.rawValue
    event.end_handle = include.endGroupHandle.rawValue
    event.uuid = atto_uuid(include.uuid)
    post(event)
  }

  func post(_ characteristic: Characteristic) {
    var event = atto_event()
    event.type = UInt32(ATTO_EVENT_CHARACTERISTIC)
    event.handle = characteristic.declarationHandle.rawValue
    event.value_handle = characteristic.valueHandle.rawValue
    event.end_handle = characteristic.endGroupHandle.rawValue
    event.properties = characteristic.properties.rawValue
    event.uuid = atto_uuid(characteristic.uuid)
    post(event)
  }

  func post(_ descriptor: Descriptor) {
    var event = atto_event()
    event.type = UInt32(ATTO_EVENT_DESCRIPTOR)
    event.handle = descriptor.handle.rawValue
    event.uuid = atto_uuid(descriptor.uuid)
    post(event)
  }
}

/// A call that starts a procedure.
struct Start {
  let connection: Connection
  let now: Instant
  /// Where the caller wants the number of the procedure.
  let id: UnsafeMutablePointer<UInt64>?

  init(_ bearer: UnsafeMutableRawPointer, _ now: Int64, _ id: UnsafeMutablePointer<UInt64>?) {
    connection = Connection.at(bearer)
    self.now = Instant(nanoseconds: now)
    unsafe self.id = id
  }

  var limits: DiscoveryLimits { connection.device.limits }

  /// Starts a procedure. `post` posts its output and returns nil, or an error instead of it.
  func run<P: Procedure>(
    _ procedure: P, exchangesMTU: Bool = false,
    _ post: @escaping (Connection, P.Output) -> ProcedureError?
  ) -> Int32 {
    if connection.session.bearer.failure != nil { return Int32(ATTO_ERR_FAILED) }
    let started = Started(procedure, connection, post)
    let session = connection.session
    let transaction =
      exchangesMTU
      ? session.startExchangeMTU(started, at: now) : session.start(started, at: now)
    if let early = started.early { return Code.of(early) }
    started.id = transaction?.rawValue ?? 0
    unsafe id?.pointee = started.id
    return Code.ok
  }

  /// Starts a procedure without a result.
  func run<P: Procedure>(_ procedure: P) -> Int32 where P.Output == Void {
    run(procedure) { _, _ in nil }
  }

  func range(_ start: UInt16, _ end: UInt16) -> HandleRange? {
    HandleRange(AttributeHandle(start), AttributeHandle(end))
  }
}

@_cdecl("attocore_cancel")
func cancel(_ bearer: UnsafeMutableRawPointer, _ id: UInt64, _ now: Int64) {
  let session = Connection.at(bearer).session
  session.cancel(TransactionID(rawValue: id), at: Instant(nanoseconds: now))
  session.cancel(indication: TransactionID(rawValue: id))
}

@_cdecl("attocore_security_raised")
func securityRaised(_ bearer: UnsafeMutableRawPointer, _ raised: Bool, _ now: Int64) {
  let session = Connection.at(bearer).session
  if raised {
    session.securityRaised(at: Instant(nanoseconds: now))
  } else {
    session.securityNotRaised(at: Instant(nanoseconds: now))
  }
}
