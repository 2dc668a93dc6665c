import AttoHCI
import AttoLinks
import AttoRadio
import Glibc

// Commands for which the management socket has none of its own: they go to the controller itself. See `LinkMonitor`.
//
// Linux up to 7.3.4 knows nothing of subrating and of the frame space, and its LE Set Event Mask leaves out the events
// about them. So a real controller tells nothing but the status of the command: that it has accepted the request. A
// central then carries it out; the factor is known if the request allows one only. The events are read all the
// same, for controllers and kernels that let them through.

/// Bits of the LE feature set. Vol 6, Part B, 4.6.
private enum Feature {
  static let subrating = 37
  /// To be set by the host, before there is a link.
  static let subratingHost: UInt8 = 38
}

extension KernelBackend {
  /// The handle of a link, and what answers commands about it.
  private func link(
    with peer: BluetoothAddress
  ) throws(RadioError) -> (monitor: LinkMonitor, handle: UInt16) {
    let monitor = try answering()
    monitor.receive()
    guard let handle = monitor.links.handle(of: peer) else { throw .notConnected(peer) }
    return (monitor, handle)
  }

  private func answering() throws(RadioError) -> LinkMonitor {
    guard let monitor else {
      throw .system("send a command to the controller (CAP_NET_RAW is required)", errno: EPERM)
    }
    return monitor
  }

  /// The management socket has no such command: before Linux 6.11 it changes only what later links begin with.
  func updateConnection(
    with peer: BluetoothAddress, _ parameters: PreferredConnectionParameters
  ) -> Bool {
    guard let (_, handle) = try? link(with: peer) else { return false }
    let command = HCICommand.connectionUpdate(
      handle, interval: parameters.interval, latency: parameters.latency,
      timeout: parameters.supervisionTimeout)
    return command.send(to: information.index) == nil
  }

  func requireLinkEvents() throws(RadioError) {
    guard monitor != nil else {
      throw .system("see the parameters of links (CAP_NET_RAW is required)", errno: EPERM)
    }
  }

  nonisolated(nonsending) func prepareSubrating() async throws(RadioError) {
    let monitor = try answering()
    let features = try await monitor.command(.readLocalFeatures, "read the controller's features")
    let octet = Feature.subrating / 8
    guard features.count > octet, features[octet] & 1 << (Feature.subrating % 8) != 0 else {
      throw .unsupported("subrating: the controller of \(information.label) does not have it")
    }
    do throws(RadioError) {
      try await monitor.command(.setHostFeature(Feature.subratingHost), "switch on subrating")
    } catch .refusedByController(_, .commandDisallowed) {
      // There is another link. The feature may have been set before it.
    }
  }

  nonisolated(nonsending) func requestSubrate(
    with peer: BluetoothAddress, _ request: SubrateRequest
  ) async throws(RadioError) {
    let (monitor, handle) = try link(with: peer)
    let agreed = monitor.links[peer]
    let latency = agreed?.latency ?? 0
    // In units of 1.25 ms, of which 8 are one of the timeout. Six events that are used, but not below what the link has.
    let pause = Int(agreed?.interval ?? 0) * Int(request.factor.upperBound) * (Int(latency) + 1)
    let timeout = max(Int(agreed?.supervisionTimeout ?? 42), min(3200, (pause * 6 + 7) / 8))
    try await monitor.command(
      .subrateRequest(
        handle, factor: request.factor, latency: latency, continuation: request.continuation,
        timeout: UInt16(timeout)), "subrate the link")
  }

  nonisolated(nonsending) func requestFrameSpace(
    with peer: BluetoothAddress, microseconds: ClosedRange<UInt16>
  ) async throws(RadioError) {
    let (monitor, handle) = try link(with: peer)
    try await monitor.command(
      .frameSpaceUpdate(handle, space: microseconds), "change the frame space of the link")
  }
}
