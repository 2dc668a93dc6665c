import Atto
import AttoATT
import AttoGateway
import AttoText

/// A request of the broker's clients.
///
/// The payload is empty, hexadecimal digits (`set`), a word (`sequence`, `subscribe`), or a JSON object.
struct Request: Equatable, Sendable {
  /// Octets of a payload.
  static let payloadLimit = 65_536
  /// Octets of a value (Vol 3, Part F, 3.2.9).
  static let valueLimit = 512
  /// Steps of a sequence.
  static let stepLimit = 256
  /// Octets of the text or number that an answer repeats.
  static let idLimit = 256

  enum Action: Equatable, Sendable {
    case read
    case write([UInt8], withResponse: Bool)
    case control(ControlCommand, of: ControlConfiguration)
    case subscribe(Bool)
    /// A sequence of the configuration.
    case named(String)
    case steps([SequenceStep])
    case scan(isActive: Bool)
    case restart
    case answer(PairingAnswer, question: String)
    case list
    case update(UpdatePlan)
    case cancelUpdate
    /// A request by its number, or all of the device.
    case cancel(number: Int?)
  }

  var topic: RequestTopic
  var action: Action
  /// Repeated in the answer.
  var id: JSON?

  /// A mistake in a request.
  struct Mistake: Error, Equatable {
    var kind: FailureKind
    var message: String
    /// Repeated in the answer, as far as it could be read.
    var id: JSON?

    init(_ message: String, kind: FailureKind = .usage) {
      (self.kind, self.message) = (kind, message)
    }
  }

  /// - Parameters:
  ///   - isRaw: whether a payload that is no object is the value itself.
  ///   - control: the control that a `set` is for; nil: it is for a characteristic.
  init(
    _ topic: RequestTopic, _ payload: [UInt8], isRaw: Bool = false,
    control: ControlConfiguration? = nil
  ) throws(Mistake) {
    guard payload.count <= Self.payloadLimit else {
      throw Mistake(
        "payload too long: \(payload.count) octets (the limit is \(Self.payloadLimit))",
        kind: .limit)
    }
    self.topic = topic
    let isObject = payload.first { $0 != 0x20 && $0 != 0x0A && $0 != 0x0D && $0 != 0x09 } == 0x7B
    guard isObject, !isRaw || (try? JSONParser.parse(payload)) != nil else {
      action = try Self.action(of: topic, plain: payload, isRaw: isRaw, control)
      return
    }
    let object = try RequestObject(payload)
    id = object.id
    do throws(Mistake) {
      action = try Self.action(of: topic, object, control)
    } catch {
      var mistake = error
      mistake.id = object.id
      throw mistake
    }
  }

  private static func action(
    of topic: RequestTopic, plain payload: [UInt8], isRaw: Bool, _ control: ControlConfiguration?
  ) throws(Mistake) -> Action {
    let word = String(decoding: payload, as: UTF8.self)
    switch topic {
    case .get:
      guard payload.isEmpty else { throw Mistake("expected an empty payload or a JSON object") }
      return .read
    case .set:
      // What clearing a retained command sends to subscribers.
      guard !payload.isEmpty else {
        throw Mistake("an empty payload writes nothing: {\"value\":\"\"} writes an empty value")
      }
      if let control { return .control(try control.command(payload), of: control) }
      if isRaw { return .write(try checked(payload), withResponse: true) }
      guard let octets = Hex.octets(payload, separators: " :\n\r") else {
        throw Mistake("expected hexadecimal digits or a JSON object")
      }
      return .write(try checked(octets), withResponse: true)
    case .subscribe:
      switch word {
      case "", "true", "on", "1": return .subscribe(true)
      case "false", "off", "0": return .subscribe(false)
      default: throw Mistake("expected on, off or a JSON object")
      }
    case .sequence:
      guard !payload.isEmpty, payload.count <= 64 else {
        throw Mistake("expected the name of a sequence or a JSON object")
      }
      return .named(word)
    case .passkey: throw Mistake("expected a JSON object with the keys question and answer")
    case .requests:
      switch word {
      case "", "list": return .list
      case "cancel": return .cancel(number: nil)
      default: throw Mistake("expected list, cancel or a JSON object")
      }
    case .update(let device):
      guard word != "cancel" else { return .cancelUpdate }
      guard 1...255 ~= payload.count else {
        throw Mistake("expected the name of a file, cancel or a JSON object")
      }
      return .update(UpdatePlan(file: word, devices: [device]))
    case .updates: throw Mistake("expected a JSON object with the keys file and devices")
    case .restart:
      guard word == "restart" else { throw Mistake("expected restart") }
      return .restart
    case .scan:
      switch word {
      case "active": return .scan(isActive: true)
      case "passive": return .scan(isActive: false)
      default: throw Mistake("expected active, passive or a JSON object")
      }
    }
  }

  private static func action(
    of topic: RequestTopic, _ object: RequestObject, _ control: ControlConfiguration?
  ) throws(Mistake) -> Action {
    switch topic {
    case .get:
      try object.allow([])
      return .read
    case .set:
      if let control {
        try object.allow(["value"])
        guard let value = object["value"] else { throw Mistake("expected the key value") }
        return .control(try control.command(value), of: control)
      }
      try object.allow(RequestObject.valueKeys + ["response"])
      guard let value = try object.value() else {
        throw Mistake("expected the key value, text or base64")
      }
      return .write(value, withResponse: try object.bool("response") ?? true)
    case .subscribe:
      try object.allow(["on"])
      return .subscribe(try object.bool("on") ?? true)
    case .sequence:
      try object.allow(["name", "steps"])
      if let name = try object.string("name") {
        guard object["steps"] == nil else { throw Mistake("name and steps cannot be combined") }
        return .named(name)
      }
      return .steps(try object.steps())
    case .passkey:
      try object.allow(["question", "answer"])
      guard let question = try object.string("question"), let text = try object.string("answer")
      else { throw Mistake("expected the keys question and answer") }
      guard let answer = PairingAnswer(text) else {
        // What is nearly a passkey is not repeated, in a log for example.
        throw Mistake("answer: expected one to six digits, yes or no")
      }
      return .answer(answer, question: question)
    case .requests:
      try object.allow(["cancel"])
      guard object["cancel"] != nil else { return .list }
      return .cancel(number: try object.integer("cancel"))
    case .restart: throw Mistake("expected restart, found an object")
    case .update(let device): return .update(try object.plan(for: [device]))
    case .updates: return .update(try object.plan(for: nil))
    case .scan:
      try object.allow(["active"])
      guard let isActive = try object.bool("active") else {
        throw Mistake("expected the key active")
      }
      return .scan(isActive: isActive)
    }
  }

  static func checked(_ value: [UInt8]) throws(Mistake) -> [UInt8] {
    guard value.count <= valueLimit else {
      throw Mistake("value too long: \(value.count) octets (the limit is \(valueLimit))")
    }
    return value
  }
}
