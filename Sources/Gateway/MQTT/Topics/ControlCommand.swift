import AttoFormats
import AttoGateway
import AttoText

/// What a message to a control asks for.
struct ControlCommand: Equatable, Sendable {
  var effect: ControlConfiguration.Effect
  /// The state afterwards, if the device does not tell it.
  var state: JSON
}

extension ControlConfiguration {
  /// Whether the control has a state.
  var hasState: Bool { component != .button }

  /// The command of a payload: a word, a number or a text.
  ///
  /// - Throws: ``Request/Mistake`` for everything that the control does not accept.
  func command(_ payload: [UInt8]) throws(Request.Mistake) -> ControlCommand {
    guard payload.count <= Request.valueLimit else {
      throw Request.Mistake(
        "payload too long: \(payload.count) octets (the limit is \(Request.valueLimit))")
    }
    guard let text = String(validating: payload, as: UTF8.self) else {
      throw Request.Mistake("expected a text in UTF-8")
    }
    return try command(text)
  }

  /// The command of an object's `value`.
  func command(_ value: JSON) throws(Request.Mistake) -> ControlCommand {
    switch value.content {
    case .string(let text): return try command(text)
    case .number(let text) where component == .number: return try command(text)
    default:
      throw Request.Mistake(
        "value: expected a \(component == .number ? "number" : "text"), found \(value.found)")
    }
  }

  private func command(_ text: String) throws(Request.Mistake) -> ControlCommand {
    switch content {
    case .choices(let choices):
      guard let choice = choices.first(where: { $0.name.utf8.elementsEqual(text.utf8) }) else {
        let names = choices.prefix(16).map(\.name).joined(separator: ", ")
        throw Request.Mistake("expected one of \(names), found \(quoted(text))")
      }
      return ControlCommand(effect: choice.effect, state: .string(choice.name))
    case .number(let number):
      guard let value = Self.number(text), number.range.contains(value) else {
        throw Request.Mistake(
          "expected a number from \(Self.text(number.range.lowerBound)) to "
            + "\(Self.text(number.range.upperBound)), found \(quoted(text))")
      }
      let octets = number.octets(value)
      return ControlCommand(effect: .write(octets), state: state(octets))
    case .text(let range):
      let octets = Array(text.utf8)
      guard range.contains(octets.count) else {
        throw Request.Mistake(
          "expected \(range.lowerBound) to \(range.upperBound) octets, found \(octets.count)")
      }
      return ControlCommand(effect: .write(octets), state: .string(text))
    }
  }

  /// The state that a value of the device tells; null: the value tells none.
  func state(_ octets: [UInt8]) -> JSON {
    switch content {
    case .choices(let choices):
      choices.first { $0.state == octets }.map { .string($0.name) } ?? .null
    case .number(let number):
      number.number(octets).map { .number(Self.text($0)) } ?? .null
    case .text: .string(String(decoding: octets.prefix { $0 != 0 }, as: UTF8.self))
    }
  }

  /// Decimal digits, unlike all that `Double` reads.
  private static func number(_ text: String) -> Double? {
    guard text.utf8.count <= 32, text.utf8.allSatisfy({ "0123456789+-.eE".utf8.contains($0) })
    else { return nil }
    return Double(text).flatMap { $0.isFinite ? $0 : nil }
  }

  static func text(_ number: Double) -> String {
    Int64(exactly: number).map { "\($0)" } ?? "\(number)"
  }
}
