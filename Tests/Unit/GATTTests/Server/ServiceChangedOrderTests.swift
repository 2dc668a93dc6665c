import TestSupport
import AttoATT
import AttoGATT
import AttoSimulation
import Testing

/// The order of Service Changed and values. Vol 3, Part G, 2.5.2.1 and 7.1.
@Suite(.sideBySide) struct ServiceChangedOrderTests {
  private let server = Server(
    Database(
      genericAttributeService,
      service(0x1800, at: 9, value(0x2A00, .stored([7]), .readWrite, [.read, .write, .indicate]))))

  /// A client that has configured indications of the value at 0x000B.
  private func station(_ writes: String...) throws -> TestSession {
    let station = TestSession(server)
    for write in writes + ["12 0c00 0200"] { #expect(station.send(write) == ["13"]) }
    _ = try station.session.indicate(0x0B, [1], at: station.now)
    _ = try station.session.indicate(0x0B, [2], at: station.now)
    #expect(station.sent == ["1d 0b 00 01"])
    return station
  }

  private func change(_ handle: AttributeHandle, _ station: TestSession) throws {
    try server.add(ServiceDefinition(0x1234, handle: handle))
    station.session.pump(at: station.now)
  }

  /// A value that is queued when the database changes is sent after Service Changed is confirmed.
  @Test func serviceChangedGoesBeforeValues() throws {
    let station = try station("12 0400 0200", "12 0600 01")
    try change(0x100, station)
    #expect(station.sent == [])
    #expect(station.send("1e") == ["1d 03 00 00 01 00 01"])
    #expect(station.send("1e") == ["1d 0b 00 02"])
    #expect(station.send("1e") == [])
  }

  /// A client that is informed only by errors gets no value before it has got one.
  @Test func valuesWaitUntilTheClientIsAware() throws {
    let station = try station("12 0600 01")
    try change(0x100, station)
    #expect(station.send("1e") == [])
    #expect(station.send("0a 0b00") == ["01 0a 0b 00 12"])
    #expect(station.send("0a 0b00") == ["0b 07", "1d 0b 00 02"])
  }

  /// The content of Service Changed is computed when it is sent.
  @Test func serviceChangedTellsOfAllThatChangedWhileItWaited() throws {
    let station = try station("12 0400 0200")
    try change(0x100, station)
    try change(0x200, station)
    #expect(station.send("1e") == ["1d 03 00 00 01 00 02"])
    #expect(station.send("1e") == ["1d 0b 00 02"])
    #expect(station.send("1e") == [])
  }

  /// Service Changed is not sent if the client has turned it off or became aware meanwhile.
  @Test func serviceChangedIsNotSentToWhoStoppedAsking() throws {
    let station = try station("12 0400 0200")
    try change(0x100, station)
    #expect(station.send("12 0400 0000") == ["13"])
    #expect(station.send("1e") == ["1d 0b 00 02"])
    #expect(station.send("12 0400 0200") == ["13"])
    #expect(station.send("1e") == ["1d 03 00 00 01 00 01"])
  }

  /// A Service Changed that was not sent releases no values that a later change holds back.
  @Test func serviceChangedThatWasNotSentIsForgotten() throws {
    let station = try station("12 0400 0200", "12 0600 01")
    try change(0x100, station)
    #expect(station.send("12 0400 0000") == ["01 12 04 00 12"])
    #expect(station.send("12 0400 0000") == ["13"])
    #expect(station.send("1e") == ["1d 0b 00 02"])
    try change(0x200, station)
    _ = try station.session.indicate(0x0B, [3], at: station.now)
    #expect(station.send("1e") == [])
    #expect(station.send("0a 0b00") == ["01 0a 0b 00 12"])
    #expect(station.send("0a 0b00") == ["0b 07", "1d 0b 00 03"])
  }

  /// Service Changed is queued even if the queue is full.
  @Test func serviceChangedPassesAFullQueue() throws {
    let station = TestSession(server, BearerConfiguration(maximumWaiting: 1))
    for write in ["12 0400 0200", "12 0c00 0200"] { #expect(station.send(write) == ["13"]) }
    _ = try station.session.indicate(0x0B, [1], at: station.now)
    _ = try station.session.indicate(0x0B, [2], at: station.now)
    #expect(throws: ProcedureError.misuse(.tooManyIndications(limit: 1))) {
      try station.session.indicate(0x0B, [3], at: station.now)
    }
    #expect(station.sent == ["1d 0b 00 01"])
    try change(0x100, station)
    #expect(station.send("1e") == ["1d 03 00 00 01 00 01"])
  }

  /// Results from before a change of the database are not sent.
  @Test func aListThatTheDatabaseChangedUnderIsNotGiven() throws {
    let application = ScriptedApplication()
    application.reads[0x0D] = .value([2])
    let server = Server(
      Database(
        genericAttributeService,
        service(
          0x1800, at: 9, value(0xFF01, .stored([1])), value(0xFF01, .application(ValueLimits())))),
      application: application)
    let station = TestSession(server)
    #expect(station.send("08 0100 ffff 01ff") == ["09 03 0b 00 01 0d 00 02"])
    application.meanwhile = { _ in
      #expect(throws: Never.self) { try server.add(ServiceDefinition(0x1234, handle: 0x100)) }
    }
    #expect(station.send("08 0100 ffff 01ff") == ["01 08 0d 00 12"])
  }

  /// A client that the application disconnects during a question leaves nothing behind.
  @Test func aClientThatIsForgottenWhileTheApplicationIsAskedPreparesNothing() {
    let application = ScriptedApplication()
    application.authorizations[0x0B] = .accepted
    let asks = AttributePermissions(
      read: .open, write: .requires(.init(authorization: true)))
    let server = Server(
      Database(
        genericAttributeService, service(0x1800, at: 9, value(0xFF01, .stored([1]), asks))),
      application: application)
    let station = TestSession(server)
    #expect(station.send("16 0b00 0000 05 06") == ["17 0b 00 00 00 05 06"])
    #expect(server.preparedByteCount == 2)
    application.meanwhile = { _ in
      station.session.linkEnded()
      server.disconnect(station.client)
    }
    #expect(station.send("16 0b00 0000 07") == [])
    #expect(server.preparedByteCount == 0)
    #expect(server.clients.isEmpty)
  }

  /// The session counts Database Out Of Sync even if the procedure was cancelled.
  @Test func aCancelledProcedureStillLearnsOfTheChange() {
    let session = Session()
    let operation = RecordedOperation(ReadCharacteristicValue(0x0B))
    let id = session.start(operation, at: .zero)
    session.cancel(id, at: .zero)
    #expect(session.outOfSyncCount == 0)
    let error: [UInt8] = [0x01, 0x0A, 0x0B, 0x00, 0x12]
    #expect(session.receive(error.span.bytes, at: .zero) == .none)
    #expect(session.outOfSyncCount == 1)
    session.start(RecordedOperation(ReadCharacteristicValue(0x0B)), at: .zero)
    #expect(session.receive(error.span.bytes, at: .zero) == .none)
    #expect(session.outOfSyncCount == 2)
  }
}
