import TestSupport
import AttoATT
import AttoGATT
import Testing

/// Requests that find attributes. Rules 1, 16 to 18 and 20; Vol 3, Part F, 3.4.3 and 3.4.4.9.
@Suite(.sideBySide) struct ServerFindTests {
  private static let long = BluetoothUUID("00112233-4455-6677-8899-aabbccddeeff")!
  private static let longOctets = "ffeeddcc bbaa 9988 7766 5544 33221100"

  /// Services of both widths, duplicates, a secondary one, gaps, an include pointing backwards
  /// and one pointing forwards, and a group that is longer than its attributes.
  static let database = Database(
    ServiceDefinition(
      0x1800, handle: 0x0001,
      characteristics: [CharacteristicDefinition(0x2A00, properties: .read)]),
    ServiceDefinition(
      0x180F, isPrimary: false, handle: 0x0010, endHandle: 0x001F,
      characteristics: [
        CharacteristicDefinition(
          0x2A19, properties: [.read, .notify], handle: 0x0012,
          descriptors: [DescriptorDefinition(long, handle: 0x0016)])
      ]),
    ServiceDefinition(long, handle: 0x0020, includes: [IncludeDefinition(service: 0x0010)]),
    ServiceDefinition(
      0x180D, handle: 0x0030,
      includes: [
        IncludeDefinition(service: 0x0020),
        IncludeDefinition(
          service: 0x0040,
          target: IncludeDefinition.Target(endHandle: 0x0042, uuid: 0x180D)),
      ]),
    ServiceDefinition(
      0x180D, handle: 0x0040,
      characteristics: [CharacteristicDefinition(long, properties: .write)]))

  private let station = TestSession(ServerFindTests.database)

  /// As many as fit, to the last octet.
  @Test(arguments: [23, 24, 25, 26, 27, 28, 29, 41] as [UInt16])
  func findByTypeValueFillsItsResponse(_ mtu: UInt16) throws {
    var database = Database()
    for _ in 0..<20 { try database.add(ServiceDefinition(0x180D)) }
    let station = TestSession(database)
    station.exchange(mtu)
    let response = station.send("06 0100 ffff 0028 0d18")
    #expect(response.map { octets($0).count } == [1 + (Int(mtu) - 1) / 4 * 4])
  }

  /// The last handle of a range belongs to it.
  @Test func rangesThatEndAtWhatIsLookedFor() {
    station.play(
      """
      > 06 0100 3000 0028 0d18
      < 07 3000 3200
      > 06 3000 3000 0028 0d18
      < 07 3000 3200
      > 06 0100 2f00 0028 0d18
      < 01 06 0100 0a
      > 04 3000 3000
      < 05 01 3000 0028
      > 10 2100 3000 0028
      < 11 06 3000 3200 0d18
      > 08 2100 3000 0028
      < 09 04 3000 0d18
      """)
  }

  // MARK: Rule 16

  @Test(arguments: ["04 %", "06 % 0028", "08 % 0328", "10 % 0028"]) func rule16(_ request: String) {
    func ask(_ range: String) -> [String] {
      station.send(request.replacing("%", with: range))
    }
    let opcode = String(request.prefix(2))
    // start = 0, start > end: Invalid Handle with the start.
    #expect(ask("0000 ffff") == ["01 \(opcode) 00 00 01"])
    #expect(ask("0000 0000") == ["01 \(opcode) 00 00 01"])
    #expect(ask("0200 0100") == ["01 \(opcode) 02 00 01"])
    #expect(ask("ffff 0100") == ["01 \(opcode) ff ff 01"])
    // No attribute: Attribute Not Found with the start.
    #expect(ask("0500 0900") == ["01 \(opcode) 05 00 0a"])
    #expect(ask("4500 ffff") == ["01 \(opcode) 45 00 0a"])
    #expect(ask("ffff ffff") == ["01 \(opcode) ff ff 0a"])
  }

  // MARK: Find Information

  @Test func findInformation() {
    station.play(
      """
      > 04 0100 ffff
      < 05 01 0100 0028  0200 0328  0300 002a  1000 0128  1200 0328
      > 04 1300 ffff
      < 05 01 1300 192a  1400 0229
      > 04 1600 ffff    # rule 17: one width in a response
      < 05 02 1600 \(Self.longOctets)
      > 04 1700 ffff
      < 05 01 2000 0028  2100 0228  3000 0028  3100 0228  3200 0228
      > 04 4000 ffff
      < 05 01 4000 0028  4100 0328
      > 04 4200 4200
      < 05 02 4200 \(Self.longOctets)
      > 04 0200 0200
      < 05 01 0200 0328
      > 04 0200 0300
      < 05 01 0200 0328  0300 002a
      """)
  }

  /// As many as fit: the response grows with ATT_MTU.
  @Test func findInformationFillsTheMTU() {
    station.exchange(26)
    #expect(station.send("04 01 00 ff ff")[0].split(separator: " ").count == 26)
    let wide = TestSession(ServerFindTests.database)
    wide.exchange(64)
    // Rule 17: there is room for the 128-bit type at 0x0016, but it ends the list.
    wide.play(
      """
      > 04 0100 ffff
      < 05 01 0100 0028 0200 0328 0300 002a 1000 0128 1200 0328 1300 192a 1400 0229
      > 04 1600 ffff
      < 05 02 1600 \(Self.longOctets)
      """)
  }

  // MARK: Find By Type Value

