import TestSupport
import AttoATT
import AttoGATT
import Testing

/// Requests that read values. Rules 19 to 22; Vol 3, Part F, 3.4.4.
@Suite(.sideBySide) struct ServerReadTests {
  private func station(_ values: ValueDefinition...) -> TestSession {
    TestSession(
      Database(
        ServiceDefinition(
          0x1800, handle: 1, characteristics: values.map { value(0x2A00, $0) })))
  }

  private func count(_ count: Int, _ octet: UInt8 = 0xAA) -> ValueDefinition {
    .stored([UInt8](repeating: octet, count: count))
  }

  private func aa(_ count: Int, _ octet: UInt8 = 0xAA) -> String {
    hexText([UInt8](repeating: octet, count: count))
  }

  // MARK: Read

  @Test func reads() {
    let station = station(.stored([1, 2]), .constant([]), count(22), count(23), count(512))
    station.play(
      """
      > 0a 0300
      < 0b 0102
      > 0a 0500
      < 0b
      > 0a 0700
      < 0b \(aa(22))
      > 0a 0900        # cut at ATT_MTU - 1
      < 0b \(aa(22))
      > 0a 0b00
      < 0b \(aa(22))
      > 0a 0100        # a declaration
      < 0b 0018
      > 0a 0200
      < 0b 0a 0300 002a
      > 0a 0000
      < 01 0a 0000 01
      > 0a 0c00
      < 01 0a 0c00 01
      > 0a ffff
      < 01 0a ffff 01
      """)
    station.exchange(517)
    #expect(station.send("0a 0b00") == ["0b " + aa(512)])
  }
  // MARK: Read Blob
  /// Rule 21: an offset beyond the value.
  @Test func readsBlobs() {
    let station = station(.stored([1, 2, 3]), count(40), .constant([]), count(1), count(512))
    station.play(
      """
      > 0c 0300 0000
      < 0d 010203
      > 0c 0300 0200
      < 0d 03
      > 0c 0300 0300      # at the end: nothing
      < 0d
      > 0c 0300 0400
      < 01 0c 0300 07
      > 0c 0300 ffff
      < 01 0c 0300 07
      > 0c 0500 0000
      < 0d \(aa(22))
      > 0c 0500 1600
      < 0d \(aa(18))
      > 0c 0700 0000
      < 0d
      > 0c 0700 0100
      < 01 0c 0700 07
      > 0c 0900 0100
      < 0d
      > 0c 0900 0200
      < 01 0c 0900 07
      > 0c 0b00 ff01
      < 0d aa
      > 0c 0b00 0002
      < 0d
      > 0c 0b00 0102
      < 01 0c 0b00 07
      > 0c 0000 0000
      < 01 0c 0000 01
      > 0c 0c00 0000
      < 01 0c 0c00 01
      """)
  }

  /// Applications that return the requested part or the whole value.
  @Test func blobsOfTheApplication() {
    let application = ScriptedApplication()
    let station = TestSession(
      Server(
        Database(
          service(
            0x1800, at: 1, value(0x2A00, .application(ValueLimits())),
            value(0x2A01, .application(ValueLimits())))), application: application))
    application.reads = [3: .value([UInt8](0..<30)), 5: .part([9, 9])]
    #expect(station.send("0c 0300 1c00") == ["0d 1c 1d"])
    #expect(station.send("0c 0500 1c00") == ["0d 09 09"])
    #expect(station.send("0c 0500 ff01") == ["0d 09"])
    // A value of the application is cut at 512 octets.
    #expect(station.send("0c 0500 0102") == ["01 0c 05 00 07"])
    #expect(application.offsets == [28, 28, 511])
  }

  // MARK: Read Multiple

  @Test func readsMultiple() {
    let station = station(.stored([1, 2]), .constant([]), .stored([3]), count(20))
    station.play(
      """
      > 0e 0300 0700
      < 0f 010203
      > 0e 0700 0300 0500 0300     # in the order of the request, also again
      < 0f 0301020102
      > 0e 0500 0500
      < 0f
      > 0e 0300 0900               # cut at ATT_MTU - 1
      < 0f 0102\(aa(20))
      > 0e 0300 0700 0900
      < 0f 010203\(aa(19))
      > 0e 0300 0000
      < 01 0e 0000 01
      > 0e 0300 0c00 0000          # the first that fails is told
      < 01 0e 0c00 01
      """)
  }
  @Test func readsMultipleVariable() {
    let station = station(.stored([1, 2]), .constant([]), .stored([3]), count(20), count(16))
    station.play(
      """
      > 20 0300 0700
      < 21 0200 0102 0100 03
      > 20 0500 0500
      < 21 0000 0000
      > 20 0300 0900              # 1 + 4 + 2 + 16 octets: the value is cut
      < 21 0200 0102 1400 \(aa(16))
      > 20 0900 0300              # the field has no room: not the value either
      < 21 1400 \(aa(20))
      > 20 0b00 0300              # 1 + 18 + 2 + 2: to the last octet
      < 21 1000 \(aa(16)) 0200 0102
      > 20 0b00 0500 0300         # two octets are left after the empty value: a field alone
      < 21 1000 \(aa(16)) 0000 0200
      > 20 0300 0000
      < 01 20 0000 01
      """)
  }

