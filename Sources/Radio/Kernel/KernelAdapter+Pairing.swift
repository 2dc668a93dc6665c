public import Links

/// Pairing. The kernel pairs; an agent answers its questions.
///
/// Every program with a management socket is asked, and the first answer counts. So as long as no
/// agent was set, this adapter answers only for peers of its own: those it connects to, those it
/// has links with, and all while it advertises connectably. It then accepts where there is
/// nothing to compare, if this end is bondable, and refuses everything else.
extension KernelAdapter {
  /// Makes an agent answer from now on, for every peer of the adapter, and sets the adapter's
  /// capability to the agent's and bonding on; nil: as it was in the beginning.
  ///
  /// - Throws: `management`, or what commands throw.
  public func setAgent(_ agent: (any PairingAgent)?) async throws(RadioError) {
    self.agent = agent
    guard let agent else { return }
    try await command(.setCapability, [agent.capability.rawValue])
    if !settings.contains(.bondable) { try await setBondable(true) }
    // Without it the kernel pairs the old way, whose keys are weak and never `fips`; kernels
    // without it, and adapters that are set otherwise, pair all the same.
    if information.supported.contains(.secureConnections), !settings.contains(.secureConnections) {
      try? await set(.setSecureConnections, true)
    }
  }

  public var agentCapability: PairingCapability? { agent?.capability }

  /// Pairs with a peer, connecting to it if there is no link yet. Its keys come to those who
  /// ``observeKeys(_:)``.
  ///
  /// - Throws: `pairing`; `management` with `alreadyPaired`, `connectFailed` and others;
  ///   `timedOut`, `cancelled`, or what commands throw.
  public func pair(
    with peer: BluetoothAddress, timeout: Duration = .seconds(60)
  ) async throws(RadioError) {
    let capability = agent?.capability ?? .none
    peers.insert(peer)
    pairings.commandBegins(peer)
    do throws(RadioError) {
      try await withCancellation(of: peer) { () throws(RadioError) in
        try await self.command(
          .pairDevice, peer.managementOctets + [capability.rawValue], patience: timeout)
      }
      _ = pairings.commandEnds(peer, nil)
    } catch {
      switch error {
      case .managementSilent:
        _ = pairings.commandEnds(peer, nil)
        channel?.send(.cancelPairing, index, peer.managementOctets)
        throw .timedOut(peer, after: timeout)
      case .management(_, .cancelled, _) where Task.isCancelled:
        _ = pairings.commandEnds(peer, nil)
        throw .cancelled
      case .management(_, let status, _):
        guard let failure = pairings.commandEnds(peer, status) else { throw error }
        tell { await $0.failed(peer, failure) }
        throw .pairing(peer, failure)
      default:
        _ = pairings.commandEnds(peer, nil)
        throw error
      }
    }
  }

  public func pairingFailure(
    of peer: BluetoothAddress, within time: Duration
  ) async -> PairingFailure? {
    guard end == nil else { return nil }
    return await pairings.failure(of: peer, within: time, isolation: self)
  }

  private func withCancellation(
    of peer: BluetoothAddress, _ body: () async throws(RadioError) -> [UInt8]
  ) async throws(RadioError) {
    let result: Result<[UInt8], RadioError> = await withTaskCancellationHandler {
      do throws(RadioError) {
        return .success(try await body())
      } catch {
        return .failure(error)
      }
    } onCancel: {
      later { $0.channel?.send(.cancelPairing, $0.index, peer.managementOctets) }
    }
    _ = try result.get()
  }

  /// Forgets the keys of a peer, and ends a link with it.
  ///
  /// - Throws: `management` with `notPaired`, or what commands throw.
  public func unpair(_ peer: BluetoothAddress) async throws(RadioError) {
    try await command(.unpairDevice, peer.managementOctets + [1])
  }

  // MARK: Keys

  /// Calls `body` on the loop with each key that the kernel advises to store.
  public func observeKeys(_ body: @escaping @Sendable (BondKey) -> Void) {
    keyObservers.append(body)
  }

