import AttoATT

/// Reads the fields of a value. Numbers begin with their least significant bit, in the lowest bit of the
/// first octet.
struct ValueReader {
  private let octets: [UInt8]
  /// The position in bits.
  private var position = 0

  init(_ octets: [UInt8]) { self.octets = octets }

  /// The number of bits that are left.
  var left: Int { octets.count * 8 - position }

  /// The octets that no field has begun.
  var rest: [UInt8] { Array(octets.dropFirst((position + 7) / 8)) }

  /// Reads 1 to 64 bits.
  mutating func number(_ bits: Int, in field: ValueField) throws(ValueFault) -> UInt64 {
    guard bits <= left else { throw ValueFault(description: "ends in \(field.words)") }
    var number: UInt64 = 0
    for bit in 0..<bits {
      let place = position + bit
      number |= UInt64(octets[place / 8] >> UInt8(place % 8) & 1) << UInt64(bit)
    }
    position += bits
    return number
  }

  /// Reads octets; without a count all that are left.
  private mutating func take(_ count: Int?, _ field: ValueField) throws(ValueFault) -> [UInt8] {
    let count = count ?? left / 8
    guard count * 8 <= left else { throw ValueFault(description: "ends in \(field.words)") }
    let taken = octets.dropFirst((position + 7) / 8).prefix(count)
    position += count * 8
    return Array(taken)
  }

  /// Reads a field that is not a part of the flags.
  mutating func content(of field: ValueField) throws(ValueFault) -> DecodedValue.Content {
    switch field.kind {
    case .flags(let bits), .unsigned(let bits), .signed(let bits), .mask(let bits), .hex(let bits),
      .days(let bits):
      return try field.content(of: try number(bits, in: field), bits: bits)
    case .handle, .version, .unit, .sfloat:
      return try field.content(of: try number(16, in: field), bits: 16)
    case .float: return try field.content(of: try number(32, in: field), bits: 32)
    case .ieee(let bits):
      return try field.content(of: try number(bits, in: field), bits: bits)
    case .part: return .unknown("unknown")
    case .date: return try date(field, hasTime: true)
    case .day: return try date(field, hasTime: false)
    case .identifier(let count):
      return .word(Hex.text(try take(count, field).reversed(), separator: ":").uppercased())
    case .octets(let count): return .word(Hex.text(try take(count, field)))
    case .uuid:
      switch left {
      case 16: return .word("\(BluetoothUUID(UInt16(try number(16, in: field))))")
      case 128:
        let low = try number(64, in: field)
        return .word("\(BluetoothUUID(high: try number(64, in: field), low: low))")
      default: throw ValueFault(description: "\(octets.count) octets are not a UUID")
      }
    case .utf8(let count):
      guard let text = String(validating: try take(count, field), as: UTF8.self) else {
        throw ValueFault(description: "not UTF-8")
      }
      return .text(text)
    case .utf16:
      let octets = try take(nil, field)
      let units = stride(from: 0, to: octets.count - 1, by: 2).map {
        UInt16(octets[$0]) | UInt16(octets[$0 + 1]) << 8
      }
      guard octets.count % 2 == 0, let text = String(validating: units, as: UTF16.self) else {
        throw ValueFault(description: "not UTF-16")
      }
      return .text(text)
    }
  }

  /// Reads a date, in which year, month and day may be 0: unknown.
  private mutating func date(
    _ field: ValueField, hasTime: Bool
  ) throws(ValueFault) -> DecodedValue.Content {
    let year = try number(16, in: field)
    let rest = try take(hasTime ? 5 : 2, field)
    var isValid = rest[0] <= 12 && rest[1] <= 31
    var text = CalendarText.date(year: Int(year), month: Int(rest[0]), day: Int(rest[1]))
    if hasTime {
      isValid = isValid && rest[2] < 24 && rest[3] < 60 && rest[4] < 60
      text += " " + rest[2...].map { CalendarText.padded(Int($0), 2) }.joined(separator: ":")
    }
    guard isValid else { throw ValueFault(description: "invalid \(field.words)") }
    return year == 0 && rest.allSatisfy { $0 == 0 } ? .unknown("unknown") : .word(text)
  }
}

