import Atto

/// A peer on a radio, as the first word of a command names it, and the radio that leads to it.
///
/// The kernel is asked for an address. On the virtual air a name is a radio's own, or the local
/// name of the only radio that has it; which it is shows when the radio is looked for. So that is
/// left to `AirAdapter`, which does it for every command alike.
enum RadioPeer {
  case kernel(KernelAdapter, BluetoothAddress)
  /// How a link to it is timed comes last.
  case air(AirAdapter, AirEndpoint, AirTiming?)

  /// Opens the radio, and switches one of the kernel's on.
  init(_ arguments: Arguments, on loop: Loop) async throws {
    try arguments.allow(words: 1)
    let word = try arguments.word(0, "the peer")
    let endpoint = try await Radios.endpoint(word, on: loop)
    if case .le(let address) = endpoint {
      let radio = try await KernelAdapter.open(address.source, loop: loop)
      if await radio.state != .poweredOn { try await radio.powerOn() }
      self = .kernel(radio, address.peer)
    } else if let peer = try endpoint.airPeer(), peer != .own {
      self = .air(try AirAdapter(loop: loop), peer, endpoint.timing)
    } else {
      throw UsageError("a peer on a radio is wanted, le:ADDRESS or air:NAME, not \"\(word)\"")
    }
  }

  var radio: any Adapter {
    switch self {
    case .kernel(let radio, _): radio
    case .air(let radio, _, _): radio
    }
  }

  /// Pairs with the peer; gives the address that it has turned out to have.
  func pair(timeout: Duration) async throws(RadioError) -> BluetoothAddress {
    switch self {
    case .kernel(let radio, let peer):
      try await radio.pair(with: peer, timeout: timeout)
      return peer
    case .air(let radio, let peer, _): return try await radio.pair(with: peer, timeout: timeout)
    }
  }

  /// Opens a channel to the peer, with the link that it must have on the air; the kernel makes one
  /// by itself.
  func openChannel(
    _ psm: UInt16, timeout: Duration
  ) async throws(RadioError) -> (Channel, ConnectedLink?) {
    switch self {
    case .kernel(let radio, let peer):
      return (try await radio.openChannel(psm, to: peer, timeout: timeout), nil)
    case .air(let radio, let peer, let timing):
      let link = try await radio.connect(to: peer, timing: timing, timeout: timeout)
      return (try await radio.openChannel(psm, to: link.peer, timeout: timeout), link)
    }
  }
}