  /// Gives the kernel the keys of all bonds, in place of those that it has.
  ///
  /// - Throws: `management` with `invalidParameters`, `unsupported` for more than fit into a
  ///   frame, or what commands throw. Traps for a key that has not 16 octets.
  public func load(_ keys: [LongTermKey]) async throws(RadioError) {
    try await command(.loadLongTermKeys, try Self.counted(keys.map(\.octets)))
  }

  /// Gives the kernel the identities of all bonds, in place of those that it has. Throws as
  /// above.
  public func load(_ keys: [IdentityResolvingKey]) async throws(RadioError) {
    try await command(.loadIdentityKeys, try Self.counted(keys.map(\.octets)))
  }

  // MARK: The kernel's questions

  private func isOurs(_ peer: BluetoothAddress) -> Bool {
    agent != nil || peers.contains(peer) || !attempts.isEmpty || listener != nil
  }

  /// - Parameter value: what both ends show; nil if there is nothing to compare.
  func confirm(_ peer: BluetoothAddress, value: UInt32?) {
    guard isOurs(peer) else { return pairings.noted(peer) }
    let agent = agent
    let isBondable = settings.contains(.bondable)
    // While nobody has answered here, it is the peer who refuses.
    pairings.noted(peer, value == nil ? .accepted : .compared)
    ask(peer) { adapter in
      let isAccepted =
        if let value {
          await agent?.matches(value, shownBy: peer) ?? false
        } else {
          await agent?.accepts(peer) ?? isBondable
        }
      guard !Task.isCancelled else { return }
      if !isAccepted { await adapter.note(peer, .refused) }
      await adapter.reply(isAccepted ? .confirm : .refuseConfirmation, peer.managementOctets)
    }
  }

  func enterPasskey(for peer: BluetoothAddress) {
    guard isOurs(peer) else { return pairings.noted(peer) }
    let agent = agent
    ask(peer) { adapter in
      let passkey = await agent?.passkey(shownBy: peer)
      guard !Task.isCancelled else { return }
      if let passkey, passkey <= 999_999 {
        await adapter.note(peer, .entered)
        await adapter.reply(.enterPasskey, peer.managementOctets + passkey.octets(4))
      } else {
        await adapter.note(peer, .refused)
        await adapter.reply(.refusePasskey, peer.managementOctets)
      }
    }
  }

  func show(_ passkey: UInt32, to peer: BluetoothAddress, entered: Int) {
    pairings.noted(peer, .shown)
    tell { await $0.show(passkey, to: peer, entered: entered) }
  }

  private func note(_ peer: BluetoothAddress, _ step: PairingStep) { pairings.noted(peer, step) }

  /// Has a question answered, unless pairing ends before.
  private func ask(
    _ peer: BluetoothAddress, _ body: @escaping @Sendable (KernelAdapter) async -> Void
  ) {
    let question = Task { [weak self] in
      guard let self else { return }
      await body(self)
    }
    pairings.asking(peer, question)
  }

  /// Tells the agent something, in order.
  private func tell(_ body: @escaping @Sendable (any PairingAgent) async -> Void) {
    guard let agent else { return }
    Task(executorPreference: loop.tasks) { await body(agent) }
  }

  // MARK: The end

  func hasPaired(_ peer: BluetoothAddress) {
    guard pairings.paired(peer) else { return }
    tell { await $0.paired(with: peer) }
  }

  func pairingFailed(_ peer: BluetoothAddress, _ status: ManagementStatus) {
    let failure = pairings.failed(peer, status)
    tell { await $0.failed(peer, failure) }
  }

  /// - Parameter reason: MGMT_DEV_DISCONN_*; 4 is for a failed authentication.
  func pairingEnded(_ peer: BluetoothAddress, _ reason: UInt8) {
    let failure = pairings.disconnected(peer, isAuthenticationFailure: reason == 4)
    if let failure { tell { await $0.failed(peer, failure) } }
  }

  /// An answer may come too late: the peer has given up, or another agent was faster.
  private func reply(_ opcode: ManagementOpcode, _ parameters: [UInt8]) async {
    _ = try? await command(opcode, parameters)
  }
}
