import Atto
import AttoCommandLine

/// How this end pairs: `--io`, `--passkey`, `--yes`, `--refuse`.
package struct PairingOptions: Sendable {
  static let io = Option.choice(
    "io", "CAPABILITY",
    [
      ("none", PairingCapability.none), ("display", .display), ("yes-no", .displayYesNo),
      ("keyboard", .keyboard), ("keyboard-display", .keyboardDisplay),
    ], "What the person at this end can do when pairing.")
  static let passkey = Option.value(
    "passkey", "DIGITS", "The passkey that the peer shows, instead of asking for it.",
    expected: "six digits, 000000 to 999999"
  ) { Self.passkey($0) }
  static let yes = Option.flag("yes", "Confirm that both ends show the same number.")
  static let refuse = Option.flag("refuse", "Refuse to pair.")
  package static let group = OptionGroup("pairing options", [io, passkey, yes, refuse])

  let capability: PairingCapability
  let passkey: UInt32?
  let saysYes: Bool
  let refuses: Bool
  /// Whether the command says how it pairs. Without it, radios on the virtual air agree on any
  /// level, and ask nobody.
  package let isStated: Bool

  package init(_ arguments: Arguments) throws(UsageError) {
    isStated = arguments.has(Self.io) || arguments[Self.yes] || arguments[Self.refuse]
    capability = arguments[Self.io]
    passkey = arguments[Self.passkey]
    if passkey != nil, ![.keyboard, .keyboardDisplay].contains(capability) {
      throw UsageError("--passkey requires --io keyboard or --io keyboard-display")
    }
    saysYes = arguments[Self.yes]
    refuses = arguments[Self.refuse]
    if saysYes, refuses { throw UsageError("--yes cannot be combined with --refuse") }
  }

  static func passkey(_ text: String) -> UInt32? {
    guard (1...6).contains(text.utf8.count), text.utf8.allSatisfy({ (0x30...0x39).contains($0) })
    else { return nil }
    return UInt32(text)
  }

  static func digits(_ value: UInt32) -> String {
    String(value).padded(left: 6, with: "0")
  }
}
