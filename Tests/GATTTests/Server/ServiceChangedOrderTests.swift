import ATT
import GATT
import Simulation
import Testing

/// What a client is told of a change, and what has to wait for it. Vol 3, Part G, 2.5.2.1 and 7.1.
@Suite struct ServiceChangedOrderTests {
  private let server = Server(
    Database(
      genericAttributeService,
      service(0x1800, at: 9, value(0x2A00, .stored([7]), .readWrite, [.read, .write, .indicate]))))

  /// A client that has asked for indications of the value at 0x000B.
  private func station(_ writes: String...) throws -> Station {
    let station = Station(server)
    for write in writes + ["12 0c00 0200"] { #expect(station.send(write) == ["13"]) }
    _ = try station.session.indicate(0x0B, [1], at: station.now)
    _ = try station.session.indicate(0x0B, [2], at: station.now)
    #expect(station.sent == ["1d 0b 00 01"])
    return station
  }

  private func change(_ handle: AttributeHandle, _ station: Station) throws {
    try server.add(ServiceDefinition(0x1234, handle: handle))
    station.session.pump(at: station.now)
  }

  /// A value that waited when the database changed comes after Service Changed and its
  /// confirmation.
  @Test func serviceChangedGoesBeforeValues() throws {
    let station = try station("12 0400 0200", "12 0600 01")
    try change(0x100, station)
    #expect(station.sent == [])
    #expect(station.send("1e") == ["1d 03 00 00 01 00 01"])
    #expect(station.send("1e") == ["1d 0b 00 02"])
    #expect(station.send("1e") == [])
  }

  /// A client that is told of changes by errors alone gets no value before it has got one.
  @Test func valuesWaitUntilTheClientIsAware() throws {
    let station = try station("12 0600 01")
    try change(0x100, station)
    #expect(station.send("1e") == [])
    #expect(station.send("0a 0b00") == ["01 0a 0b 00 12"])
    #expect(station.send("0a 0b00") == ["0b 07", "1d 0b 00 02"])
  }

  /// Service Changed says what is true when it goes, however long it waited.
  @Test func serviceChangedTellsOfAllThatChangedWhileItWaited() throws {
    let station = try station("12 0400 0200")
    try change(0x100, station)
    try change(0x200, station)
    #expect(station.send("1e") == ["1d 03 00 00 01 00 02"])
    #expect(station.send("1e") == ["1d 0b 00 02"])
    #expect(station.send("1e") == [])
  }

  /// Nobody is told who has stopped asking, or has learnt of the change, while it waited.
  @Test func serviceChangedIsNotSentToWhoStoppedAsking() throws {
    let station = try station("12 0400 0200")
    try change(0x100, station)
    #expect(station.send("12 0400 0000") == ["13"])
    #expect(station.send("1e") == ["1d 0b 00 02"])
    #expect(station.send("12 0400 0200") == ["13"])
    #expect(station.send("1e") == ["1d 03 00 00 01 00 01"])
  }

  /// One that was not sent lets no value pass that a later change keeps back.
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

  /// As many values wait as may: Service Changed finds its place all the same.
  @Test func serviceChangedPassesAFullQueue() throws {
    let station = Station(server, BearerConfiguration(maximumWaiting: 1))
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

  /// Values that were found before a handler changed the database are no answer.
  @Test func aListThatTheDatabaseChangedUnderIsNotGiven() throws {
    let application = ScriptedApplication()
    application.reads[0x0D] = .value([2])
    let server = Server(
      Database(
        genericAttributeService,
        service(
          0x1800, at: 9, value(0xFF01, .stored([1])), value(0xFF01, .application(ValueLimits())))),
      application: application)
    let station = Station(server)
    #expect(station.send("08 0100 ffff 01ff") == ["09 03 0b 00 01 0d 00 02"])
    application.meanwhile = { _ in try! server.add(ServiceDefinition(0x1234, handle: 0x100)) }
    #expect(station.send("08 0100 ffff 01ff") == ["01 08 0d 00 12"])
  }

  /// A client whose last bearer the application ends while it is asked leaves nothing behind.
  @Test func aClientThatIsForgottenWhileTheApplicationIsAskedPreparesNothing() {
    let application = ScriptedApplication()
    application.authorizations[0x0B] = .accepted
    let asks = AttributePermissions(
      read: .open, write: .requires(.init(authorization: true)))
    let server = Server(
      Database(
        genericAttributeService, service(0x1800, at: 9, value(0xFF01, .stored([1]), asks))),
      application: application)
    let station = Station(server)
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

  /// A server says once that its database has changed: the session notes it, though nobody
  /// waits for the answer any more.
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