  // MARK: Read By Type

  /// Rule 19: equal lengths, lowest handles first, as many as fit.
  @Test func readsByType() {
    let station = station(
      .stored([1, 2]), .stored([3, 4]), .stored([5]), .stored([6, 7]), .constant([]),
      .constant([]))
    station.play(
      """
      > 08 0100 ffff 002a
      < 09 04 0300 0102 0500 0304
      > 08 0600 ffff 002a
      < 09 03 0700 05
      > 08 0800 ffff 002a
      < 09 04 0900 0607
      > 08 0a00 ffff 002a         # empty values
      < 09 02 0b00 0d00
      > 08 0300 0300 002a
      < 09 04 0300 0102
      > 08 0400 0400 002a
      < 01 08 0400 0a
      > 08 0100 ffff 012a
      < 01 08 0100 0a
      """)
  }

  @Test func readByTypeFillsTheMTU() {
    let station = station(
      count(5), count(5), count(5), count(5))
    #expect(station.send("08 0100 ffff 002a")[0].split(separator: " ").count == 2 + 3 * 7)
    station.exchange(30)
    #expect(station.send("08 0100 ffff 002a")[0].split(separator: " ").count == 2 + 4 * 7)
  }

  /// Values are cut at ATT_MTU - 4, and at 253 because of the length field. H15.
  @Test func h15ReadByTypeCutsLongValues() {
    let station = station(count(19), count(20), count(19), count(300), count(300))
    #expect(station.send("08 0300 ffff 002a") == ["09 15 03 00 " + aa(19)])
    #expect(station.send("08 0500 ffff 002a") == ["09 15 05 00 " + aa(19)])
    #expect(station.send("08 0900 ffff 002a") == ["09 15 09 00 " + aa(19)])
    station.exchange(517)
    #expect(station.send("08 0900 ffff 002a") == ["09 ff 09 00 " + aa(253)])
    // Only the first may be cut.
    let other = self.station(count(253), count(300))
    other.exchange(517)
    #expect(other.send("08 0300 ffff 002a") == ["09 ff 03 00 " + aa(253)])
    let same = self.station(count(253), count(253), count(1))
    same.exchange(517)
    #expect(
      same.send("08 0300 ffff 002a") == ["09 ff 03 00 \(aa(253)) 05 00 \(aa(253))"])
  }

  /// An attribute that cannot be read ends the list; if it is the first, it is the error.
  @Test func readByTypeStopsBeforeAnError() {
    let station = TestSession(
      Database(
        service(
          0x1800, at: 1, value(0x2A00, .stored([1])),
          value(
            0x2A00, .stored([2]),
            AttributePermissions(
              read: .requires(AttributePermissions.Requirement(security: .medium)))),
          value(0x2A00, .stored([3])), value(0x2A00, .stored([4]), .writeOnly))))
    station.play(
      """
      > 08 0100 ffff 002a
      < 09 03 0300 01
      > 08 0400 ffff 002a
      < 01 08 0500 0f
      > 08 0600 ffff 002a
      < 09 03 0700 03
      > 08 0800 ffff 002a         # PureSwift leaks this one
      < 01 08 0900 02
      """)
  }

  /// The application is not asked for values that do not fit.
  @Test func readByTypeAsksForWhatFits() {
    let application = ScriptedApplication()
    let server = Server(
      Database(
        ServiceDefinition(
          0x1800, handle: 1,
          characteristics: (0..<4).map { _ in value(0x2A00, .application(ValueLimits())) })),
      application: application)
    for handle: AttributeHandle in [3, 5, 7, 9] {
      application.reads[handle] = .value([UInt8](repeating: 1, count: 8))
    }
    let station = TestSession(server)
    #expect(station.send("08 0100 ffff 002a")[0].hasPrefix("09 0a 03 00"))
    #expect(application.questions.map(\.handle) == [3, 5])
  }

  @Test func readsByA128BitType() {
    let long = BluetoothUUID("00112233-4455-6677-8899-aabbccddeeff")!
    let station = TestSession(
      Database(service(0x1800, at: 1, value(long, .stored([1])), value(0x2A00, .stored([2])))))
    station.play(
      """
      > 08 0100 ffff ffeeddcc bbaa 9988 7766 5544 33221100
      < 09 03 0300 01
      > 08 0100 ffff fb349b5f 8000 0080 0010 0000 002a 0000
      < 09 03 0500 02
      > 08 0100 ffff feeeddcc bbaa 9988 7766 5544 33221100
      < 01 08 0100 0a
      """)
  }
}
