import TestSupport
import AttoATT
import Testing

/// Handles, UUIDs, codes and instants.
@Suite(.sideBySide) struct WordsTests {
  private let base = "00000000-0000-1000-8000-00805f9b34fb"

  @Test func uuidsReadInAllTheirForms() {
    for text in ["180D", "180d", "0x180D", "0X180d", "0000180D", "0x0000180d"] {
      #expect(BluetoothUUID(text) == 0x180D, "\(text)")
    }
    #expect(BluetoothUUID("0000180d-0000-1000-8000-00805f9b34fb") == 0x180D)
    #expect(BluetoothUUID("0000180D00001000800000805F9B34FB") == 0x180D)
    #expect(BluetoothUUID(base) == 0x0000)
    #expect(BluetoothUUID("12345678") == BluetoothUUID(0x1234_5678 as UInt32))
  }

  @Test(arguments: [
    "", "0x", "1", "18", "180", "180G", "0180D", "180D ", " 180D", "-180D", "0x180D-", "18-0D",
    "0x0000180d-0000-1000-8000-00805f9b34fb", "0x0000180D00001000800000805F9B34FB",
    "0000180d-0000-1000-8000-00805f9b34f", "0000180d-0000-1000-8000-00805f9b34fbb",
    "0000180d--00001000-8000-00805f9b34fb", "0000180d----00001000800000805f9b34fb",
    "0000180d-0000-1000-800000805f9b-34fb", "0000180d-0000-1000-8000--0805f9b34fb",
    "0000180d-00001000800000805f9b34fb", "Ω80D", "0x0x180D", "180D\u{301}",
  ]) func uuidsRefuse(_ text: String) { #expect(BluetoothUUID(text) == nil) }

  @Test func uuidsPrintTheirShortestForm() {
    #expect("\(BluetoothUUID(0x180D as UInt16))" == "180D")
    #expect(
      BluetoothUUID(0x180D as UInt16).fullDescription == "0000180d-0000-1000-8000-00805f9b34fb")
    #expect("\(BluetoothUUID(0x1234_5678 as UInt32))" == "12345678-0000-1000-8000-00805f9b34fb")
    let long = BluetoothUUID(high: 0x0011_2233_4455_6677, low: 0x8899_AABB_CCDD_EEFF)
    #expect("\(long)" == "00112233-4455-6677-8899-aabbccddeeff")
    #expect(BluetoothUUID("\(long)") == long)
    #expect(long.short == nil && long.short32 == nil && long.encodedLength == 16)
    #expect(BluetoothUUID(0x1_0000 as UInt32).short == nil)
    #expect(BluetoothUUID(0xFFFF as UInt32).short == 0xFFFF)
    #expect(BluetoothUUID(0x1_0000 as UInt32).short32 == 0x1_0000)
  }

  @Test func randomUUIDsSurviveTheirText() {
    var random = SplitMix64(seed: 4)
    for _ in 0..<500 {
      let uuid = BluetoothUUID(high: random.next(), low: random.next())
      #expect(BluetoothUUID(uuid.fullDescription) == uuid)
      #expect(BluetoothUUID(uuid.fullDescription.filter { $0 != "-" }.uppercased()) == uuid)
    }
  }

  private func uuid(_ text: String) -> BluetoothUUID? {
    let value = octets(text)
    return value.span.bytes.uuid
  }

  @Test func uuidsInValues() {
    #expect(uuid("0d 18") == 0x180D)
    #expect(uuid("78 56 34 12") == BluetoothUUID(0x1234_5678 as UInt32))
    #expect(
      uuid("fb 34 9b 5f 80 00 00 80 00 10 00 00 0d 18 00 00") == 0x180D)
    for count in [0, 1, 3, 5, 15, 17] {
      #expect(uuid(String(repeating: "00", count: count)) == nil)
    }
  }

  @Test func handleRanges() {
    #expect(HandleRange(0, 5) == nil)
    #expect(HandleRange(5, 4) == nil)
    #expect(HandleRange(0xFFFF, 1) == nil)
    #expect(HandleRange(1, 0xFFFF) == .all)
    #expect(HandleRange(0xFFFF, 0xFFFF)?.contains(0xFFFF) == true)
    #expect(HandleRange.from(0) == nil)
    #expect(HandleRange.from(7) == HandleRange(7, 0xFFFF))
    let range = HandleRange(3, 6)!
    #expect([2, 3, 6, 7].map(range.contains) == [false, true, true, false])
    #expect(range.after(3) == HandleRange(4, 6))
    #expect(range.after(6) == nil)
    #expect(range.after(9) == nil)
    #expect(range.after(1) == range)
    #expect(range.after(0) == range)
    #expect(HandleRange.all.after(0xFFFF) == nil)
    #expect("\(range)" == "0x0003-0x0006")
  }

  @Test func handlesEndAtBothEnds() {
    #expect(AttributeHandle.max.next == nil)
    #expect(AttributeHandle.min.previous == nil)
    #expect(AttributeHandle.invalid.previous == nil)
    #expect(AttributeHandle.invalid.next == 1)
    #expect(!AttributeHandle.invalid.isValid)
    #expect("\(AttributeHandle(0x2A))" == "0x002A")
  }

  @Test func instantsSaturate() {
    let end = Instant(nanoseconds: .max)
    let beginning = Instant(nanoseconds: .min)
    #expect(end + .nanoseconds(1) == end)
    #expect(end + .seconds(Int64.max) == end)
    #expect(Instant.zero + .seconds(Int64.max) == end)
    #expect(Instant.zero + .seconds(Int64.min) == beginning)
    #expect(beginning + .nanoseconds(-1) == beginning)
    #expect(beginning + .seconds(Int64.min) == beginning)
    #expect(Instant(nanoseconds: -1) + .seconds(Int64.max) == end)
    #expect(Instant(nanoseconds: 1) + .seconds(Int64.min) == beginning)
    #expect(Instant(nanoseconds: 5) + .milliseconds(-1) == Instant(nanoseconds: -999_995))
    #expect(end - beginning == .nanoseconds(Int64.max) - .nanoseconds(Int64.min))
    #expect(Instant.zero + .milliseconds(1500) == Instant(nanoseconds: 1_500_000_000))
  }

  @Test func codesHaveNamesAndAnOpenSpace() {
    #expect("\(ErrorCode.invalidHandle)" == "Invalid Handle (0x01)")
    #expect("\(ErrorCode(0x93))" == "Application Error (0x93)")
    #expect("\(ErrorCode(0x5C))" == "error 0x5C")
    #expect((0...0xFF).count { ErrorCode(UInt8($0)).name != nil } == 19 + 32 + 4)
    #expect("\(Opcode(0x7F))" == "opcode 0x7F")
    #expect("\(Opcode.readRequest)" == "Read Request (0x0A)")
  }

  /// Unknown requests are answered, unknown commands are not. Vol 3, Part F,
  /// 3.3.
  @Test func opcodesHaveAKind() {
    for number in UInt8.min...UInt8.max where Opcode(number).name == nil {
      #expect(Opcode(number).kind == (number & 0x40 != 0 ? .command : .request))
      #expect(Opcode(number).response == nil)
    }
    for opcode in Opcode.all where opcode.kind == .request {
      #expect(opcode.response?.kind == .response)
    }
    #expect(Opcode.all.count { $0.kind == .request } == 12)
    #expect(Opcode.all.count { $0.kind == .response } == 13)
    #expect(Opcode.writeCommand.kind == .command)
    #expect(Opcode.signedWriteCommand.isSigned)
  }
}
