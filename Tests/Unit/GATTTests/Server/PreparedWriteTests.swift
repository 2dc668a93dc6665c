import TestSupport
import AttoATT
import AttoGATT
import Testing

/// Prepared writes. Rules 24 to 26; Vol 3, Part F, 3.4.6.
@Suite(.sideBySide) struct PreparedWriteTests {
  private static let database = Database(
    service(
      0x1800, at: 1,
      value(1, .stored([1, 2, 3, 4], ValueLimits(maximumLength: 8))),
      value(2, .stored([1, 2, 3], ValueLimits(isFixedLength: true))),
      value(3, .constant([9])),
      value(4, .application(ValueLimits(maximumLength: 10))),
      CharacteristicDefinition(5, properties: [.notify, .indicate]),
      value(
        6, .stored([]),
        AttributePermissions(
          write: .requires(AttributePermissions.Requirement(security: .high)))),
      value(7, .stored([]))))

  private let application = ScriptedApplication()
  private let server: Server
  private let station: TestSession

  init() {
    server = Server(Self.database, application: application)
    station = TestSession(server)
  }

  private func values() -> [[UInt8]?] {
    [3, 5, 16].map { server.database.value(of: $0) }
  }

  /// Rule 24: the echo is exact; nothing is written before the execution.
  @Test func preparesAndExecutes() {
    station.play(
      """
      > 16 0300 0000 0a0b
      < 17 0300 0000 0a0b
      > 16 0300 0200 0c
      < 17 0300 0200 0c
      > 0a 0300
      < 0b 01020304
      > 18 01
      < 19
      > 0a 0300
      < 0b 0a0b0c
      > 18 01              # rule 26: the queue is empty
      < 19
      > 0a 0300
      < 0b 0a0b0c
      """)
    #expect(server.events == [.valueWritten(3, by: station.client.id)])
  }

  /// Rule 26: flags.
  @Test func cancels() {
    station.play(
      """
      > 18 00
      < 19
      > 16 0300 0000 0a
      < 17 0300 0000 0a
      > 18 00
      < 19
      > 18 01
      < 19
      > 0a 0300
      < 0b 01020304
      > 16 0300 0000 0a
      < 17 0300 0000 0a
      > 18 02              # means nothing, and leaves the queue
      < 01 18 0000 04
      > 18 01
      < 19
      > 0a 0300
      < 0b 0a
      """)
  }

  /// Rule 24: handle, permission and room are checked immediately, offset and length later.
  @Test func whatIsJudgedWhen() {
    station.play(
      """
      > 16 0000 0000 01
      < 01 16 0000 01
      > 16 ff00 0000 01
      < 01 16 ff00 01
      > 16 0700 0000 01
      < 01 16 0700 03
      > 16 0e00 0000 01
      < 01 16 0e00 05
      > 16 0100 0000 01
      < 01 16 0100 03
      > 16 0300 ffff 01
      < 17 0300 ffff 01
      > 18 01
      < 01 18 0300 07
      > 18 01               # the queue was cleared
      < 19
      > 16 0300 0500 01
      < 17 0300 0500 01
      > 18 01
      < 01 18 0300 07
      > 16 0300 0400 0102030405
      < 17 0300 0400 0102030405
      > 18 01
      < 01 18 0300 0d
      > 16 0300 0400 01020304
      < 17 0300 0400 01020304
      > 18 01
      < 19
      > 0a 0300
      < 0b 0102030401020304
      """)
  }

  @Test func fixedLengths() {
    station.play(
      """
      > 16 0500 0100 0a
      < 17 0500 0100 0a
      > 18 01
      < 19
      > 0a 0500
      < 0b 010a03
      > 16 0500 0300 0b
      < 17 0500 0300 0b
      > 18 01
      < 01 18 0500 0d
      > 16 0500 0300
      < 17 0500 0300
      > 18 01
      < 19
      > 0a 0500
      < 0b 010a03
      """)
  }

