import AttoATT
import CAttoTables
import TestSupport
import Testing

@testable import AttoFormats

/// Values of the SIG's characteristics, decoded.
@Suite(.sideBySide) struct ValueFormatTests {
  private func text(_ uuid: BluetoothUUID, _ hex: String) throws -> String {
    let octets = try #require(Hex.octets(hex.utf8, separators: " "))
    let format = try #require(ValueFormat(of: uuid))
    do throws(ValueFault) { return try format.decode(octets).description } catch {
      return "fault: \(error)"
    }
  }

  @Test func tableIsInItsLanguage() {
    let table = ValueFormat.table
    #expect(table.wrong == [])
    #expect(table.formats.count > 180 && table.units.count > 50)
    let kinds = [AssignedNumbers.Kind.characteristic, .descriptor]
    for (number, format) in table.formats {
      let uuid = BluetoothUUID(number)
      #expect(kinds.contains { AssignedNumbers.name(of: uuid, as: $0) != nil }, "\(uuid)")
      // In JSON each name is a key. One that repeats is a choice by flags.
      for (index, field) in format.fields.enumerated() where field.conditions.isEmpty {
        let others = format.fields.dropFirst(index + 1).map(\.name)
        #expect(!others.contains(field.name) || field.name == "_", "\(uuid) \(field.name)")
      }
      for field in format.fields {
        #expect(field.scale.multiplier <= 1000 && abs(field.scale.binary) <= 16)
      }
    }
    var last = 0
    for line in String(cString: ctables_formats()).split(separator: "\n") {
      guard let number = Int(line.prefix(4), radix: 16), !line.hasPrefix("#") else { continue }
      #expect(number > last, "\(line.prefix(4)) is not sorted")
      last = number
    }
  }

