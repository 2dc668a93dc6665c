public import AttoLinks

/// Answers the questions of a radio while peers pair. A question may take its time; the radio and
/// the peer give up after about 30 s (Vol 3, Part H, 3.4).
public protocol PairingAgent: Sendable {
  /// What the user of this end can see and enter. It decides how peers pair. Vol 3, Part H, 2.3.2.
  var capability: PairingCapability { get }

  /// Whether a peer may pair without a comparison (Just Works).
  func accepts(_ peer: BluetoothAddress) async -> Bool

  /// Whether the peer shows the same six digits (numeric comparison).
  func matches(_ value: UInt32, shownBy peer: BluetoothAddress) async -> Bool

  /// The six digits that the peer shows, 0 to 999999; nil to refuse.
  func passkey(shownBy peer: BluetoothAddress) async -> UInt32?

  /// Shows six digits, which the user enters at the peer. Called again while they are entered.
  func show(_ passkey: UInt32, to peer: BluetoothAddress, entered: Int) async

  /// A peer has paired with this end.
  func paired(with peer: BluetoothAddress) async

  /// Pairing with a peer has failed, or the peer has lost the key of an earlier bond.
  func failed(_ peer: BluetoothAddress, _ failure: PairingFailure) async
}

extension PairingAgent {
  public func accepts(_ peer: BluetoothAddress) async -> Bool { true }
  public func matches(_ value: UInt32, shownBy peer: BluetoothAddress) async -> Bool { false }
  public func passkey(shownBy peer: BluetoothAddress) async -> UInt32? { nil }
  public func show(_ passkey: UInt32, to peer: BluetoothAddress, entered: Int) async {}
  public func paired(with peer: BluetoothAddress) async {}
  public func failed(_ peer: BluetoothAddress, _ failure: PairingFailure) async {}
}

/// Accepts every peer for which there is nothing to compare, and refuses all others.
public struct JustWorksAgent: PairingAgent {
  public let capability = PairingCapability.none
  /// The agent has no options.
  public init() {}
}

/// What the user of an end can see and enter, numbered as in MGMT_OP_SET_IO_CAPABILITY.
public enum PairingCapability: UInt8, Hashable, Sendable, CaseIterable {
  /// DisplayOnly
  case display = 0
  /// DisplayYesNo
  case displayYesNo = 1
  /// KeyboardOnly
  case keyboard = 2
  /// NoInputNoOutput
  case none = 3
  /// KeyboardDisplay
  case keyboardDisplay = 4
}
