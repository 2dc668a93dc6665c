// pcapng: blocks, each with its type, its length, a body, and its length again.

/// The state of a section of a pcapng file.
struct PcapngSection: Sendable {
  struct Interface: Sendable {
    /// nil if the link type is not supported.
    var type: CaptureLinkType?
    var number: UInt16
    /// The most bytes kept of a record; 0 for no limit.
    var longest: UInt32
    var clock = Clock()
  }

  /// The meaning of an interface's timestamps.
  struct Clock: Sendable {
    /// nil for a resolution finer than 64 bits can count.
    var unitsPerSecond: UInt64? = 1_000_000
    /// Seconds to add.
    var offset: Int64 = 0
  }

  var isBig = false
  var isBegun = false
  var interfaces: [Interface] = []
}

extension PcapngSection.Clock {
  /// Nanoseconds since 1970; nil if they do not fit 64 bits.
  func time(_ units: UInt64) -> Int64? {
    guard let unitsPerSecond else { return nil }
    let (seconds, rest) = units.quotientAndRemainder(dividingBy: unitsPerSecond)
    // The remainder is less than the divisor, so the quotient is less than 10^9 and fits.
    let nanoseconds = unitsPerSecond.dividingFullWidth(
      rest.multipliedFullWidth(by: 1_000_000_000)
    ).quotient
    guard let whole = Int64(exactly: seconds) else { return nil }
    let shifted = whole.addingReportingOverflow(offset)
    let scaled = shifted.partialValue.multipliedReportingOverflow(by: 1_000_000_000)
    let sum = scaled.partialValue.addingReportingOverflow(Int64(nanoseconds))
    return shifted.overflow || scaled.overflow || sum.overflow ? nil : sum.partialValue
  }

  /// Applies the option if_tsresol: an exponent of ten, or of two if bit 7 is set.
  mutating func set(resolution: UInt8) {
    let exponent = Int(resolution & 0x7F)
    if resolution & 0x80 != 0 {
      unitsPerSecond = exponent < 64 ? 1 << UInt64(exponent) : nil
    } else {
      unitsPerSecond = exponent <= 19 ? (0..<exponent).reduce(1) { power, _ in power * 10 } : nil
    }
  }
}

extension CaptureReader {
  enum Block {
    case record(CaptureRecord)
    /// A block without a record.
    case passed
    case incomplete
  }

  /// Reads or skips one block.
  mutating func block(_ section: inout PcapngSection) throws(CaptureFault) -> Block {
    if buffer.count == 0, section.isBegun { return .incomplete }
    guard has(12, of: "a block") else { return .incomplete }
    // The type of a section header is the same in both byte orders; the header names the order.
    if buffer.number32(at: 0, isBig: true) == 0x0A0D_0D0A {
      switch buffer.number32(at: 8, isBig: true) {
      case 0x1A2B_3C4D: section = PcapngSection(isBig: true)
      case 0x4D3C_2B1A: section = PcapngSection(isBig: false)
      default: throw fault("invalid byte-order mark in the section header")
      }
      section.isBegun = true
    }
    let isBig = section.isBig
    let type = buffer.number32(at: 0, isBig: isBig)
    let stated = buffer.number32(at: 4, isBig: isBig)
    guard stated >= 12, stated % 4 == 0 else {
      throw fault("invalid block length of \(stated) octets, expected a multiple of 4 from 12")
    }
    guard [1, 2, 3, 6].contains(type) else {
      skipping = Int(stated)
      return .passed
    }
    try check(length: stated)
    let length = Int(stated)
    guard has(length, of: "a block") else { return .incomplete }
    let again = buffer.number32(at: length - 4, isBig: isBig)
    guard again == stated else {
      throw fault("a block has a length of \(stated) octets at its start and \(again) at its end")
    }
    guard type == 1 else { return .record(try data(type, length, section)) }
    try describe(Array(buffer.prefix(length)), &section)
    buffer.drop(length)
    return .passed
  }