  /// Examples of the SIG's specifications and of IEEE 11073-20601's transcoding white paper, and others
  /// that follow from the definitions.
  @Test(
    arguments: [
      (0x2A19, "64", "100 %"), (0x2A37, "0048", "72 bpm"), (0x2A37, "014801", "328 bpm"),
      (0x2A37, "14 48 8003 0004", "72 bpm, contact not detected, rr intervals 0.875 1 s"),
      (
        0x2A37, "1e 50 0a00 0004",
        "80 bpm, contact detected, energy expended 10 kJ, rr intervals 1 s"
      ),
      (0x2A38, "01", "chest"), (0x2A38, "09", "9"), (0x2A00, "4174746f", "\"Atto\""),
      (0x2A00, "22c3a9", "\"\\\"é\""), (0x2A01, "4103", "heart rate sensor"),
      (0x2A01, "4000", "phone"),
      (
        0x2A04, "0600 1800 0000 9001",
        "minimum interval 7.5 ms, maximum interval 30 ms, latency 0, timeout 4000 ms"
      ),
      (
        0x2A04, "ffff ffff 0400 ffff",
        "minimum interval unknown, maximum interval unknown, latency 4, timeout unknown"
      ),
      (0x2A05, "0100ffff", "start 0x0001, end 0xFFFF"), (0x2A06, "02", "high"),
      (0x2A07, "fc", "-4 dBm"), (0x2A08, "ea070b16121e00", "2026-11-22 18:30:00"),
      (0x2A08, "ea070000121e00", "2026-??-?? 18:30:00"), (0x2A08, "00000000000000", "unknown"),
      (0x2A2B, "ea070b16121e00 07 80 01", "2026-11-22 18:30:00, Sunday, adjusted manually"),
      (0x2A0F, "04 04", "time zone 60 min, daylight time"),
      (0x2A0F, "80 ff", "time zone unknown, unknown"),
      (0x2A1C, "00 6c0100ff", "36.4 °C"), (0x2A1C, "05 d60300ff 02", "98.2 °F, body"),
      (0x2A1C, "00 ffff7f00", "NaN"),
      (0x2A23, "debc9afeff563412", "manufacturer FF:FE:9A:BC:DE, organization 12:34:56"),
      (
        0x2A50, "01 5900 3412 1302",
        "source Bluetooth SIG, vendor 0x0059, product 0x1234, version 2.1.3"
      ),
      (
        0x2A18, "03 0100 ea070b16121e00 0000 8cb0 11",
        "sequence 1, 2026-11-22 18:30:00, time offset 0 min, 0.0014 kg/L, capillary whole blood, finger"
      ),
      (
        0x2A35, "06 7800 5000 5d00 ea070b16121e00 4800",
        "systolic 120 mmHg, diastolic 80 mmHg, mean arterial 93 mmHg, 2026-11-22 18:30:00, pulse 72 bpm"
      ),
      (0x2A35, "01 a0f0 6ef0 7df0", "systolic 16 kPa, diastolic 11 kPa, mean arterial 12.5 kPa"),
      (0x2A9D, "00 2038", "71.84 kg"), (0x2A9D, "01 6042", "169.92 lb"),
      (0x2A9D, "08 b036 e600 0807", "70 kg, body mass index 23, height 1.8 m"),
      (0x2A9C, "0104 fa00 2038", "25 %, weight 143.68 lb"),
      (
        0x2A5B, "03 01000000 0004 0200 0002",
        "wheel revolutions 1, wheel event time 1 s, crank revolutions 2, crank event time 0.5 s"
      ),
      (0x2A53, "04 0003 b4", "3 m/s, cadence 180 /min, running"),
      (0x2A63, "0001 c800 3b10 02", "200 W, maximum angle 59 °, minimum angle 33 °"),
      (0x2A6C, "a08601", "1000 m"), (0x2A6D, "cd760f00", "101345.3 Pa"),
      (0x2A6E, "2909", "23.45 °C"),
      (0x2A6E, "0cfe", "-5 °C"), (0x2A6E, "0080", "unknown"), (0x2A6F, "a00f", "40 %"),
      (0x2A76, "07", "7"), (0x2AFB, "10 27 00", "100 lx"), (0x2B8C, "9001", "400 ppm"),
      (0x2B8C, "ffff", "unknown"), (0x2A77, "0a00", "1 W/m²"), (0x2AA3, "09", "steady"),
      (0x2BD6, "19 c0", "0.0025 kg/m³"), (0x2AED, "e75000", "2026-09-15"),
      (0x2B29, "05", "robust caching, multiple handle value notifications"), (0x2B29, "00", "none"),
      (0x2B29, "81", "robust caching, bit 7"),
      (0x2B2A, "000102030405060708090a0b0c0d0e0f", "000102030405060708090a0b0c0d0e0f"),
      (0x2902, "0100", "notifications"), (0x2902, "0000", "none"), (0x2908, "0101", "id 1, input"),
      (0x2904, "0e fe 2f27 01 0000", "sint16, exponent -2, unit 0x272F °C"),
      (0x2904, "0e fe 0127 01 0000", "sint16, exponent -2, unit 0x2701 m"),
      (0x2904, "0e fe ffff 01 0000", "sint16, exponent -2, unit 0xFFFF"),
      (0x2905, "0300 0900", "0x0003 0x0009"), (0x2907, "192a", "2A19"),
      (0x2ABF, "", "fault: 0 octets are not a UUID"),
      (0x2BED, "02 2100 5f", "battery present, charging, charge unknown, 95 %"),
      (0x2A19, "", "fault: ends in level"), (0x2A19, "6401", "100 %, followed by 01"),
      (0x2A37, "0148", "fault: ends in heart rate"),
      (0x2A08, "ea070d16121e00", "fault: invalid time"),
      (0x2A29, "ff", "fault: not UTF-8"), (0x2A18, "0301", "fault: ends in sequence"),
    ] as [(UInt16, String, String)])
  func examples(_ number: UInt16, _ hex: String, _ expected: String) throws {
    #expect(try text(BluetoothUUID(number), hex) == expected)
  }

