import Atto
import AttoCommandLine

/// The pairing agent of a command. It takes answers from the options, or else reads a line of standard
/// input for each question, or asks the session. At the end of the input, pairing fails.
package struct ConsoleAgent: PairingAgent {
  package let options: PairingOptions
  /// Waits for the next answer; nil if there will be none.
  private let nextAnswer: @Sendable () async -> String?
  private let report: @Sendable (PairingReport) -> Void

  /// - Parameter readsInput: whether the command leaves standard input to the agent.
  package init(
    _ arguments: Arguments, readsInput: Bool = true, on loop: Loop,
    report: @escaping @Sendable (PairingReport) -> Void
  ) throws(UsageError) {
    options = try PairingOptions(arguments)
    self.report = report
    let place = arguments.place
    nextAnswer = {
      if let place { return await place.nextAnswer() }
      // Ends where the line is too long.
      guard readsInput, case .success(let line)? = try? await StandardInput(on: loop).next() else {
        return nil
      }
      return line
    }
  }

  package var capability: PairingCapability { options.capability }

  package func accepts(_ peer: BluetoothAddress) async -> Bool { !options.refuses }

  package func matches(_ value: UInt32, shownBy peer: BluetoothAddress) async -> Bool {
    let digits = PairingOptions.digits(value)
    if options.refuses { return false }
    let isAnswered = options.saysYes
    report(
      .question(
        "compare", peer,
        isAnswered
          ? "both ends show \(digits): confirmed (--yes)" : "does \(peer) show \(digits)? [yes/no]",
        passkey: digits))
    if isAnswered { return true }
    return await nextAnswer()?.lowercased().hasPrefix("y") ?? false
  }

  package func passkey(shownBy peer: BluetoothAddress) async -> UInt32? {
    if options.refuses { return nil }
    if let passkey = options.passkey { return passkey }
    report(.question("enter", peer, "enter the six digits that \(peer) shows:"))
    return await nextAnswer().flatMap { PairingOptions.passkey($0) }
  }

  package func show(_ passkey: UInt32, to peer: BluetoothAddress, entered: Int) async {
    guard entered == 0 else { return }
    let digits = PairingOptions.digits(passkey)
    report(.question("show", peer, "enter this passkey on \(peer): \(digits)", passkey: digits))
  }

  package func paired(with peer: BluetoothAddress) async {
    report(
      PairingReport(
        text: "paired with \(peer)", json: ["event": "paired", "peer": peer.description]))
  }

  package func failed(_ peer: BluetoothAddress, _ failure: PairingFailure) async {
    let text =
      switch failure {
      case .keyMissing:
        "\(peer): \(failure) (remove the bond here too: atto unpair le:\(peer))"
      default: "pairing with \(peer) failed: \(failure)"
      }
    report(
      PairingReport(
        text: text,
        json: ["event": "pairing failed", "peer": peer.description, "error": failure.description]))
  }
}

/// A question or event of pairing.
package struct PairingReport {
  package let text: String
  package let json: JSONObject
  /// Whether a person has to answer or act.
  package var isQuestion = false

  fileprivate static func question(
    _ event: String, _ peer: BluetoothAddress, _ text: String, passkey: String? = nil
  ) -> PairingReport {
    PairingReport(
      text: text, json: ["event": event, "peer": peer.description, "passkey": passkey],
      isQuestion: true)
  }
}

extension ListenOptions {
  /// Has the agent answer when centrals pair. Simulated radios agree to every level by themselves, unless the
  /// command line states how to answer.
  package mutating func setAgent(_ agent: ConsoleAgent, at endpoint: Endpoint) {
    self.agent = endpoint.isAir && !agent.options.isStated ? nil : agent
  }
}