  /// Reads an interface description.
  private func describe(
    _ block: [UInt8], _ section: inout PcapngSection
  ) throws(CaptureFault) {
    guard block.count >= 20 else { throw fault("an interface description is too short") }
    guard section.interfaces.count < Self.interfaceLimit else {
      throw fault("a section has more than \(Self.interfaceLimit) interfaces")
    }
    let number = block.number16(at: 8, isBig: section.isBig)
    var interface = PcapngSection.Interface(
      type: CaptureLinkType(linkType: UInt32(number)), number: number,
      longest: block.number32(at: 12, isBig: section.isBig))
    for (code, value) in Self.options(block[16..<block.count - 4], section.isBig) {
      if code == 9, let first = value.first { interface.clock.set(resolution: first) }
      if code == 14, value.count == 8 {
        let (first, second) = (
          UInt64(value.number32(at: 0, isBig: section.isBig)),
          UInt64(value.number32(at: 4, isBig: section.isBig))
        )
        interface.clock.offset = Int64(
          bitPattern: section.isBig ? first << 32 | second : second << 32 | first)
      }
    }
    section.interfaces.append(interface)
  }

  /// Reads a block with a record: enhanced (6), its predecessor (2) or simple (3).
  private mutating func data(
    _ type: UInt32, _ length: Int, _ section: PcapngSection
  ) throws(CaptureFault) -> CaptureRecord {
    let isBig = section.isBig
    let header = type == 3 ? 12 : 28
    guard length >= header + 4 else { throw fault("a block of \(length) octets has no record") }
    let index =
      switch type {
      case 6: Int(buffer.number32(at: 8, isBig: isBig))
      case 2: Int(Array(buffer.prefix(10)).number16(at: 8, isBig: isBig))
      default: 0
      }
    guard index < section.interfaces.count else {
      throw fault("undefined interface \(index): \(section.interfaces.count) are defined so far")
    }
    let interface = section.interfaces[index]
    var time: Int64?
    var included: UInt32
    let original: UInt32
    if type == 3 {
      original = buffer.number32(at: 8, isBig: isBig)
      included = min(original, UInt32(length - 16))
      if interface.longest > 0 { included = min(included, interface.longest) }
    } else {
      let high = UInt64(buffer.number32(at: 12, isBig: isBig))
      time = interface.clock.time(high << 32 | UInt64(buffer.number32(at: 16, isBig: isBig)))
      included = buffer.number32(at: 20, isBig: isBig)
      original = buffer.number32(at: 24, isBig: isBig)
    }
    guard included <= length - header - 4 else {
      throw fault("a record of \(included) octets does not fit its block of \(length)")
    }
    let size = Int(included)
    let block = Array(buffer.prefix(length))
    var flags = CaptureFlags(isCut: included < original)
    if type == 6 {
      let start = header + (size + 3) / 4 * 4
      for (code, value) in Self.options(block[min(start, length - 4)..<length - 4], isBig)
      where code == 2 && value.count == 4 {
        // 1 is inbound, 2 outbound.
        switch value.number32(at: 0, isBig: isBig) & 3 {
        case 1: flags.isSent = false
        case 2: flags.isSent = true
        default: break
        }
      }
    }
    recordCount += 1
    let offset = buffer.offset
    buffer.drop(length)
    let octets = Array(block[header..<header + size])
    let content =
      interface.type?.content(octets, flags)
      ?? .unknown("records of link type \(interface.number)")
    return CaptureRecord(number: recordCount, offset: offset, time: time, content: content)
  }

  /// The options up to the first that is incomplete.
  private static func options(
    _ octets: ArraySlice<UInt8>, _ isBig: Bool
  ) -> [(code: UInt16, value: [UInt8])] {
    var found: [(code: UInt16, value: [UInt8])] = []
    var rest = Array(octets)[...]
    while rest.count >= 4 {
      let head = Array(rest.prefix(4))
      let code = head.number16(at: 0, isBig: isBig)
      let length = Int(head.number16(at: 2, isBig: isBig))
      guard code != 0, rest.count >= 4 + length else { break }
      found.append((code, Array(rest.dropFirst(4).prefix(length))))
      rest = rest.dropFirst(4 + (length + 3) / 4 * 4)
    }
    return found
  }
}