  /// Rule 25: several writes to one handle take effect in order.
  @Test func repeatedHandles() {
    station.play(
      """
      > 16 0300 0400 0506
      < 17 0300 0400 0506
      > 16 0300 0000 09
      < 17 0300 0000 09
      > 16 0300 0600 07
      < 17 0300 0600 07
      > 16 0300 0000 08
      < 17 0300 0000 08
      > 18 01
      < 19
      > 0a 0300
      < 0b 08020304050607
      """)
    #expect(server.events.count == 1)
  }

  /// All or nothing: one invalid part prevents all writes. BlueZ writes those before it.
  @Test func allOrNothing() {
    let before = values()
    station.play(
      """
      > 16 0300 0000 0a
      < 17 0300 0000 0a
      > 16 0500 0000 0b
      < 17 0500 0000 0b
      > 16 0c00 0000 0100
      < 17 0c00 0000 0100
      > 16 0300 0900 0c
      < 17 0300 0900 0c
      > 18 01
      < 01 18 0300 07
      > 0a 0c00
      < 0b 0000
      """)
    #expect(values() == before)
    #expect(server.events.isEmpty)
    // If the application refuses its part, nothing else is stored.
    application.executes = .refused(ErrorCode(0x81))
    station.play(
      """
      > 16 0300 0000 0a
      < 17 0300 0000 0a
      > 16 0900 0000 0b
      < 17 0900 0000 0b
      > 18 01
      < 01 18 0900 81
      > 18 01
      < 19
      """)
    #expect(values() == before)
    application.executes = .accepted
    station.play(
      """
      > 16 0300 0000 0a
      < 17 0300 0000 0a
      > 16 0900 0000 0b0c
      < 17 0900 0000 0b0c
      > 16 0900 0200 0d
      < 17 0900 0200 0d
      > 18 01
      < 19
      """)
    #expect(
      application.executed.last == [
        PreparedWrite(handle: 9, offset: 0, part: [0x0B, 0x0C]),
        PreparedWrite(handle: 9, offset: 2, part: [0x0D]),
      ])
    #expect(server.database.value(of: 3) == [0x0A])
  }

  /// The application is asked only about values within their limits.
  @Test func theApplicationsLimits() {
    station.play(
      """
      > 16 0900 0b00
      < 17 0900 0b00
      > 18 01
      < 01 18 0900 07
      > 16 0900 0900 0102
      < 17 0900 0900 0102
      > 18 01
      < 01 18 0900 0d
      """)
    #expect(application.executed.isEmpty)
  }

  @Test func configurationsCanBePrepared() {
    station.play(
      """
      > 16 0c00 0000 02
      < 17 0c00 0000 02
      > 16 0c00 0100 00
      < 17 0c00 0100 00
      > 18 01
      < 19
      > 0a 0c00
      < 0b 0200
      > 16 0c00 0000 04
      < 17 0c00 0000 04
      > 18 01
      < 01 18 0c00 13
      > 16 0c00 0200 00
      < 17 0c00 0200 00
      > 18 01
      < 01 18 0c00 0d
      > 0a 0c00
      < 0b 0200
      """)
    #expect(
      server.events == [.configured(value: 0x0B, .indication, by: station.client.id)])
  }

  /// Rule 25: each client has its own queue, which its bearers share.
  @Test func queuesApart() {
    let other = TestSession(server)
    let beside = TestSession(
      beside: station, BearerConfiguration(channel: .enhanced(mtu: 64)))
    station.send("16 0300 0000 0a")
    other.send("16 0300 0000 0b")
    beside.send("16 0300 0100 0c")
    #expect(other.send("18 01") == ["19"])
    #expect(server.database.value(of: 3) == [0x0B])
    #expect(beside.send("18 01") == ["19"])
    #expect(server.database.value(of: 3) == [0x0A, 0x0C])
    #expect(station.send("18 01") == ["19"])
    #expect(server.database.value(of: 3) == [0x0A, 0x0C])
  }

  /// The queue is cleared when the client's last bearer ends.
  @Test func queuesEndWithTheirClient() {
    station.send("16 0300 0000 0a")
    server.disconnect(station.client)
    #expect(TestSession(server).send("18 01") == ["19"])
    #expect(server.database.value(of: 3) == [1, 2, 3, 4])
  }

  /// Rule 26: a change of the database clears the queue.
  @Test func theDatabaseChanges() throws {
    station.send("16 0300 0000 0a")
    try server.add(ServiceDefinition(0x180F, handle: 0x100))
    station.play(
      """
      > 18 01
      < 01 18 0300 12
      > 18 01
      < 19
      > 16 0300 0000 0a
      < 17 0300 0000 0a
      > 18 01
      < 19
      """)
    station.send("16 0300 0000 0a")
    try server.remove(service: 1)
    #expect(station.send("18 01") == ["01 18 03 00 12"])
  }

  // MARK: Limits

  /// Rule 24: a failed prepare leaves the queue as it was.
  @Test func aFullQueue() {
    let server = Server(
      Self.database,
      limits: ServerLimits(
        preparedWritesPerClient: 3, preparedBytesPerClient: 10, preparedBytesShare: 0,
        preparedBytes: 15))
    let station = TestSession(server)
    for offset in 0..<3 {
      #expect(station.send("16 1000 0\(offset)00 0a").first?.hasPrefix("17") == true)
    }
    #expect(station.send("16 1000 0300 0b") == ["01 16 10 00 09"])
    #expect(station.send("18 01") == ["19"])
    #expect(server.database.value(of: 0x10) == [0x0A, 0x0A, 0x0A])
    // Octets of one client, then of all.
    #expect(station.send("16 1000 0000 0102030405060708090a").first?.hasPrefix("17") == true)
    #expect(station.send("16 1000 0a00 0b") == ["01 16 10 00 09"])
    let other = TestSession(server)
    #expect(other.send("16 1000 0000 010203040506") == ["01 16 10 00 09"])
    #expect(other.send("16 1000 0000 0102030405").first?.hasPrefix("17") == true)
    #expect(other.send("16 1000 0500 01") == ["01 16 10 00 09"])
    // Clearing, executing and disconnecting free the room of a queue.
    #expect(station.send("18 00") == ["19"])
    #expect(other.send("16 1000 0500 01").first?.hasPrefix("17") == true)
    server.disconnect(other.client)
    let third = TestSession(server)
    #expect(station.send("16 1000 0000 0102030405060708").first?.hasPrefix("17") == true)
    #expect(third.send("16 1000 0000 01020304050607").first?.hasPrefix("17") == true)
    #expect(third.send("16 1000 0000 01") == ["01 16 10 00 09"])
  }
  /// Two long writes at once, of one client on two bearers: one queue, one order.
  @Test func twoLongWritesAtOnce() {
    let beside = TestSession(
      beside: station, BearerConfiguration(channel: .enhanced(mtu: 64)))
    station.send("16 0300 0000 0a")
    beside.send("16 0500 0000 0b")
    station.send("16 0300 0100 0c")
    beside.send("16 0500 0100 0d")
    #expect(station.send("18 01") == ["19"])
    #expect(values() == [[0x0A, 0x0C], [0x0B, 0x0D, 3], []])
    #expect(beside.send("18 01") == ["19"])
  }

  /// A response that no longer fits, because ATT_MTU has shrunk before a late answer.
  @Test func theMTUShrinksBeforeTheEcho() {
    let database = Database(
      service(
        0x1800, at: 1,
        value(
          1, .stored([]),
          AttributePermissions(
            write: .requires(AttributePermissions.Requirement(authorization: true))))))
    application.authorizations[3] = .later
    let station = TestSession(Server(database, application: application))
    station.exchange(517)
    let part = [UInt8](repeating: 1, count: 500)
    #expect(station.send([0x16, 3, 0, 0, 0] + part) == [])
    station.session.startExchangeMTU(
      ProcedureOperation(ExchangeMTU(clientReceiveMTU: 517)), at: .zero)
    #expect(station.sent == ["02 05 02"])
    station.send("03 64 00")
    #expect(station.mtu == 100)
    #expect(station.answer(application.questions[0].id, .accepted) == ["01 16 03 00 04"])
    #expect(station.send("18 01") == ["19"])
    #expect(station.server.database.value(of: 3) == [])
  }
}