  @Test func findByTypeValue() {
    station.play(
      """
      > 06 0100 ffff 0028 0d18
      < 07 3000 3200 4000 4200
      > 06 0100 3000 0028 0d18        # rule 18: the end may exceed the range
      < 07 3000 3200
      > 06 0100 ffff 0028 \(Self.longOctets)
      < 07 2000 2100
      > 06 0100 ffff 0128 0f18
      < 07 1000 1f00
      > 06 0100 ffff 0328 02 0300 002a  # a type that begins no group
      < 07 0200 0200
      > 06 0100 ffff 0028 0d18 00     # exact length
      < 01 06 0100 0a
      > 06 0100 ffff 0028 0d
      < 01 06 0100 0a
      > 06 0100 ffff 0028             # no value
      < 01 06 0100 0a
      > 06 0100 ffff 0000 0d18
      < 01 06 0100 0a
      """)
  }

  /// An unreadable value cannot be found by guessing it.
  @Test func findByTypeValueOfWhatMayNotBeRead() {
    let database = Database(
      service(
        0x1800, at: 1, value(0x2A00, .stored([7]), .writeOnly), value(0x2A00, .stored([7])),
        value(
          0x2A00, .stored([7]),
          AttributePermissions(
            read: .requires(AttributePermissions.Requirement(security: .medium)))),
        value(0x2A00, .stored([8]))))
    let station = TestSession(database)
    #expect(station.send("06 0100 ffff 002a 07") == ["07 05 00 05 00"])
    #expect(station.send("06 0100 0400 002a 07") == ["01 06 01 00 0a"])
    station.client.security = LinkSecurity(.medium)
    #expect(station.send("06 0100 ffff 002a 07") == ["07 05 00 05 00 07 00 07 00"])
  }

  /// More matches than a PDU holds.
  @Test func findByTypeValueFillsTheMTU() throws {
    var database = Database()
    for _ in 0..<20 { try database.add(ServiceDefinition(0x180D)) }
    let station = TestSession(database)
    #expect(
      station.send("06 0100 ffff 0028 0d18")
        == ["07 01 00 01 00 02 00 02 00 03 00 03 00 04 00 04 00 05 00 05 00"])
    #expect(station.send("06 1400 ffff 0028 0d18") == ["07 14 00 14 00"])
  }

  // MARK: Read By Group Type

  @Test func readByGroupType() {
    station.play(
      """
      > 10 0100 ffff 0028
      < 11 06 0100 0300 0018
      > 10 0400 ffff 0028
      < 11 14 2000 2100 \(Self.longOctets)   # 20 octets an entry
      > 10 2200 ffff 0028
      < 11 06 3000 3200 0d18 4000 4200 0d18
      > 10 0100 ffff 0128
      < 11 06 1000 1f00 0f18
      > 10 0100 0100 0028
      < 11 06 0100 0300 0018
      > 10 4100 ffff 0028
      < 01 10 4100 0a
      """)
  }

  /// Rule 20: only services are groups, and a UUID is the same in both widths.
  @Test func unsupportedGroupTypes() {
    for type in ["0328", "0228", "0000", "ffff", "0018", Self.longOctets] {
      #expect(station.send("10 0100 ffff \(type)") == ["01 10 01 00 10"])
    }
    #expect(
      station.send("10 2200 ffff fb349b5f 8000 0080 0010 0000 0028 0000")
        == station.send("10 2200 ffff 0028"))
    #expect(
      station.send("10 2200 ffff fb349b5f 8000 0080 0010 0000 0028 0100")
        == ["01 10 22 00 10"])
    // An invalid range is reported first.
    #expect(station.send("10 0000 ffff 0328") == ["01 10 00 00 01"])
  }

  // MARK: Declarations by type

  @Test func declarations() {
    station.play(
      """
      > 08 0100 ffff 0328
      < 09 07 0200 02 0300 002a  1200 12 1300 192a
      > 08 1300 ffff 0328
      < 09 15 4100 08 4200 \(Self.longOctets)
      > 08 0100 ffff 0228
      < 09 08 2100 1000 1f00 0f18
      > 08 2200 ffff 0228
      < 09 06 3100 2000 2100          # a 128-bit service: no UUID
      > 08 3200 ffff 0228
      < 09 08 3200 4000 4200 0d18
      > 0a 2000                       # so its declaration is read
      < 0b \(Self.longOctets)
      """)
  }

  /// 32-bit UUIDs are sent and found as 128 bits.
  @Test func shortUUIDsOf32Bits() {
    let uuid = BluetoothUUID(0x1234_5678 as UInt32)
    let octets = "fb349b5f 8000 0080 0010 0000 7856 3412"
    let station = TestSession(Database(ServiceDefinition(uuid, handle: 1)))
    station.play(
      """
      > 10 0100 ffff 0028
      < 11 14 0100 0100 \(octets)
      > 06 0100 ffff 0028 \(octets)
      < 07 0100 0100
      > 06 0100 ffff 0028 78563412
      < 01 06 0100 0a
      """)
  }

  @Test func anEmptyDatabase() {
    let station = TestSession(Database())
    station.play(
      """
      > 04 0100 ffff
      < 01 04 0100 0a
      > 10 0100 ffff 0028
      < 01 10 0100 0a
      > 08 0100 ffff 2a2b
      < 01 08 0100 0a
      > 06 0100 ffff 0028 0018
      < 01 06 0100 0a
      > 0a 0100
      < 01 0a 0100 01
      > 0c 0100 0000
      < 01 0c 0100 01
      > 12 0100 00
      < 01 12 0100 01
      > 16 0100 0000 00
      < 01 16 0100 01
      > 18 01
      < 19
      > 52 0100 00
      """)
  }
}
