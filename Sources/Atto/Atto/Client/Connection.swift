import AttoATT
import AttoEventLoop
import AttoGATT
import AttoLinks
import AttoRadio

/// A connection to a peer: a GATT client and, if it was given one, a server behind it.
///
/// Functions may be called from any thread. Everything happens on the connection's loop, and a caller
/// that runs there does not leave it. Requests of several calls alternate on the wire, in the order
/// of the calls.
///
/// A connection that is released is closed.
public final class Connection: Sendable {
  /// The loop on which everything happens.
  public let loop: Loop
  /// The peer's name, for messages.
  public let peerName: String
  let core: LoopBound<ConnectionCore>

  /// The radio, which knows why pairing failed.
  private let pairing: PairingSource?

  init(_ core: ConnectionCore, _ pairing: PairingSource? = nil) {
    loop = core.loop
    peerName = core.peerName
    self.pairing = pairing
    core.raising.agentCapability = pairing?.capability
    let bound = LoopBound(core, core.loop)
    self.core = bound
    pairing?.observe { [loop] error in
      loop.execute { bound.value.raising.pairingFailed(error) }
    }
  }

  deinit {
    let core = core
    loop.execute { core.value.close() }
  }

  /// Calls `body` on the loop and waits until it resumes the waiter.
  func withWaiter<Value: Sendable>(
    _ body: @escaping @Sendable (ConnectionCore, Waiter<Value, AttoError>) -> Void
  ) async throws(AttoError) -> Value {
    let core = core
    do throws(AttoError) {
      return try await loop.withWaiter { waiter in body(core.value, waiter) }
    } catch {
      throw await explained(error)
    }
  }

  /// Replaces the end of a link that was being secured by the reason that the radio knows.
  func explained(_ error: AttoError) async -> AttoError {
    guard let pairing, error.isEndOfLink else { return error }
    let core = core
    let wasRaising = try? await loop.withWaiter { (waiter: Waiter<Bool, AttoError>) in
      waiter.resume(.success(core.value.raising.wasActiveAtEnd))
    }
    return wasRaising == true ? await pairing.explained(error) : error
  }

  /// Returns the result of `body`, which is called on the loop.
  func onLoop<Value: Sendable>(
    _ body: @escaping @Sendable (ConnectionCore) -> Value
  ) async throws(AttoError) -> Value {
    try await withWaiter { core, waiter in waiter.resume(.success(body(core))) }
  }

  /// Carries out a procedure, after the procedures that were started before.
  ///
  /// - Throws: `refused`, `violation`, `limit`, `procedureTimeout`, `misuse`, `bearer`, `link`,
  ///   `disconnected`, `closed`, `cancelled`. A procedure that is cancelled sends nothing more.
  public func perform<P: Procedure & Sendable>(
    _ procedure: P
  ) async throws(AttoError) -> P.Output {
    try await withWaiter { core, waiter in
      let operation = AwaitedOperation(procedure, core, waiter)
      let id = core.start(operation)
      waiter.whenCancelled = { core.cancel(id) }
      guard let limit = core.options.procedureTimeout else { return }
      waiter.end(.failure(.procedureTimeout(after: limit)), after: limit)
    }
  }

  /// Exchanges the MTU; once per connection. Vol 3, Part G, 4.3.1.
  ///
  /// This end's limit is ``ConnectionOptions/receiveMTU``.
  ///
  /// - Returns: the new ATT_MTU.
  /// - Throws: `misuse(.mtuAlreadyExchanged)` the second time; `refused` if the peer does not
  ///   support it, and ATT_MTU stays 23; what ``perform(_:)`` throws.
  @discardableResult
  public func exchangeMTU() async throws(AttoError) -> Int {
    _ = try await withWaiter { (core, waiter: Waiter<Int, AttoError>) in
      let mtu = core.session.bearer.configuration.receiveMTU
      let operation = AwaitedOperation(ExchangeMTU(clientReceiveMTU: mtu), core, waiter)
      guard let id = core.startExchangeMTU(operation) else { return }
      waiter.whenCancelled = { core.cancel(id) }
    }
    return try await mtu
  }

  /// ATT_MTU now.
  ///
  /// - Throws: `cancelled`, and nothing else.
  public var mtu: Int {
    get async throws(AttoError) { try await onLoop { $0.session.bearer.mtu } }
  }

