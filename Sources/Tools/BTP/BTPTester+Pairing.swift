import Atto
import AttoATT
import AttoRadio

// Pairing: the tester is the person at this end.
extension BTPTester {
  func setCapability(_ parameters: inout BTPParameters) async throws -> [UInt8] {
    let capability = PairingCapability(rawValue: try parameters.number())
    try parameters.end()
    guard let capability else { throw BTPStatus.fail }
    try await adapter.setAgent(BTPAgent(capability, self))
    gap.capability = capability
    return []
  }

  func pair(_ parameters: inout BTPParameters) throws(BTPStatus) -> [UInt8] {
    let peer = try peer(try parameters.address())
    try parameters.end()
    pair(peer, to: gap.requiresMITM ? .high : .medium)
    return []
  }

  func pairV2(_ parameters: inout BTPParameters) throws(BTPStatus) -> [UInt8] {
    let peer = try peer(try parameters.address())
    let mode = try parameters.number(UInt8.self)
    let level = try parameters.number(UInt8.self)
    let isForced = try parameters.number(UInt8.self) != 0
    try parameters.end()
    guard mode == 0x01 || mode == 0xFF, !isForced else { throw .fail }
    let any = gap.requiresMITM ? SecurityLevel.high : .medium
    guard let wanted = level == 0xFF ? any : SecurityLevel(rawValue: level), wanted > .low else {
      throw .fail
    }
    pair(peer, to: wanted)
    return []
  }

  /// Answers at once: the tester has to take part. Events tell how it ends.
  private func pair(_ peer: BTPPeer, to level: SecurityLevel) {
    start {
      do {
        try await peer.connection.raiseSecurity(to: level)
        await self.paired(with: peer.address)
      } catch {
        await self.note("pairing with \(peer.address)", error)
      }
    }
  }

  func unpair(_ parameters: inout BTPParameters) async throws(BTPStatus) -> [UInt8] {
    let address = try parameters.address()
    try parameters.end()
    for address in adapter.index == nil ? [address] : address.kinds {
      // A peer without a bond is what the tester wants.
      try? await adapter.unpair(address)
      gap.bonds.remove(address)
    }
    if let peer = peers[address.value] { await disconnect(peer) }
    return []
  }

  // MARK: The agent

  func enterPasskey(_ parameters: inout BTPParameters) throws(BTPStatus) -> [UInt8] {
    let address = try parameters.address()
    let passkey = try parameters.number(UInt32.self)
    try parameters.end()
    guard passkey <= 999_999, answer(passkey, to: address) else { throw .fail }
    return []
  }

  func confirmPasskey(_ parameters: inout BTPParameters) throws(BTPStatus) -> [UInt8] {
    let address = try parameters.address()
    let matches = try parameters.flag()
    try parameters.end()
    guard answer(matches ? 1 : 0, to: address) else { throw .fail }
    return []
  }

  /// Reports a question, and waits for the tester's answer; nil if there is none.
  func ask(_ event: UInt8, _ peer: BluetoothAddress, _ parameters: [UInt8] = []) async
    -> UInt32?
  {
    await withTaskCancellationHandler {
      await withCheckedContinuation {
        if Task.isCancelled { return $0.resume(returning: nil) }
        answer(nil, to: peer)
        gap.questions[peer.value] = $0
        // Only now: the tester may answer at once.
        send(event, of: .gap, peer.btp + parameters)
      }
    } onCancel: {
      Task { await self.answer(nil, to: peer) }
    }
  }

  /// Returns false if nothing was asked.
  @discardableResult
  func answer(_ value: UInt32?, to peer: BluetoothAddress) -> Bool {
    guard let question = gap.questions.removeValue(forKey: peer.value) else { return false }
    question.resume(returning: value)
    return true
  }

  func show(_ passkey: UInt32, to peer: BluetoothAddress) {
    send(0x84, of: .gap, peer.btp + passkey.octets(4))
  }

  func paired(with address: BluetoothAddress) async {
    gap.bonds.insert(address)
    guard let peer = peers[address.value], let security = try? await peer.connection.security
    else { return }
    securityIs(security.level, of: peer)
  }

  func failed(_ address: BluetoothAddress, _ failure: PairingFailure) {
    answer(nil, to: address)
    guard failure != .keyMissing else { return send(0x8B, of: .gap, address.btp) }
    send(0x8C, of: .gap, address.btp + [failure.reason])
  }
}

extension PairingFailure {
  /// The nearest reason of SMP: the kernel reports none. Vol 3, Part H, 3.5.5.
  fileprivate var reason: UInt8 {
    switch self {
    case .disagreement(.shown), .disagreement(.entered): 0x04  // Confirm Value Failed
    case .disagreement(.compared): 0x0C  // Numeric Comparison Failed
    default: 0x08  // Unspecified Reason
    }
  }
}

/// The agent of the adapter, which asks the tester.
final class BTPAgent: PairingAgent {
  let capability: PairingCapability
  private weak let tester: BTPTester?

  init(_ capability: PairingCapability, _ tester: BTPTester) {
    self.capability = capability
    self.tester = tester
  }

  func matches(_ value: UInt32, shownBy peer: BluetoothAddress) async -> Bool {
    await tester?.ask(0x86, peer, value.octets(4)) == 1
  }

  func passkey(shownBy peer: BluetoothAddress) async -> UInt32? { await tester?.ask(0x85, peer) }

  func show(_ passkey: UInt32, to peer: BluetoothAddress, entered: Int) async {
    if entered == 0 { await tester?.show(passkey, to: peer) }
  }

  func paired(with peer: BluetoothAddress) async { await tester?.paired(with: peer) }

  func failed(_ peer: BluetoothAddress, _ failure: PairingFailure) async {
    await tester?.failed(peer, failure)
  }
}
