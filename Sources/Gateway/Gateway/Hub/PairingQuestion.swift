import Atto

/// A question of a device that pairs, which a person has to answer.
package struct PairingQuestion: Equatable, Sendable {
  package enum Kind: Equatable, Sendable {
    /// The six digits that the device shows are entered here.
    case enter
    /// Whether the device shows the same number.
    case compare(UInt32)
    /// The number is entered at the device. There is nothing to answer.
    case show(UInt32)
  }

  /// Sixteen random hexadecimal digits, which the answer repeats. An answer that is repeated, retained or late
  /// names another question and has no effect.
  package let id: String
  /// The device's name, or its address if it is not configured.
  package let device: String
  package let address: BluetoothAddress
  package let kind: Kind
  /// When it ends, on the loop's clock.
  let end: Int64

  /// The kind in messages: `enter`, `compare` or `show`.
  package var word: String {
    switch kind {
    case .enter: "enter"
    case .compare: "compare"
    case .show: "show"
    }
  }

  /// The six digits of `compare` and `show`.
  package var digits: String? {
    switch kind {
    case .enter: nil
    case .compare(let number), .show(let number):
      String(repeating: "0", count: max(0, 6 - "\(number)".utf8.count)) + "\(number)"
    }
  }
}

/// An answer to a ``PairingQuestion``.
package enum PairingAnswer: Equatable, Sendable {
  case passkey(UInt32)
  /// The numbers agree.
  case yes
  /// They do not, or the device must not pair.
  case no

  /// Reads one to six digits, `yes` or `no`; nil for any other text.
  package init?(_ text: String) {
    switch text {
    case "yes": self = .yes
    case "no": self = .no
    default:
      guard 1...6 ~= text.utf8.count, text.utf8.allSatisfy({ 0x30...0x39 ~= $0 }),
        let number = UInt32(text)
      else { return nil }
      self = .passkey(number)
    }
  }
}

/// What front ends tell of pairing.
package enum PairingEvent: Equatable, Sendable {
  case asked(PairingQuestion)
  /// Pairing has ended; the reason if it has failed.
  case ended(device: String, BluetoothAddress, failure: String?)

  /// The name of the device, or its address if it is not configured.
  package var device: String {
    switch self {
    case .asked(let question): question.device
    case .ended(let device, _, _): device
    }
  }

  /// The event as words for messages, in order.
  package var words: [(name: String, value: String)] {
    switch self {
    case .asked(let question):
      [("question", question.id), ("kind", question.word)]
        + (question.digits.map { [("passkey", $0)] } ?? [])
        + [("address", question.address.digits)]
    case .ended(_, let address, let failure):
      [("result", failure == nil ? "paired" : "failed")]
        + (failure.map { [("error", $0)] } ?? []) + [("address", address.digits)]
    }
  }
}