extension ValueField {
  /// The meaning of a number in this field.
  func content(of number: UInt64, bits: Int) throws(ValueFault) -> DecodedValue.Content {
    if number == unknown { return .unknown("unknown") }
    switch kind {
    case .signed:
      // The shifts extend the sign.
      let shift = UInt64(64 - bits)
      return named(Int64(bitPattern: number << shift) >> Int64(shift))
    case .mask:
      return .words(
        (0..<bits).filter { number >> UInt64($0) & 1 == 1 }.map { names[$0] ?? "bit \($0)" })
    case .hex: return .hex(number, digits: (bits + 3) / 4)
    case .handle, .unit: return .hex(number, digits: 4)
    case .version:
      let digits = [number >> 8, number >> 4 & 0xF, number & 0xF]
      return .word(
        digits.map { String($0, radix: 16) }.joined(separator: "."))
    case .sfloat: return Self.medical(number, mantissa: 12, exponent: 4)
    case .float: return Self.medical(number, mantissa: 24, exponent: 8)
    case .ieee(let bits):
      let value =
        bits == 32
        ? Double(Float(bitPattern: UInt32(truncatingIfNeeded: number)))
        : Double(bitPattern: number)
      return value.isFinite ? .double(value) : .unknown("\(value)")
    case .days:
      guard number > 0 else { return .unknown("unknown") }
      return .word(CalendarText.date(daysSince1970: Int(truncatingIfNeeded: number)))
    default: return named(Int128(number))
    }
  }

  private func named(_ number: some BinaryInteger) -> DecodedValue.Content {
    if let name = names[Int(truncatingIfNeeded: number)] { return .word(name) }
    return .number(DecimalNumber(Int128(number), scale: scale))
  }

  /// A number of IEEE 11073-20601: a signed exponent above a signed mantissa, whose extremes are special
  /// values.
  private static func medical(
    _ number: UInt64, mantissa bits: UInt64, exponent exponentBits: UInt64
  ) -> DecodedValue.Content {
    let top = UInt64(1) << (bits - 1)
    let mantissa = number & (top * 2 - 1)
    if number >> bits == 0 {
      switch mantissa {
      case top - 1: return .unknown("NaN")
      case top: return .unknown("not at this resolution")
      case top - 2: return .unknown("+infinity")
      case top + 2: return .unknown("-infinity")
      case top + 1: return .unknown("reserved")
      default: break
      }
    }
    func signed(_ field: UInt64, _ bits: UInt64) -> Int64 {
      Int64(bitPattern: field << (64 - bits)) >> Int64(64 - bits)
    }
    let (value, exponent) = (signed(mantissa, bits), signed(number >> bits, exponentBits))
    return .number(DecimalNumber(mantissa: Int128(value), exponent: Int(exponent)))
  }
}

/// Dates as text: `2026-11-22`.
enum CalendarText {
  static func padded(_ number: Int, _ width: Int) -> String {
    let digits = String(number)
    return String(repeating: "0", count: max(0, width - digits.count)) + digits
  }

  /// A part that is 0 is unknown.
  static func date(year: Int, month: Int, day: Int) -> String {
    func part(_ number: Int, _ width: Int) -> String {
      number == 0 ? String(repeating: "?", count: width) : padded(number, width)
    }
    return "\(part(year, 4))-\(part(month, 2))-\(part(day, 2))"
  }

  /// The Gregorian date of a day after 1970-01-01.
  static func date(daysSince1970 days: Int) -> String {
    // Years begin in March here, so that the leap day is the last. Eras have 400 years.
    let days = days + 719_468
    let era = days / 146_097
    let ofEra = days % 146_097
    let year = (ofEra - ofEra / 1460 + ofEra / 36_524 - ofEra / 146_096) / 365
    let ofYear = ofEra - (365 * year + year / 4 - year / 100)
    let month = (5 * ofYear + 2) / 153
    let day = ofYear - (153 * month + 2) / 5 + 1
    return date(
      year: year + era * 400 + (month >= 10 ? 1 : 0), month: month < 10 ? month + 3 : month - 9,
      day: day)
  }
}
