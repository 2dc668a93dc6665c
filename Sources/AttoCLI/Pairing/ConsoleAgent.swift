import Atto

/// Pairs for the person at the terminal: what is asked and what happens is reported, answers come
/// from the options or else from standard input, a line each. No line, no pairing.
struct ConsoleAgent: PairingAgent {
  let options: PairingOptions
  /// Where answers are read; nil where standard input is for something else.
  let loop: Loop?
  let report: @Sendable (PairingReport) -> Void

  var capability: PairingCapability { options.capability }

  func accepts(_ peer: BluetoothAddress) async -> Bool { !options.refuses }

  func matches(_ value: UInt32, shownBy peer: BluetoothAddress) async -> Bool {
    report(.compare(peer, value))
    if options.refuses { return false }
    if options.saysYes { return true }
    return await answer()?.lowercased().hasPrefix("y") ?? false
  }

  func passkey(shownBy peer: BluetoothAddress) async -> UInt32? {
    report(.enter(peer))
    if options.refuses { return nil }
    if let passkey = options.passkey { return passkey }
    return await answer().flatMap { PairingOptions.passkey($0) }
  }

  func show(_ passkey: UInt32, to peer: BluetoothAddress, entered: Int) async {
    if entered == 0 { report(.show(peer, passkey)) }
  }

  func paired(with peer: BluetoothAddress) async { report(.paired(peer)) }

  func failed(_ peer: BluetoothAddress, _ failure: PairingFailure) async {
    report(.failed(peer, failure))
  }

  /// One line of standard input; nil for none, one that is too long, or when pairing has ended.
  private func answer() async -> String? {
    guard let loop, case .success(let line)? = try? await StandardInput(on: loop).next() else {
      return nil
    }
    return line
  }
}

/// What happens while peers pair.
enum PairingReport: Sendable {
  case compare(BluetoothAddress, UInt32)
  case enter(BluetoothAddress)
  case show(BluetoothAddress, UInt32)
  case paired(BluetoothAddress)
  case failed(BluetoothAddress, PairingFailure)

  struct Line: Encodable {
    var event: String
    var peer: String
    var passkey: String?
    var error: String?
  }

  /// As one line of `--json`.
  var line: Line {
    switch self {
    case .compare(let peer, let value):
      Line(event: "compare", peer: peer.description, passkey: PairingOptions.digits(value))
    case .enter(let peer): Line(event: "enter", peer: peer.description)
    case .show(let peer, let passkey):
      Line(event: "show", peer: peer.description, passkey: PairingOptions.digits(passkey))
    case .paired(let peer): Line(event: "paired", peer: peer.description)
    case .failed(let peer, let failure):
      Line(event: "pairing failed", peer: peer.description, error: failure.description)
    }
  }

  /// As a person reads it.
  var text: String {
    switch self {
    case .compare(let peer, let value):
      "does \(peer) show \(PairingOptions.digits(value))? [yes/no]"
    case .enter(let peer): "the six digits that \(peer) shows?"
    case .show(let peer, let passkey): "enter at \(peer): \(PairingOptions.digits(passkey))"
    case .paired(let peer): "paired with \(peer)"
    case .failed(let peer, let failure):
      switch failure {
      case .keyMissing: "\(peer): \(failure); atto unpair forgets it here too"
      default: "pairing with \(peer) failed: \(failure)"
      }
    }
  }

  /// Whether the person at the terminal is wanted.
  var isQuestion: Bool {
    switch self {
    case .compare, .enter, .show: true
    case .paired, .failed: false
    }
  }
}
