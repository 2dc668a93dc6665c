import ATT
import EventLoop
import GATT
import Links
import Radio

/// A connection to a peer: a GATT client and, if it was given one, a server behind it.
///
/// Functions may be called from any thread; everything happens on the connection's loop, and a
/// caller that already runs there does not leave it. Calls take turns on the wire, request by
/// request, in the order of their making.
///
/// A connection that is released is closed.
public final class Connection: Sendable {
  /// Where everything of it happens.
  public let loop: Loop
  /// The peer, as people write it.
  public let peerName: String
  let core: LoopBound<ConnectionCore>

  /// The radio, which knows why pairing has failed.
  private let pairing: PairingSource?

  init(_ core: ConnectionCore, _ pairing: PairingSource? = nil) {
    loop = core.loop
    peerName = core.peerName
    self.pairing = pairing
    core.agentCapability = pairing?.capability
    self.core = LoopBound(core, core.loop)
  }

  deinit {
    let core = core
    loop.execute { core.value.close() }
  }

  /// Does something on the loop and waits until it is completed there.
  func complete<Value: Sendable>(
    _ body: @escaping @Sendable (ConnectionCore, Completion<Value>) -> Void
  ) async throws(AttoError) -> Value {
    let core = core
    do throws(AttoError) {
      return try await loop.complete { completion in body(core.value, completion) }
    } catch {
      throw await explained(error)
    }
  }

  /// What lies behind the end of a link that was being raised: the radio knows more.
  func explained(_ error: AttoError) async -> AttoError {
    guard let pairing, error.isEndOfLink else { return error }
    let core = core
    let wasRaising = try? await loop.complete { completion in
      completion.resume(.success(core.value.hasEndedRaising))
    }
    return wasRaising == true ? await pairing.explained(error) : error
  }

  /// Looks at, or changes, something on the loop.
  func onLoop<Value: Sendable>(
    _ body: @escaping @Sendable (ConnectionCore) -> Value
  ) async throws(AttoError) -> Value {
    try await complete { core, completion in completion.resume(.success(body(core))) }
  }

  /// Carries out a procedure, behind those that were begun before.
  ///
  /// - Throws: `refused`, `violation`, `misuse`, `bearer`, `link`, `disconnected`, `cancelled`.
  ///   A procedure that is cancelled sends nothing more.
  public func perform<P: Procedure & Sendable>(
    _ procedure: P
  ) async throws(AttoError) -> P.Output {
    try await complete { core, completion in
      let operation = AwaitedOperation(procedure, core, completion)
      let id = core.start(operation)
      completion.whenCancelled = { core.cancel(id) }
    }
  }

  /// Exchanges the MTU; once per connection. Vol 3, Part G, 4.3.1.
  ///
  /// What this end can receive was fixed when the connection was made
  /// (``ConnectionOptions/receiveMTU``).
  ///
  /// - Returns: ATT_MTU from now on.
  /// - Throws: `misuse(.mtuAlreadyExchanged)` the second time; `refused` if the peer does not
  ///   support it: ATT_MTU stays 23 then; what ``perform(_:)`` throws.
  @discardableResult
  public func exchangeMTU() async throws(AttoError) -> Int {
    _ = try await complete { (core, completion: Completion<Int>) in
      let mtu = core.session.bearer.configuration.receiveMTU
      let operation = AwaitedOperation(ExchangeMTU(clientReceiveMTU: mtu), core, completion)
      guard let id = core.startExchangeMTU(operation) else { return }
      completion.whenCancelled = { core.cancel(id) }
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

  /// The ends of the link, where they have addresses that bonds hang on: on `le:` endpoints.
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

  /// The PHYs in use on an LE link of the kernel; nil elsewhere, and until they were changed: LE 1M
  /// then, as links begin, unless they were made over extended advertising. More of such a link tells
  /// ``KernelAdapter/connectionInformation(of:)``.
  ///
  /// - Throws: `cancelled`, and nothing else.
  public var phy: LinkPHY? {
    get async throws(AttoError) { try await onLoop { $0.link.phy } }
  }

  /// Raises the link to at least this security, and waits until it is reached.
  ///
  /// - Throws: `securityTimeout` if it is not in time; `pairing`, or `link` where there is no
  ///   radio to ask, if the link is lost over it, as happens when the peer cannot or will not.
  public func raiseSecurity(
    to level: SecurityLevel, within time: Duration = .seconds(30)
  ) async throws(AttoError) {
    try await complete { (core, completion: Completion<Void>) in
      core.raiseSecurity(to: level, within: time, completion)
    }
  }

  /// The request whose response is awaited, and how long the peer still has for it; nil if none
  /// is on the wire. Vol 3, Part F, 3.3.3.
  ///
  /// - Throws: `cancelled`, and nothing else: after the end there is none.
  public var awaitedRequest: (opcode: Opcode, left: Duration)? {
    get async throws(AttoError) {
      try await onLoop { core in
        core.session.bearer.awaitedRequest.map {
          ($0.opcode, .nanoseconds($0.deadline.nanoseconds - core.now.nanoseconds))
        }
      }
    }
  }

  /// What has passed so far.
  ///
  /// - Throws: `cancelled`, and nothing else: they can be had after the end too.
  public var counters: ConnectionCounters {
    get async throws(AttoError) { try await onLoop { $0.counters } }
  }

  /// Closes the link. Calls that wait end with `disconnected`; more than once does nothing.
  public func close() {
    let core = core
    loop.inline { core.value.close() }
  }

  /// Waits for the end of the connection, whoever brings it about.
  ///
  /// - Throws: `cancelled`, and nothing else; ``endReason`` says why it has ended.
  public func closed() async throws(AttoError) {
    try await complete { core, completion in core.awaitClose(completion) }
  }

  /// Why the connection has ended; nil while it stands.
  public var endReason: AttoError? {
    get async { (try? await onLoop { $0.end }) ?? nil }
  }

  /// Calls `body` with each notified and indicated value, on the loop and without a copy; nil
  /// ends this. For those who count each nanosecond; others use ``values(of:)``.
  public func observeValues(_ body: (@Sendable (AttributeHandle, RawSpan) -> Void)?) {
    let core = core
    loop.inline { core.value.valueObserver = body }
  }

  /// The core, for callers that run on the loop already; traps for others.
  var coreHere: ConnectionCore { core.value }

  func withCore(_ body: @escaping @Sendable (ConnectionCore) -> Void) {
    let core = core
    loop.inline { body(core.value) }
  }
}

/// A procedure with a caller who waits for it.
final class AwaitedOperation<P: Procedure>: ProcedureOperation<P> {
  private let completion: Completion<P.Output>
  private unowned let core: ConnectionCore

  init(_ procedure: P, _ core: ConnectionCore, _ completion: Completion<P.Output>) {
    self.core = core
    self.completion = completion
    super.init(procedure)
  }

  override func finish(_ result: Result<P.Output, ProcedureError>) {
    completion.resume(
      result.mapError { AttoError($0, end: core.end, obstacle: core.obstacle) })
  }
}
