import Atto

/// What a command line says of pairing: `--io`, `--passkey`, `--yes`, `--refuse`.
struct PairingOptions: Sendable {
  var capability = PairingCapability.none
  var passkey: UInt32?
  var saysYes = false
  var refuses = false
  /// Whether `--io` was given.
  var isStated = false

  static let specs = [
    OptionSpec(
      "io", "WORD", "to pair with: none, display, yes-no, keyboard or keyboard-display (none)"),
    OptionSpec("passkey", "DIGITS", "what the peer shows, instead of asking for it"),
    OptionSpec("yes", nil, "take the numbers that both ends show for equal"),
    OptionSpec("refuse", nil, "refuse to pair, whatever is asked"),
  ]

  init(_ arguments: Arguments) throws {
    if let word = arguments.value("io") {
      isStated = true
      switch word {
      case "none": capability = .none
      case "display": capability = .display
      case "yes-no", "display-yes-no", "display-yesno": capability = .displayYesNo
      case "keyboard": capability = .keyboard
      case "keyboard-display": capability = .keyboardDisplay
      default:
        throw UsageError(
          "--io wants none, display, yes-no, keyboard or keyboard-display, not \"\(word)\"")
      }
    }
    if let text = arguments.value("passkey") {
      guard let digits = Self.passkey(text) else {
        throw UsageError("--passkey wants six digits, 000000 to 999999, not \"\(text)\"")
      }
      guard [.keyboard, .keyboardDisplay].contains(capability) else {
        throw UsageError("--passkey wants --io keyboard or keyboard-display: who enters it has one")
      }
      passkey = digits
    }
    saysYes = arguments.has("yes")
    refuses = arguments.has("refuse")
    if saysYes, refuses { throw UsageError("--yes and --refuse: which of them?") }
  }

  /// At most six digits.
  static func passkey(_ text: String) -> UInt32? {
    guard (1...6).contains(text.utf8.count),
      text.utf8.allSatisfy({ (0x30...0x39).contains($0) })
    else { return nil }
    return UInt32(text)
  }

  static func digits(_ value: UInt32) -> String {
    let text = String(value)
    return String(repeating: "0", count: max(0, 6 - text.count)) + text
  }
}
