import TestSupport
import AttoATT
import AttoGATT
import Testing

/// Writes that take effect at once. Rules 3, 23, 27 and 29; Vol 3, Part F, 3.4.5.
@Suite(.sideBySide) struct ServerWriteTests {
  private let station = TestSession(
    Database(
      service(
        0x1800, at: 1,
        value(1, .stored([1, 2, 3], ValueLimits(maximumLength: 5))),
        value(2, .stored([1, 2, 3], ValueLimits(maximumLength: 3, isFixedLength: true))),
        value(3, .constant([9])),
        value(4, .stored([9]), .readOnly),
        value(5, .stored([1, 2], ValueLimits(isFixedLength: true))),
        CharacteristicDefinition(
          6, properties: [.notify, .indicate],
          descriptors: [DescriptorDefinition(.characteristicUserDescription, value: .constant([7]))]
        ),
        CharacteristicDefinition(7, properties: .notify))))

  /// Rule 23: of variable length.
  @Test func aValueOfVariableLength() {
    station.play(
      """
      > 12 0300 0a
      < 13
      > 0a 0300
      < 0b 0a
      > 12 0300
      < 13
      > 0a 0300
      < 0b
      > 12 0300 0102030405
      < 13
      > 0a 0300
      < 0b 0102030405
      > 12 0300 010203040506
      < 01 12 0300 0d
      > 0a 0300
      < 0b 0102030405
      """)
    #expect(
      station.server.events
        == [[UInt8]](repeating: [], count: 3).map { _ in
          .valueWritten(3, by: station.client.id)
        })
  }

  /// Events are not recorded if nobody reads them.
  @Test func eventsAreNotedOnlyWhereTheyAreWanted() {
    station.server.notesEvents = false
    #expect(station.send("12 0300 01") == ["13"])
    #expect(station.server.events.isEmpty)
    station.server.notesEvents = true
    #expect(station.send("12 0300 02") == ["13"])
    #expect(station.server.events == [.valueWritten(3, by: station.client.id)])
  }

  /// Rule 23: of fixed length, a shorter write updates a prefix.
  @Test func aValueOfFixedLength() {
    station.play(
      """
      > 12 0500 0a
      < 13
      > 0a 0500
      < 0b 0a0203
      > 12 0500
      < 13
      > 0a 0500
      < 0b 0a0203
      > 12 0500 04050607
      < 01 12 0500 0d
      > 12 0500 040506
      < 13
      > 0a 0500
      < 0b 040506
      """)
  }

  /// The length that is fixed is the value's, not the limit's.
  @Test func aFixedLengthBelowTheLimit() {
    station.play(
      """
      > 12 0b00 040506
      < 01 12 0b00 0d
      > 0a 0b00
      < 0b 0102
      > 52 0b00 040506
      > 0a 0b00
      < 0b 0102
      > 12 0b00 0405
      < 13
      > 0a 0b00
      < 0b 0405
      """)
  }

  @Test func whatCannotBeWritten() {
    station.play(
      """
      > 12 0000 01
      < 01 12 0000 01
      > 12 ff00 01
      < 01 12 ff00 01
      > 12 0700 01        # constant
      < 01 12 0700 03
      > 12 0900 01        # read only
      < 01 12 0900 03
      > 12 0100 01        # a declaration
      < 01 12 0100 03
      > 12 0200 01
      < 01 12 0200 03
      > 12 0f00 01        # a user description that is constant
      < 01 12 0f00 03
      """)
    #expect(station.server.events.isEmpty)
  }

  /// Rule 3: a command never produces a response, whatever is wrong with it.
  @Test func commands() {
    station.play(
      """
      > 52 0300 0b
      > 0a 0300
      < 0b 0b
      > 52 0000 01
      > 52 ff00 01
      > 52 0700 01
      > 52 0900 01
      > 52 0300 010203040506
      > 52 03
      > 52
      > 7f 0102
      > d2 0300 01 000000000000000000000000
      > 0a 0300
      < 0b 0b
      """)
  }

  // MARK: Client Characteristic Configuration

  /// The configuration of characteristic 6 is at 0x000E; of 7 at 0x0012.
  @Test func configurations() {
    station.play(
      """
      > 0a 0e00
      < 0b 0000
      > 12 0e00 0100
      < 13
      > 0a 0e00
      < 0b 0100
      > 12 0e00 02         # rule 23: one octet is legal
      < 13
      > 0a 0e00
      < 0b 0200
      > 12 0e00 0300
      < 13
      > 12 0e00
      < 01 12 0e00 0d
      > 12 0e00 010000
      < 01 12 0e00 0d
      > 12 0e00 0400       # reserved
      < 01 12 0e00 13
      > 12 0e00 0001
      < 01 12 0e00 13
      > 0a 0e00
      < 0b 0300
      > 12 1200 0200       # not offered
      < 01 12 1200 13
      > 12 1200 0100
      < 13
      > 12 0e00 0000
      < 13
      > 0a 0e00
      < 0b 0000
      > 52 0e00 0100       # also by command
      > 0a 0e00
      < 0b 0100
      """)
    let id = station.client.id
    #expect(
      station.server.events == [
        .configured(value: 0x0D, .notification, by: id),
        .configured(value: 0x0D, .indication, by: id),
        .configured(value: 0x0D, [.notification, .indication], by: id),
        .configured(value: 0x11, .notification, by: id),
        .configured(value: 0x0D, [], by: id),
        .configured(value: 0x0D, .notification, by: id),
      ])
  }

  /// Rule 29: each client has its own, one across its bearers, and zero at each connection.
  @Test func configurationsAreEachClientsOwn() {
    let beside = TestSession(
      beside: station, BearerConfiguration(channel: .enhanced(mtu: 64)))
    let other = TestSession(station.server)
    station.send("12 0e00 0100")
    other.send("12 0e00 0200")
    #expect(station.send("0a 0e00") == ["0b 01 00"])
    #expect(beside.send("0a 0e00") == ["0b 01 00"])
    #expect(other.send("0a 0e00") == ["0b 02 00"])
    #expect(station.server.deliveries(of: 0x0D, to: station.client) == .notification)
    #expect(station.server.deliveries(of: 0x0D, to: other.client) == .indication)
    station.server.disconnect(station.client)
    #expect(TestSession(station.server).send("0a 0e00") == ["0b 00 00"])
    #expect(other.send("0a 0e00") == ["0b 02 00"])
  }

  /// Kept if the client is bonded, and no more than its characteristic offers.
  @Test func configurationsOfBondedClients() {
    station.send("12 0e00 0300")
    station.send("12 1200 0100")
    var record = station.server.record(of: station.client)
    #expect(record.configurations == [0x0E: [.notification, .indication], 0x12: .notification])
    station.server.disconnect(station.client)
    // Handles that are now something else, or offer less.
    record.configurations[0x12] = [.notification, .indication]
    record.configurations[0x0D] = .notification
    record.configurations[0x99] = .notification
    let again = TestSession(station.server, record: record)
    #expect(again.send("0a 0e00") == ["0b 03 00"])
    #expect(again.send("0a 1200") == ["0b 01 00"])
    #expect(
      again.server.record(of: again.client).configurations
        == [0x0E: [.notification, .indication], 0x12: .notification])
  }

  // MARK: Signed writes

  private static let key = octets("611B64EBFBCD1FD372EC9196DF425E50")
  private static let vector = "d2 1200 1337 01000000 f1871e933c900ff2"

  private func signedStation(
    _ configuration: BearerConfiguration = BearerConfiguration()
  ) -> TestSession {
    let station = TestSession(
      Server(
        Database(
          service(
            0x1800, at: 0x10,
            value(0x2A00, .stored([]), .readWrite, [.read, .authenticatedSignedWrites])))),
      configuration)
    station.client.setSigningKey(Self.key, counter: 1)
    return station
  }

  /// Rule 27: the vector.
  @Test func aSignedWrite() {
    let station = signedStation()
    station.play("> \(Self.vector)\n> 0a 1200\n< 0b 1337")
    #expect(station.client.signCounter == 2)
    // Again: the counter has been used.
    station.server.events = []
    #expect(station.send(Self.vector) == [])
    #expect(station.server.events.isEmpty)
  }

  @Test func badSignaturesAreIgnored() {
    for bit in 8..<17 * 8 {
      var pdu = octets(Self.vector)
      pdu[bit / 8] ^= 1 << (bit % 8)
      let station = signedStation()
      #expect(station.send(pdu) == [])
      #expect(station.server.events.isEmpty, "bit \(bit)")
      #expect(station.client.signCounter == 1)
    }
  }

  @Test func signedWritesNeedAKeyAndALinkInTheClear() {
    let without = TestSession(signedStation().server)
    #expect(without.send(Self.vector) == [])
    #expect(without.server.events.isEmpty)
    let encrypted = signedStation()
    encrypted.client.security = LinkSecurity(.medium)
    #expect(encrypted.send(Self.vector) == [])
    #expect(encrypted.server.events.isEmpty)
  }

  @Test func signedWritesNeverOnAnEnhancedBearer() {
    let station = signedStation(BearerConfiguration(channel: .enhanced(mtu: 64)))
    #expect(station.send(Self.vector) == [])
    #expect(station.server.events.isEmpty)
  }

  @Test func whatASessionSignsASessionAccepts() throws {
    let station = signedStation()
    let sender = Session()
    let value: [UInt8] = [0x13, 0x37]
    #expect(
      try sender.writeSigned(0x12, value.span.bytes, counter: 1, key: Self.key))
    var pdu: [UInt8] = []
    sender.bearer.outbox.removeFirst(into: &pdu)
    #expect(hexText(pdu) == hexText(octets(Self.vector)))
    station.send(pdu)
    #expect(station.send("0a 1200") == ["0b 13 37"])
    let long = [UInt8](repeating: 0, count: 9)
    #expect(throws: ProcedureError.misuse(.valueTooLong(9, limit: 8))) {
      try sender.writeSigned(0x12, long.span.bytes, counter: 2, key: Self.key)
    }
  }
}
