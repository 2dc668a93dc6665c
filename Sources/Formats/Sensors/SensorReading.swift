/// A measurement, a state or an event in an advertisement.
package struct SensorReading: Equatable, Sendable {
  /// The value of a reading.
  package enum Value: Equatable, Sendable {
    /// A finite number in the kind's unit.
    case number(Double)
    /// Whether the state is on: open, wet, moving.
    case state(Bool)
    /// A text. The device may have chosen it.
    case text(String)
    /// What happened, such as `double_press`, and its steps or arguments.
    case event(String, detail: String?)
  }

  /// What it is.
  package let kind: SensorKind
  /// What distinguishes it from other readings of the kind: `Probe1`, `2`; empty for the only one.
  package let label: String
  /// The value.
  package let value: Value

  /// The key in JSON: kind and label. No two readings of an advertisement have the same.
  package var key: String { kind.key + label }
  /// The name for people: `Temperature probe 1`.
  package var name: String {
    label.isEmpty ? kind.name : "\(kind.name) \(SensorKind.words(label).lowercased())"
  }
}

extension SensorReading: CustomStringConvertible {
  /// `temperature probe 1 21.5 °C`, `window on`. Texts are not escaped.
  package var description: String {
    let shown =
      switch value {
      case .number(let number): SensorReading.text(number)
      case .state(let isOn): isOn ? "on" : "off"
      case .text(let text): text
      case .event(let name, let detail): name + (detail.map { " \($0)" } ?? "")
      }
    // Abbreviations stay as they are.
    let isWord = name.dropFirst().first?.isLowercase ?? false
    return (isWord ? name.prefix(1).lowercased() + name.dropFirst() : name) + " \(shown)"
      + (kind.unit.map { " \($0)" } ?? "")
  }

  /// A number without `.0`.
  private static func text(_ number: Double) -> String {
    Int64(exactly: number).map { "\($0)" } ?? "\(number)"
  }
}

/// What an advertisement of a known format says.
package struct SensorAdvertisement: Equatable, Sendable {
  /// Why there are no readings, or not all.
  package enum Problem: Hashable, Sendable {
    /// It is encrypted, and no key is known.
    case keyMissing
    /// It does not decrypt with the key: the key is wrong, or the octets are damaged.
    case keyWrong
    /// It is not encrypted although a key is known for the device, so anybody may have sent it.
    case notEncrypted
    /// It breaks its format, or ends early.
    case malformed
  }

  /// The format, such as `BTHome v2`.
  package var format: String
  /// The model, where the format tells it: `H5075`.
  package var model: String?
  /// The maker.
  package var manufacturer: String?
  /// A number that changes with the content, which tells a repeated advertisement from a new one.
  package var counter: UInt32?
  /// Whether the readings were decrypted.
  package var isEncrypted = false
  /// The readings, in order.
  package var readings: [SensorReading] = []
  /// Why there are no readings, or not all; nil if nothing is wrong.
  package var problem: Problem?

  init(_ format: String, model: String? = nil, manufacturer: String? = nil) {
    self.format = format
    self.model = model
    self.manufacturer = manufacturer
  }

  mutating func add(_ kind: String, _ value: SensorReading.Value) { add(kind, "", value) }

  mutating func add(_ kind: String, _ number: Double) { add(kind, "", number) }

  mutating func add(_ kind: String, _ label: String, _ value: SensorReading.Value) {
    guard let kind = SensorKind.named(kind) else { return }
    let reading = SensorReading(kind: kind, label: label, value: value)
    // The last of two readings counts, so that keys stay unique.
    readings.removeAll { $0.key == reading.key }
    readings.append(reading)
  }

  mutating func add(_ kind: String, _ label: String, _ number: Double) {
    guard number.isFinite else { return }
    add(kind, label, .number(number))
  }
}

extension SensorAdvertisement.Problem: CustomStringConvertible {
  package var description: String {
    switch self {
    case .keyMissing: "encrypted, and no key is given"
    case .keyWrong: "does not decrypt with the key"
    case .notEncrypted: "not encrypted, although a key is given: ignored"
    case .malformed: "malformed"
    }
  }
}
