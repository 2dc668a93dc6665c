import TestSupport
import AttoATT
import Testing

@testable import AttoGATT

/// Notifications and indications. Vol 3, Part G, 4.10 and 4.11.
@Suite(.sideBySide) struct DeliveryTests {
  private let server = Server(
    Database(
      genericAttributeService,
      service(
        0x1800, at: 9,
        value(0x2A00, .stored([7]), .readWrite, [.read, .notify, .indicate]),
        value(
          0x2A01, .stored([8]),
          AttributePermissions(
            read: .requires(AttributePermissions.Requirement(security: .high, keySize: 10))),
          [.read, .notify],
          descriptors: [
            DescriptorDefinition(.clientCharacteristicConfiguration, permissions: .readWrite)
          ]),
        value(0x2A02, .stored([9]), AttributePermissions(), [.notify]))))

  private func notify(_ station: TestSession, _ count: Int) -> Bool {
    station.notify(0x0B, [UInt8](repeating: 5, count: count))
  }

  @Test func notifications() {
    let station = TestSession(server)
    #expect(notify(station, 2))
    #expect(notify(station, 0))
    #expect(station.sent == ["1b 0b 00 05 05", "1b 0b 00"])
    // Cut at ATT_MTU - 3.
    #expect(notify(station, 21))
    #expect(station.sent[0].split(separator: " ").count == 23)
    station.exchange(517)
    #expect(notify(station, 512))
    #expect(station.sent[0].split(separator: " ").count == 515)
  }

  /// If the outbox is full, the caller is informed and nothing is lost.
  @Test func notificationsOnACongestedLink() {
    let station = TestSession(server)
    var sent = 0
    while notify(station, 20) { sent += 1 }
    #expect(station.session.bearer.isCongested == true)
    #expect(station.sent.count == sent)
    #expect(notify(station, 20))
  }

  /// Confirmed and cancelled indications take no room.
  @Test func indicationsThatHaveEndedAreForgotten() throws {
    let station = TestSession(server)
    station.send("12 0c00 0200")
    for number in 0..<300 {
      let id = try station.session.indicate(0x0B, [UInt8(number & 0xFF)], at: station.now)
      #expect(station.sent.count == 1)
      if number % 3 == 0 { station.session.cancel(indication: id) }
      station.send("1e")
      #expect(station.session.indications.isEmpty)
    }
    #expect(station.actions.count == 200)
  }

  @Test func noNotificationsDuringTheExchange() {
    let station = TestSession(server)
    station.session.startExchangeMTU(
      ProcedureOperation(ExchangeMTU(clientReceiveMTU: 517)), at: .zero)
    #expect(!notify(station, 1))
    #expect(!station.notify(two))
    station.send("03 0502")
    #expect(notify(station, 1))
  }

  @Test func noNotificationsOnADeadBearer() {
    let station = TestSession(server)
    station.session.linkEnded()
    #expect(!notify(station, 1))
    #expect(!station.notify(two))
    #expect(throws: ProcedureError.bearer(.linkEnded)) {
      try station.session.indicate(0x0B, [1], at: .zero)
    }
    #expect(station.sent == [])
  }

  private let two: [(AttributeHandle, [UInt8])] = [(0x0B, [1]), (0x0B, [2])]

  // MARK: Several values in one

  @Test func multipleNotifications() {
    let station = TestSession(server)
    let values: [(AttributeHandle, [UInt8])] = [(0x0B, [1, 2]), (0x0E, [])]
    // Not before the client has announced support.
    #expect(!station.notify(values))
    station.send("12 0600 04")
    #expect(station.notify(values))
    #expect(station.sent == ["23 0b 00 02 00 01 02 0e 00 00 00"])
    #expect(!station.notify(Array(two.prefix(1))))
    #expect(!station.notify([]))
    // Exactly what fits, and one octet more.
    func notify(_ first: Int, _ second: Int) -> Bool {
      station.notify([
        (0x0B, [UInt8](repeating: 0, count: first)), (0x0E, [UInt8](repeating: 0, count: second)),
      ])
    }
    #expect(notify(7, 7))
    #expect(station.sent[0].split(separator: " ").count == 23)
    #expect(!notify(7, 8))
    #expect(station.sent == [])
  }

  // MARK: Configurations
  // MARK: Indications

  @Test func indicationsOneAfterTheOther() throws {
    let station = TestSession(server)
    let first = try station.session.indicate(0x0B, [1], at: .zero)
    let second = try station.session.indicate(0x0B, [2], at: .zero)
    let third = try station.session.indicate(0x0B, [3], at: .zero)
    #expect(station.sent == ["1d 0b 00 01"])
    station.session.cancel(indication: second)
    #expect(station.send("1e") == ["1d 0b 00 03"])
    #expect(station.send("1e") == [])
    #expect(station.send("1e") == [])
    #expect(station.actions == [.confirmed(first), .confirmed(third)])
  }

  @Test func aCancelledIndicationInFlight() throws {
    let station = TestSession(server)
    let first = try station.session.indicate(0x0B, [1], at: .zero)
    let second = try station.session.indicate(0x0B, [2], at: .zero)
    station.session.cancel(indication: first)
    #expect(station.sent == ["1d 0b 00 01"])
    #expect(station.send("1e") == ["1d 0b 00 02"])
    station.send("1e")
    #expect(station.actions == [.confirmed(second)])
  }

  @Test func tooManyIndications() throws {
    let station = TestSession(server, BearerConfiguration(maximumWaiting: 2))
    for _ in 0..<3 { _ = try station.session.indicate(0x0B, [], at: .zero) }
    #expect(throws: ProcedureError.misuse(.tooManyIndications(limit: 2))) {
      try station.session.indicate(0x0B, [], at: .zero)
    }
  }

  @Test func anIndicationThatIsNotConfirmed() throws {
    let station = TestSession(server)
    _ = try station.session.indicate(0x0B, [1], at: .zero)
    _ = station.sent
    #expect(station.session.deadline == .zero + .seconds(30))
    #expect(station.session.advance(to: .zero + .milliseconds(29_999)) == .none)
    #expect(
      station.session.advance(to: .zero + .seconds(30))
        == .failed(.transactionTimeout(.handleValueIndication)))
    #expect(station.send("0a 0b00") == [])
  }

  /// Rule 9: a client may ask before it confirms.
  @Test func requestsBeforeTheConfirmation() throws {
    let station = TestSession(server)
    _ = try station.session.indicate(0x0B, [1], at: .zero)
    #expect(station.sent == ["1d 0b 00 01"])
    #expect(station.send("0a 0b00") == ["0b 07"])
    #expect(station.send("1e") == [])
  }
}
