import AttoATT
import AttoEventLoop
import AttoGATT

extension LocalServer {
  /// Sends a value to the clients that have subscribed to its indications, and waits for their
  /// confirmations. Vol 3, Part G, 4.11.
  ///
  /// In a handler of a write this delays the write's response until the client has confirmed. A client
  /// that never confirms is disconnected after 30 s. Use ``beginIndicating(_:of:to:)`` there. Debug
  /// builds warn of it once, on standard error.
  ///
  /// - Throws: `cancelled` if the caller's task is cancelled. Indications that have been sent by
  ///   then are still confirmed.
  @discardableResult
  public func indicate(
    _ value: [UInt8], of handle: AttributeHandle, to client: ClientID? = nil
  ) async throws(AttoError) -> Delivered {
    #if DEBUG
      if let writer = IndicationAdvice.writer {
        let isAwaited = try await onLoop {
          $0.subscribers(of: handle, .indication, client).contains(writer)
        }
        if isAwaited { IndicationAdvice.warn(handle) }
      }
    #endif
    return try await beginIndicating(value, of: handle, to: client).confirmations()
  }

  /// Sends a value to the clients that have subscribed to its indications, and returns without
  /// waiting for their confirmations. Values that are sent afterwards arrive after it.
  ///
  /// - Throws: `cancelled`, and nothing else.
  public func beginIndicating(
    _ value: [UInt8], of handle: AttributeHandle, to client: ClientID? = nil
  ) async throws(AttoError) -> SentIndication {
    try await onLoop { core in
      SentIndication(IndicationRound(core, handle, value, to: client))
    }
  }
}

/// A value that was sent to clients as an indication.
public final class SentIndication: Sendable {
  private let round: LoopBound<IndicationRound>

  init(_ round: IndicationRound) { self.round = LoopBound(round, round.loop) }

  /// Waits until each client has confirmed the value, or its connection has ended.
  ///
  /// - Throws: `cancelled` if the caller's task is cancelled. Indications that still wait for their
  ///   turn are not sent then.
  public func confirmations() async throws(AttoError) -> Delivered {
    let round = round
    return try await round.loop.withWaiter { waiter in round.value.wait(waiter) }
  }
}

/// The indications of one value to several clients. Used on the loop's thread.
final class IndicationRound {
  let loop: Loop
  private var sent: [(connection: ConnectionCore, id: TransactionID)] = []
  private var open = 0
  private var delivered = Delivered()
  private let waiters = WaiterList<Void, Delivered, AttoError>()

  init(
    _ core: ServerCore, _ handle: AttributeHandle, _ value: [UInt8], to client: ClientID?
  ) {
    loop = core.loop
    for target in core.subscribers(of: handle, .indication, client) {
      guard let connection = core.connection(target) else { continue }
      open += 1
      if connection.cuts(value.count, of: handle) { delivered.cut += 1 }
      let id = connection.indicate(handle, value) { [self] error in ended(error) }
      if let id { sent.append((connection, id)) }
    }
  }

  private func ended(_ error: AttoError?) {
    if error == nil { delivered.count += 1 } else { delivered.failures += 1 }
    open -= 1
    if open == 0 { waiters.resumeAll(.success(delivered)) }
  }

  func wait(_ waiter: Waiter<Delivered, AttoError>) {
    guard open > 0 else { return waiter.resume(.success(delivered)) }
    waiters.append(waiter)
    waiter.whenCancelled = { [self] in
      waiter.resume(.failure(.cancelled))
      for (connection, id) in sent where connection.cancel(indication: id) { ended(.cancelled) }
    }
  }
}
