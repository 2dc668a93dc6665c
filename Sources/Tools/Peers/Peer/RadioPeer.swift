import Atto
import AttoCommandLine
import AttoRadio

/// A peer on a radio, named by the first argument of a command, and the adapter to reach it.
package struct RadioPeer {
  package let radio: Adapter
  private let target: PeerTarget
  private let timing: AirTiming?

  /// Opens the adapter, and switches it on if it is one of the kernel's.
  package init(_ arguments: Arguments, on loop: Loop) async throws {
    let word = try arguments.word(0, "PEER")
    let endpoint = try await Radios.endpoint(word, on: loop)
    if case .le(let address) = endpoint {
      radio = try await Adapter.kernel(address.source, loop: loop)
      if await radio.state != .poweredOn { try await radio.powerOn() }
      target = .address(address.peer)
    } else if let peer = try endpoint.airPeer() {
      radio = try Adapter.virtual(loop: loop)
      target = peer
    } else {
      throw UsageError("invalid peer \"\(word)\": expected le:ADDRESS or air:NAME")
    }
    timing = endpoint.timing
  }

  /// The adapter and the peer, if the adapter is one of the kernel's.
  package var kernel: (source: L2CAPSource, peer: BluetoothAddress)? {
    guard let index = radio.index, case .address(let peer) = target else { return nil }
    return (.adapter(index), peer)
  }

  package func pair(timeout: Duration) async throws(RadioError) -> BluetoothAddress {
    try await radio.pair(with: target, timeout: timeout)
  }

  /// Opens a channel to the peer. On the virtual air it needs a link, which is returned too; the
  /// kernel opens one by itself.
  package func openChannel(
    _ psm: UInt16, timeout: Duration
  ) async throws(RadioError) -> (Channel, ConnectedLink?) {
    if let (_, peer) = kernel {
      return (try await radio.openChannel(psm, to: peer, timeout: timeout), nil)
    }
    let link = try await radio.connect(to: target, timing: timing, timeout: timeout)
    return (try await radio.openChannel(psm, to: link.peer, timeout: timeout), link)
  }
}
