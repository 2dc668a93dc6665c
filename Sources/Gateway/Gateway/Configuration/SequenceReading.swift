import Atto
import AttoATT
import AttoFormats

extension SequenceStep {
  /// Steps of a sequence.
  package static let countLimit = 256
  /// The longest pause, and the longest wait for a value, in milliseconds.
  package static let timeLimit = 60_000
  static let kinds = ["read", "write", "pauseMilliseconds", "expect"]

  /// Reads a list of steps, as in a configuration, from UTF-8 JSON.
  ///
  /// - Throws: ``ConfigurationError`` for the first mistake.
  package static func steps(
    json: [UInt8], names: [DeviceConfiguration.NamedCharacteristic] = []
  ) throws(ConfigurationError) -> [SequenceStep] {
    try ProfileField.read(json, file: "sequence") { (field) throws(ProfileError) in
      try field.steps(names)
    }
  }

  fileprivate init(
    _ field: ProfileField, _ names: [DeviceConfiguration.NamedCharacteristic]
  ) throws(ProfileError) {
    let object = try ProfileObject(
      field, keys: Self.kinds + ["value", "response", "beginning", "withinMilliseconds"])
    let given = Self.kinds.filter { object[$0] != nil }
    guard given.count == 1, let kind = given.first, let of = object[kind] else {
      throw ProfileError(
        field.path, expected: "one of the keys " + Self.kinds.joined(separator: ", "),
        found: given.isEmpty ? "none" : given.joined(separator: " and "))
    }
    switch kind {
    case "read":
      self = .read(try of.characteristic(names))
    case "write":
      self = .write(
        try of.characteristic(names),
        try object.required("value", "the octets to write").octets(),
        withResponse: try object["response"]?.bool ?? true)
    case "expect":
      self = .expect(
        try of.characteristic(names), beginning: try object["beginning"]?.octets() ?? [],
        within: try object["withinMilliseconds"]?.milliseconds(1...Self.timeLimit)
          ?? .seconds(5))
    default:
      self = .pause(try of.milliseconds(1...Self.timeLimit))
    }
    let own = [
      "write": ["value", "response"], "expect": ["beginning", "withinMilliseconds"],
    ]
    for key in ["value", "response", "beginning", "withinMilliseconds"] {
      guard let stray = object[key], !(own[kind] ?? []).contains(key) else { continue }
      throw ProfileError(
        stray.path, expected: "no \"\(key)\" in a step with \"\(kind)\"", found: "one")
    }
  }
}

extension ProfileField {
  func steps(
    _ names: [DeviceConfiguration.NamedCharacteristic]
  ) throws(ProfileError) -> [SequenceStep] {
    let fields = try list
    guard 1...SequenceStep.countLimit ~= fields.count else {
      throw ProfileError(
        path, expected: "1 to \(SequenceStep.countLimit) steps", found: "\(fields.count)")
    }
    var steps: [SequenceStep] = []
    for field in fields { steps.append(try SequenceStep(field, names)) }
    return steps
  }
}
