import AttoATT

/// Something of a device that people control: an entity of Home Assistant with a topic of its own.
package struct ControlConfiguration: Equatable, Sendable {
  package enum Component: String, CaseIterable, Sendable {
    case `switch`, number, select, button, text
  }

  /// What a command does.
  package enum Effect: Equatable, Sendable {
    case write([UInt8])
    /// Carries out a sequence of the device.
    case sequence(String)
  }

  /// A command with a name: `ON`, `OFF` and `PRESS`, or an option of a select.
  package struct Choice: Equatable, Sendable {
    package var name: String
    package var effect: Effect
    /// The value that tells that this was chosen; nil: none does.
    package var state: [UInt8]?
  }

  package enum Content: Equatable, Sendable {
    /// Of a switch, a select or a button.
    case choices([Choice])
    case number(ControlNumber)
    /// The octets that a text in UTF-8 may have, within 0 to 255.
    case text(ClosedRange<Int>)
  }

  /// The name in topics: as ``Configuration/name``.
  package var name: String
  /// The name that people see; nil: ``name``.
  package var friendlyName: String?
  package var component: Component
  package var content: Content
  /// The characteristic that is written; nil: sequences do it.
  package var characteristic: CharacteristicReference?
  /// The characteristic whose value is the state; nil: the state is what was commanded last.
  package var state: CharacteristicReference?
  /// Whether a write has a response; nil: if the characteristic allows that.
  package var hasResponse: Bool?
  /// Home Assistant's `device_class`, `entity_category` and `icon`.
  package var deviceClass: String?
  package var entityCategory: String?
  package var icon: String?
}

/// How a number is written into a value.
package struct ControlNumber: Equatable, Sendable {
  package enum Format: String, CaseIterable, Sendable {
    case uint8, int8, uint16, int16, uint24, int24, uint32, int32, float32

    package var size: Int {
      switch self {
      case .uint8, .int8: 1
      case .uint16, .int16: 2
      case .uint24, .int24: 3
      case .uint32, .int32, .float32: 4
      }
    }

    /// The numbers that it holds, before they are scaled.
    package var range: ClosedRange<Double> {
      let values = Double(1 << UInt64(8 * size))
      return switch self {
      case .uint8, .uint16, .uint24, .uint32: 0...(values - 1)
      case .int8, .int16, .int24, .int32: (-values / 2)...(values / 2 - 1)
      case .float32: -1e9...1e9
      }
    }
  }

  package var format = Format.uint8
  package var isBigEndian = false
  /// The number is the integer in the value times this.
  package var scale = 1.0
  /// The numbers that are accepted, all of which ``format`` holds.
  package var range: ClosedRange<Double>
  /// The distance of the numbers that people can choose.
  package var step: Double
  package var unit: String?
  /// `box` or `slider`; nil: Home Assistant decides.
  package var mode: String?

  /// The octets of a number within ``range``, rounded to what the format holds.
  package func octets(_ number: Double) -> [UInt8] {
    let bits: UInt32
    if format == .float32 {
      bits = Float(number / scale).bitPattern
    } else {
      let limits = format.range
      let whole = (number / scale).rounded()
      let number = Int64(min(max(whole, limits.lowerBound), limits.upperBound))
      bits = UInt32(truncatingIfNeeded: number)
    }
    let octets = (0..<format.size).map { UInt8(truncatingIfNeeded: bits >> (8 * UInt32($0))) }
    return isBigEndian ? octets.reversed() : octets
  }

  /// The number of a value; nil if it has another length, or is not finite.
  package func number(_ octets: [UInt8]) -> Double? {
    guard octets.count == format.size else { return nil }
    let bits = (isBigEndian ? octets : octets.reversed()).reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
    switch format {
    case .float32:
      let number = Double(Float(bitPattern: bits)) * scale
      return number.isFinite ? rounded(number) : nil
    case .uint8, .uint16, .uint24, .uint32: return rounded(Double(bits) * scale)
    case .int8, .int16, .int24, .int32:
      let shift = UInt32(32 - 8 * format.size)
      return rounded(Double(Int32(bitPattern: bits << shift) >> Int32(shift)) * scale)
    }
  }

  /// Without the digits that come of multiplying by a decimal fraction.
  private func rounded(_ number: Double) -> Double {
    let rounded = (number * 1e6).rounded() / 1e6
    return rounded.isFinite ? rounded : number
  }
}
