public import AttoLinks

// What only adapters of the kernel can do.
extension Adapter {
  private func controller(_ operation: String) throws(RadioError) -> any RadioController {
    if let endReason { throw endReason }
    guard let controller = backend.controller else { throw .unsupported(operation) }
    return controller
  }

  /// Switches LE and the power on if they are off. A radio of the virtual air is always on.
  ///
  /// - Throws: `unsupported` if the controller has no LE, `management` with `permissionDenied` or
  ///   `blocked`, `managementSilent`, `closed`, `unplugged`.
  public func powerOn() async throws(RadioError) {
    if let endReason { throw endReason }
    try await backend.controller?.powerOn()
  }

  /// Switches the power off: links, advertisements and scans of all programs end.
  ///
  /// - Throws: `management` with the answer of the kernel (`permissionDenied` without
  ///   CAP_NET_ADMIN), `managementSilent`, `closed`, `unplugged`, `unsupported`.
  public func powerOff() async throws(RadioError) {
    try await controller("switching the power off").powerOff()
  }

  /// Signal strength and power of a connection, and the parameters that the controllers have agreed
  /// on; nil on the virtual air.
  ///
  /// - Throws: `management` with `notConnected`, and what ``powerOff()`` throws.
  public func connectionInformation(
    of peer: BluetoothAddress
  ) async throws(RadioError) -> ConnectionInformation? {
    if let endReason { throw endReason }
    return try await backend.controller?.connectionInformation(of: peer)
  }

  /// Sets the parameters that connections with these peers start with. Replaces all that were set
  /// before. Does nothing on the virtual air.
  ///
  /// - Throws: `management` with `invalidParameters`, and what ``powerOff()`` throws.
  public func loadConnectionParameters(
    _ parameters: [BluetoothAddress: PreferredConnectionParameters]
  ) async throws(RadioError) {
    if let endReason { throw endReason }
    try await backend.controller?.loadConnectionParameters(parameters)
  }

  /// Asks the controller to change the parameters of a link. The peer may refuse; see
  /// ``connectionInformation(of:)``.
  ///
  /// - Returns: false if it cannot be asked: without a link, for a link that was made before the adapter
  ///   was opened, without CAP_NET_RAW, and on the virtual air.
  package func updateConnection(
    with peer: BluetoothAddress, _ parameters: PreferredConnectionParameters
  ) -> Bool {
    guard endReason == nil else { return false }
    return backend.controller?.updateConnection(with: peer, parameters) ?? false
  }

  /// Ends the link with a peer for all programs that use it.
  ///
  /// - Throws: `management` with `notConnected`, and what ``powerOff()`` throws.
  public func disconnect(_ peer: BluetoothAddress) async throws(RadioError) {
    try await controller("disconnecting a peer").disconnect(peer)
  }
}
