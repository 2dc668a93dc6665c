public import AttoLinks

/// A peer to connect to.
public enum PeerTarget: Hashable, Sendable {
  /// The device with this address. On the virtual air every address is a random one.
  case address(BluetoothAddress)
  /// The radio of the virtual air with this name, or the only one with this local name.
  case name(String)
}

extension Adapter {
  /// Connects as soon as the peer advertises connectably.
  ///
  /// While a kernel adapter advertises connectably itself, old controllers may refuse to connect.
  ///
  /// - Parameter timeout: nil waits until the task is cancelled.
  /// - Throws: `timedOut`, `cancelled`, `closed`, `unplugged`, `link` with the error of the kernel;
  ///   on the virtual air `notFound` or `notConnectable` after the timeout, `refused`,
  ///   `protocolViolation`, or a system error.
  public func connect(
    to peer: BluetoothAddress, timeout: Duration? = .seconds(30)
  ) async throws(RadioError) -> ConnectedLink {
    try await connect(to: .address(peer), timeout: timeout)
  }

  /// Connects to a peer by address or by name.
  ///
  /// - Throws: what ``connect(to:timeout:)-(BluetoothAddress,_)`` throws; `ambiguous` if several
  ///   radios have the local name; `unsupported` for a name on a kernel adapter.
  public func connect(
    to peer: PeerTarget, timeout: Duration? = .seconds(30)
  ) async throws(RadioError) -> ConnectedLink {
    try await connect(to: peer, timing: nil, timeout: timeout)
  }

  /// Connects as an `air:` endpoint states.
  ///
  /// - Parameter timing: paces a link of the virtual air; nil: it is as fast as its socket.
  /// - Throws: what ``connect(to:timeout:)-(PeerTarget,_)`` throws; `unsupported` for a timing on a
  ///   kernel adapter.
  package func connect(
    to peer: PeerTarget, timing: AirTiming?, timeout: Duration? = .seconds(30)
  ) async throws(RadioError) -> ConnectedLink {
    try await perform { backend.connect(to: peer, timing: timing, timeout: timeout, $0) }
  }
}