  /// The security of the link now.
  ///
  /// - Throws: `cancelled`, and nothing else.
  public var security: LinkSecurity {
    get async throws(AttoError) { try await onLoop { $0.security } }
  }

  /// The addresses of both ends of the link, if they have any that identify bonds: on `le:`
  /// endpoints.
  ///
  /// - Throws: `cancelled`, and nothing else.
  public var addresses: LinkAddresses? {
    get async throws(AttoError) {
      try await onLoop { core in
        core.refreshAddresses()
        return core.addresses
      }
    }
  }

  /// The PHYs in use on an LE link of the kernel, if its socket reports them: Linux 6.12 does after the
  /// first change, and 7.3 only if a single PHY is allowed. nil otherwise, and on other links.
  /// ``AttoRadio/Adapter/connectionInformation(of:)`` knows them on all kernels.
  ///
  /// - Throws: `cancelled`, and nothing else.
  public var phy: LinkPHY? {
    get async throws(AttoError) { try await onLoop { $0.link.phy } }
  }

  /// Raises the link to at least this security, and waits until it is reached.
  ///
  /// - Throws: `securityTimeout` if it takes too long; `pairing` if the link is lost because the peer
  ///   cannot pair or refuses; `link` in place of it without a radio.
  public func raiseSecurity(
    to level: SecurityLevel, within time: Duration = .seconds(30)
  ) async throws(AttoError) {
    try await withWaiter { (core, waiter: Waiter<Void, AttoError>) in
      core.raising.raise(to: level, within: time, waiter)
    }
  }

  /// The request whose response is awaited, and the time the peer has left; nil if there is none. Vol 3, Part F, 3.3.3.
  ///
  /// - Throws: `cancelled`, and nothing else. After the end there is none.
  public var awaitedRequest: (opcode: Opcode, left: Duration)? {
    get async throws(AttoError) {
      try await onLoop { core in
        core.session.bearer.awaitedRequest.map {
          ($0.opcode, .nanoseconds($0.deadline.nanoseconds - core.now.nanoseconds))
        }
      }
    }
  }

  /// What has been sent and received so far, also after the end.
  ///
  /// - Throws: `cancelled`, and nothing else.
  public var counters: ConnectionCounters {
    get async throws(AttoError) { try await onLoop { $0.counters } }
  }

  /// Closes the link. Waiting and later calls throw `closed`. Further calls do nothing.
  public func close() {
    let core = core
    loop.inline { core.value.close() }
  }

  /// Waits for the end of the connection, for whatever reason.
  ///
  /// - Throws: `cancelled`, and nothing else. ``endReason`` has the reason.
  public func waitUntilClosed() async throws(AttoError) {
    try await withWaiter { core, waiter in core.awaitClose(waiter) }
  }

  /// Why the connection has ended; nil while it is open.
  public var endReason: AttoError? {
    get async { (try? await onLoop { $0.end }) ?? nil }
  }

  /// Calls `body` with each notified and indicated value, on the loop and without a copy; nil ends
  /// this. For the lowest overhead; in general use ``values(of:)``.
  public func observeValues(_ body: (@Sendable (AttributeHandle, RawSpan) -> Void)?) {
    let core = core
    loop.inline { core.value.values.observer = body }
  }

  /// The core, for callers on the loop; traps elsewhere.
  func coreHere(_ function: StaticString = #function) -> ConnectionCore {
    core.value(in: function)
  }

  func withCore(_ body: @escaping @Sendable (ConnectionCore) -> Void) {
    let core = core
    loop.inline { body(core.value) }
  }
}

/// A procedure and its waiting caller.
final class AwaitedOperation<P: Procedure>: ProcedureOperation<P> {
  private let waiter: Waiter<P.Output, AttoError>
  private unowned let core: ConnectionCore

  init(_ procedure: P, _ core: ConnectionCore, _ waiter: Waiter<P.Output, AttoError>) {
    self.core = core
    self.waiter = waiter
    super.init(procedure)
  }

  override func finish(_ result: Result<P.Output, ProcedureError>) {
    waiter.resume(
      result.mapError { AttoError($0, end: core.end, obstacle: core.raising.obstacle) })
  }
}