  @Test func unknownUUIDs() {
    #expect(ValueFormat(of: 0x2A4B) == nil)
    #expect(ValueFormat(of: BluetoothUUID("6e400001-b5a3-f393-e0a9-e50e24dcca9e")!) == nil)
  }

  @Test(
    arguments: [
      ("04 00 ad27 01 0000", "64", "100 %"), ("0e fe 2f27 01 0000", "2909", "23.45 °C"),
      ("06 7f 0027 01 0000", "0100", "1e127"), ("19 00 0027 01 0000", "4849", "\"HI\""),
      ("1a 00 0027 01 0000", "48004900", "\"HI\""), ("14 00 2827 01 0000", "0000c03f", "1.5 V"),
      ("14 00 2827 01 0000", "0000c07f", "nan"), ("02 00 0027 01 0000", "07", "3"),
      ("0a 00 0027 01 0000", "ffffffffffffffff", "18446744073709551615"),
      ("12 80 0027 01 0000", "0000000000000080", "-9223372036854775808e-128"),
      ("0b 00 0027 01 0000", "", nil), ("1b 00 0027 01 0000", "", nil),
      ("04 00 ad27 01 00", "", nil),
    ] as [(String, String, String?)])
  func presentationFormats(_ descriptor: String, _ hex: String, _ expected: String?) throws {
    let format = ValueFormat(presentation: octets(descriptor))
    #expect((format == nil) == (expected == nil))
    guard let format, let expected else { return }
    #expect(try format.decode(octets(hex)).description == expected)
  }

  /// Every octet, every pair for one format in eight, and random values: never a trap, and never more
  /// than the value has.
  @Test func anyOctets() {
    var random = SplitMix64(seed: testSeed())
    var decoded = 0
    for (number, format) in ValueFormat.table.formats {
      func check(_ octets: [UInt8]) {
        guard let value = try? format.decode(octets) else { return }
        decoded += 1
        // A hundred thousand expectations would take longer than what they expect.
        var isRight = octets.suffix(value.rest.count) == value.rest[...]
        isRight = isRight && !value.description.isEmpty
        for case .number(let number) in value.fields.map(\.content) {
          isRight = isRight && number.double.isFinite && !number.description.isEmpty
        }
        if !isRight { Issue.record("\(number): \(octets) is \(value)") }
      }
      check([])
      for first in UInt8.min...UInt8.max { check([first]) }
      for length in 2...40 {
        for _ in 0..<8 {
          check((0..<length).map { _ in UInt8.random(in: 0...255, using: &random) })
        }
      }
      if number % 256 == 0 {
        for pair in UInt16.min...UInt16.max {
          check([UInt8(truncatingIfNeeded: pair), UInt8(truncatingIfNeeded: pair >> 8)])
        }
      }
    }
    #expect(decoded > 10_000)
  }

  @Test func everyMedicalShortFloat() throws {
    let format = try #require(ValueFormat(of: 0x2BCF))
    for number in UInt16.min...UInt16.max {
      let octets = [UInt8(truncatingIfNeeded: number), UInt8(number >> 8)]
      let content = try format.decode(octets).fields[0].content
      let mantissa = Int16(bitPattern: number << 4) >> 4
      let exponent = Int16(bitPattern: number) >> 12
      if exponent == 0, [0x7FE, 0x7FF, -0x800, -0x7FF, -0x7FE].contains(mantissa) {
        guard case .unknown = content else { Issue.record("\(number)"); continue }
        continue
      }
      guard case .number(let found) = content else { Issue.record("\(number)"); continue }
      let wanted = Double("\(mantissa)e\(exponent)")!
      if found.double != wanted { Issue.record("\(number): \(found), wanted \(wanted)") }
    }
  }

  @Test func days() {
    #expect(CalendarText.date(daysSince1970: 1) == "1970-01-02")
    #expect(CalendarText.date(daysSince1970: 11_016) == "2000-02-29")
    #expect(CalendarText.date(daysSince1970: 0xFFFFFF) == "47904-06-16")
  }
}
