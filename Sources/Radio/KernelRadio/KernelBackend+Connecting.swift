import AttoEventLoop
import AttoLinks
import AttoRadio

extension KernelBackend {
  func connect(
    to peer: PeerTarget, timing: AirTiming?, timeout: Duration?,
    _ completion: @escaping RadioCompletion<ConnectedLink>
  ) -> EndOperation {
    guard case .address(let peer) = peer, timing == nil else {
      completion(
        .failure(.unsupported(timing == nil ? "connecting by name" : "simulated link timing")))
      return { _ in }
    }
    let source = source
    attemptCount += 1
    return attempt(peer, timeout) { () throws(LinkError) in
      try SocketConnector(L2CAPAddress(peer, source: source))
    } refused: {
      .link($0)
    } connected: { [weak self, loop] link in
      self?.peers.insert(peer)
      return ConnectedLink(link, peer: peer, identity: "", isCentral: true, loop: loop)
    } completion: { [weak self] result in
      self?.attemptCount -= 1
      completion(result)
    }
  }

  /// Starts to connect a socket to a peer. Returns what ends the attempt.
  ///
  /// - Parameters:
  ///   - refused: the error for one of the socket.
  ///   - connected: makes the result of the connection.
  func attempt<Connection, Value>(
    _ peer: BluetoothAddress, _ timeout: Duration?,
    _ connect: @escaping () throws(LinkError) -> SocketConnector<Connection>,
    refused: @escaping (LinkError) -> RadioError,
    connected: @escaping (Connection) throws(RadioError) -> Value,
    completion: @escaping RadioCompletion<Value>
  ) -> EndOperation {
    var reason = RadioError.cancelled
    let attempt = LinkAttempt(on: loop, timeout: timeout, connect) { end in
      switch end {
      case .connected(let connection):
        completion(Result { () throws(RadioError) in try connected(connection) })
      case .failed(let error): completion(.failure(refused(error)))
      case .unwatched(let error): completion(.failure(RadioError(error)))
      case .timedOut(let time): completion(.failure(.timedOut(peer, after: time)))
      case .givenUp: completion(.failure(reason))
      }
    }
    attempt.start()
    return {
      reason = $0
      attempt.giveUp()
    }
  }

  func accept<Connection>(
    _ listen: () throws(LinkError) -> SocketListener<Connection>,
    hasRoom: @escaping () -> Bool = { true }, deliver: @escaping (Connection) -> Void,
    failure: @escaping (LinkError) -> Void = { _ in }
  ) throws(RadioError) -> SocketAcceptor<Connection> {
    let listener: SocketListener<Connection>
    do throws(LinkError) {
      listener = try listen()
    } catch {
      throw .link(error)
    }
    do throws(LoopError) {
      return try SocketAcceptor(listener, on: loop, hasRoom: hasRoom, deliver, failure: failure)
    } catch {
      throw RadioError(error)
    }
  }
}
