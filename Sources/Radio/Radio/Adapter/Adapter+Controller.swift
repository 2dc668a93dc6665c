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

  /// Whether the kernel has a link with a peer that it has connected to since the adapter was opened, also without a
  /// socket. It is known by the address of which the kernel tells. Always false on the virtual air, where a link is a
  /// socket.
  package func hasLink(with peer: BluetoothAddress) -> Bool {
    endReason == nil && backend.controller?.hasLink(with: peer) == true
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

  /// The parameters of the adapter's links, also of other programs': when a link begins, and each time they change.
  /// Links that were made before the adapter was opened are not among them. For one consumer; ends when the adapter is
  /// closed. Beyond ``linkChangeLimit`` the oldest are dropped.
  ///
  /// - Throws: `system` without CAP_NET_RAW, `closed`, `unplugged`, `unsupported` for a radio of the virtual air.
  public func linkChanges() throws(RadioError) -> AsyncStream<LinkChange> {
    try controller("the parameters of links").requireLinkEvents()
    let (stream, continuation) = AsyncStream<LinkChange>.makeStream(
      bufferingPolicy: .bufferingNewest(Self.linkChangeLimit))
    let id = nextID()
    linkWatchers[id] = continuation
    continuation.onTermination = { [weak self] _ in self?.later { $0.linkWatchers[id] = nil } }
    return stream
  }

  /// Lets the links that are made from now on be subrated, if the peer's host supports it too, until the power of the
  /// adapter is switched. Requires CAP_NET_RAW. Vol 6, Part B, 4.5.1.
  ///
  /// - Throws: `unsupported` if the controller has no subrating, `refusedByController`, `system` without the right,
  ///   and what ``powerOff()`` throws.
  public func prepareSubrating() async throws(RadioError) {
    try await controller("subrating").prepareSubrating()
  }

  /// Asks the controller to subrate a link that was made after ``prepareSubrating()``: of some connection events one is
  /// used, while nothing is sent. Its supervision timeout grows to six events that are used, if it is shorter.
  ///
  /// It returns when the controller has accepted the request. Linux does not let its event about the result through
  /// (7.3.4); if something does, ``connectionInformation(of:)`` has the factor in use. Vol 4, Part E, 7.8.124.
  ///
  /// - Throws: `refusedByController` with `unsupportedRemoteFeature` if the peer cannot, or another reason;
  ///   `notConnected` without a link that was made since the adapter was opened; `system` without CAP_NET_RAW;
  ///   and what ``powerOff()`` throws.
  public func requestSubrate(
    with peer: BluetoothAddress, _ request: SubrateRequest
  ) async throws(RadioError) {
    try await controller("subrating").requestSubrate(with: peer, request)
  }

  /// Asks the controllers of a link for another time between two packets, 150 microseconds at first, in both directions
  /// and on all PHYs. As for ``requestSubrate(with:_:)``, the result may not be known. Vol 4, Part E, 7.8.151.
  ///
  /// - Parameter microseconds: 0 to 10000.
  /// - Throws: what ``requestSubrate(with:_:)`` throws; `refusedByController` with `unknownCommand` if the controller
  ///   has 150 microseconds only.
  public func requestFrameSpace(
    with peer: BluetoothAddress, microseconds: ClosedRange<UInt16>
  ) async throws(RadioError) {
    try await controller("another frame space")
      .requestFrameSpace(with: peer, microseconds: microseconds)
  }

  /// Ends the link with a peer for all programs that use it.
  ///
  /// - Throws: `management` with `notConnected`, and what ``powerOff()`` throws.
  public func disconnect(_ peer: BluetoothAddress) async throws(RadioError) {
    try await controller("disconnecting a peer").disconnect(peer)
  }
}
