public import ATT
import EventLoop
public import Links

extension KernelAdapter {
  /// Connects as soon as the peer advertises and takes connections. While this adapter
  /// advertises connectably itself, controllers of the older kind may refuse.
  ///
  /// - Throws: `timedOut`, `cancelled`, `closed`, `unplugged`, `link` with what the kernel says.
  public func connect(
    to peer: BluetoothAddress, timeout: Duration? = .seconds(30)
  ) async throws(RadioError) -> ConnectedLink {
    try await connect(to: peer, security: .low, timeout: timeout)
  }

  /// Connects, and counts the link as connected when it has this security. Pairing needs an
  /// agent at both ends; this adapter is one for its own peers, see ``setAgent(_:)``.
  ///
  /// - Throws: what ``connect(to:timeout:)`` throws; `pairing` if the link was lost over that.
  public func connect(
    to peer: BluetoothAddress, security: SecurityLevel, timeout: Duration? = .seconds(30)
  ) async throws(RadioError) -> ConnectedLink {
    let id = nextID()
    let result: Result<ConnectedLink, RadioError> = await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        // One step, after any await has let others go first.
        if let end { return continuation.resume(returning: .failure(end)) }
        guard !Task.isCancelled else { return continuation.resume(returning: .failure(.cancelled)) }
        let source = address.value == 0 ? L2CAPSource.any : .adapter(index)
        let attempt = LinkAttempt(
          on: loop, timeout: timeout,
          { () throws(LinkError) in
            try SocketConnector(
              L2CAPAddress(peer, source: source), options: L2CAPOptions(security: security))
          },
          completion: { [weak self, loop] end in
            let isConnected = if case .connected = end { true } else { false }
            let reason: RadioError? = self?.assumeIsolated {
              $0.attempts[id] = nil
              if isConnected { $0.peers.insert(peer) }
              return $0.end
            }
            let result: Result<ConnectedLink, RadioError> =
              switch end {
              case .connected(let link):
                .success(
                  ConnectedLink(link, peer: peer, identity: "", isCentral: true, loop: loop))
              case .failed(let error): .failure(.link(error))
              case .unwatched(let error):
                .failure(.system("watch a descriptor", errno: error.errno))
              case .timedOut(let time): .failure(.timedOut(peer, after: time))
              case .givenUp: .failure(reason ?? .cancelled)
              }
            continuation.resume(returning: result)
          })
        attempts[id] = attempt
        attempt.start()
      }
    } onCancel: {
      later { $0.attempts[id]?.giveUp() }
    }
    return try result.get()
  }

  /// Strength and power of a connection, and what the controllers have agreed on for it.
  ///
  /// - Throws: `management` with `notConnected`, or what commands throw.
  public func connectionInformation(
    of peer: BluetoothAddress
  ) async throws(RadioError) -> ConnectionInformation {
    let answer = try await command(.getConnectionInformation, peer.managementOctets)
    guard var information = ConnectionInformation(answer) else {
      throw .managementSilent(.getConnectionInformation, adapter: index)
    }
    // What came since the last turn of the loop is there already.
    monitor?.receive()
    information.parameters = monitor?.links[peer]
    return information
  }

  /// Sets what connections with these peers are like from their beginning. Replaces all that
  /// was set before.
  ///
  /// - Throws: `management` with `invalidParameters`, or what commands throw.
  public func loadConnectionParameters(
    _ parameters: [BluetoothAddress: PreferredConnectionParameters]
  ) async throws(RadioError) {
    try await command(
      .loadConnectionParameters, try Self.counted(parameters.map { $1.octets($0) }))
  }

  /// Ends the link with a peer for all programs that use it.
  ///
  /// - Throws: `management` with `notConnected`, or what commands throw.
  public func disconnect(_ peer: BluetoothAddress) async throws(RadioError) {
    try await command(.disconnect, peer.managementOctets)
  }

  /// A count and so many items.
  ///
  /// - Throws: `unsupported` if they do not fit into a frame.
  static func counted(_ items: [[UInt8]]) throws(RadioError) -> [UInt8] {
    let octets = items.flatMap(\.self)
    guard octets.count <= 0xFFFF - 2 else {
      throw .unsupported("\(items.count) entries at a time")
    }
    return items.count.octets(2) + octets
  }
}
