internal import Atto
import Foundation

extension CBRadio {
  private static let choices = Locked<[CBRadio: Bool]>([:])

  /// Whether the managers of this process pair over this radio: true, unless `ATTO_PAIRING=refuse` is
  /// set or ``setPairable(_:)`` was called. Not in Apple's framework.
  public var isPairable: Bool {
    Self.choices.value[self] ?? (ProcessInfo.processInfo.environment["ATTO_PAIRING"] != "refuse")
  }

  /// Sets whether the managers of this process pair over this radio, for example to test what an app
  /// does when its user declines. Not in Apple's framework.
  ///
  /// While it is false, a value that requires encryption fails with the peer's
  /// `CBATTError.insufficientEncryption` or `insufficientAuthentication`, and a central that asks to
  /// pair is refused. Links that are encrypted already stay so.
  public func setPairable(_ isPairable: Bool) {
    Self.choices.withLock { $0[self] = isPairable }
    RadioLoop.later {
      guard let context = RadioContext.existing(self) else { return }
      Task { @RadioLoop in await context.applyPairing() }
    }
  }
}

/// Refuses to pair, as a user who declines.
struct RefusingAgent: PairingAgent {
  let capability = PairingCapability.none

  func accepts(_ peer: BluetoothAddress) async -> Bool { false }
}
