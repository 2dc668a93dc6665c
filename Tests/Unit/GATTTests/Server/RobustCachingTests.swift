import TestSupport
import AttoATT
import AttoGATT
import Testing

/// Client Supported Features, robust caching and Service Changed. Rules 32 and 33; Vol 3, Part
/// G, 2.5.2.1 and 7.
@Suite(.sideBySide) struct RobustCachingTests {
  private let server = Server(
    Database(
      genericAttributeService,
      service(
        0x1800, at: 9, value(0x2A00, .stored([7]), .readWrite, [.read, .write, .notify]),
        value(0x2A01, .stored([8])))))

  /// A client with these features.
  private func station(_ features: String = "01") -> TestSession {
    let station = TestSession(server)
    #expect(station.send("12 0600 \(features)") == ["13"])
    return station
  }

  private func change(_ handle: AttributeHandle = 0x100) {
    #expect(throws: Never.self) { try server.add(ServiceDefinition(0x1234, handle: handle)) }
  }

  // MARK: Client Supported Features

  @Test func features() {
    let station = TestSession(server)
    station.play(
      """
      > 0a 0600
      < 0b 00
      > 12 0600 02
      < 13
      > 12 0600 00        # a bit is not taken back
      < 01 12 0600 13
      > 12 0600 05
      < 01 12 0600 13
      > 12 0600 07
      < 13
      > 0a 0600
      < 0b 07
      > 12 0600 ff        # reserved bits are ignored
      < 13
      > 0a 0600
      < 0b 07
      > 12 0600
      < 01 12 0600 0d
      > 0a 0600
      < 0b 07
      """)
    #expect(TestSession(server).send("0a 0600") == ["0b 00"])
  }
  // MARK: Unaware clients

  static let refused = [
    "0a 0b00", "0c 0b00 0000", "0e 0b00 0d00", "20 0b00 0d00", "12 0b00 01", "16 0b00 0000 01",
    "08 0900 ffff 002a", "08 0100 ff00 002a", "08 0200 ffff 2a2b",
  ]

  /// Requests with a handle get 0x12 once.
  @Test(arguments: refused) func requestsWithAHandle(_ request: String) {
    let station = station()
    change()
    let handle = hexText(Array(octets(request)[1...2]))
    #expect(station.send(request) == ["01 \(request.prefix(2)) \(handle) 12"])
    #expect(station.send(request).first?.hasPrefix("01") == false)
    #expect(server.database.value(of: 0x0B) == (request.hasPrefix("12") ? [1] : [7]))
  }

  /// Requests of discovery do not, and they do not make the client aware.
  @Test func requestsThatDiscover() {
    let station = station()
    change()
    for request in [
      "04 0100 ffff", "06 0100 ffff 0028 0018", "10 0100 ffff 0028", "08 0900 ffff 0328",
      "08 0100 0001 0228", "08 0100 ffff 002a", "02 1700",
    ] {
      let answer = station.send(request).first ?? ""
      #expect(!answer.hasSuffix("12") || !answer.hasPrefix("01"), "\(request): \(answer)")
    }
    #expect(station.send("0a 0b00") == ["01 0a 0b 00 12"])
  }

  /// A client without robust caching gets no such error.
  @Test(arguments: refused) func withoutTheFeature(_ request: String) {
    let station = station("06")
    change()
    #expect(station.send(request).first?.hasPrefix("01") == false)
  }

  @Test func commandsAreIgnored() {
    let station = station()
    change()
    station.send("52 0b00 01")
    #expect(server.database.value(of: 0x0B) == [7])
    #expect(station.send("0a 0b00") == ["01 0a 0b 00 12"])
    station.send("52 0b00 01")
    #expect(server.database.value(of: 0x0B) == [7])
    station.send("0a 0b00")
    station.send("52 0b00 01")
    #expect(server.database.value(of: 0x0B) == [1])
  }

  // MARK: Becoming aware

  /// Reading the hash and sending another request makes a client aware.
  @Test(arguments: ["0a 0800", "08 0100 ffff 2a2b"]) func byTheHash(_ read: String) {
    let station = station()
    change()
    if read.hasPrefix("0a") {
      // A request with a handle gets 0x12 first.
      #expect(station.send(read) == ["01 0a 08 00 12"])
    }
    #expect(station.send(read).first?.hasPrefix("0") == true)
    // Not yet, because a command is not a request.
    if read.hasPrefix("08") {
      station.send("52 0b00 01")
      #expect(server.database.value(of: 0x0B) == [7])
    }
    #expect(station.send("0a 0b00") == ["0b 07"])
    station.send("52 0b00 01")
    #expect(server.database.value(of: 0x0B) == [1])
  }

  /// Confirming Service Changed makes a client aware.
  @Test func byServiceChanged() {
    let station = station()
    station.send("12 0400 0200")
    change()
    station.session.pump(at: .zero)
    #expect(station.sent == ["1d 03 00 00 01 00 01"])
    // Not before the confirmation.
    #expect(station.send("0a 0b00") == ["01 0a 0b 00 12"])
    #expect(station.send("1e") == [])
    #expect(station.send("0a 0b00") == ["0b 07"])
    change(0x200)
    station.session.pump(at: .zero)
    #expect(station.sent == ["1d 03 00 00 02 00 02"])
    station.send("1e")
    #expect(station.send("0a 0b00") == ["0b 07"])
  }

  /// Each change makes all clients unaware again.
  @Test func everyChange() {
    let station = station()
    let other = self.station()
    change()
    #expect(station.send("0a 0b00") == ["01 0a 0b 00 12"])
    change(0x200)
    #expect(station.send("0a 0b00") == ["01 0a 0b 00 12"])
    #expect(station.send("0a 0b00") == ["0b 07"])
    #expect(other.send("0a 0b00") == ["01 0a 0b 00 12"])
    #expect(other.send("0a 0b00") == ["0b 07"])
    // A new client starts aware.
    #expect(self.station().send("0a 0b00") == ["0b 07"])
  }

  /// A change of the database ends the prepare queue. The error also informs the client.
  @Test func theQueue() {
    let station = station()
    station.send("16 0b00 0000 01")
    change()
    #expect(station.send("18 01") == ["01 18 0b 00 12"])
    #expect(station.send("0a 0b00") == ["0b 07"])
  }

  // MARK: Bonded clients

  @Test func bondedClientsStartAsTheyWereLeft() {
    let first = station("05")
    let record = server.record(of: first.client)
    #expect(record.features == [.robustCaching, .multipleNotifications])
    server.disconnect(first.client)
    let again = TestSession(server, record: record)
    #expect(again.send("0a 0b00") == ["0b 07"])
    #expect(again.send("0a 0600") == ["0b 05"])
    server.disconnect(again.client)
    change()
    let changed = TestSession(server, record: record)
    #expect(changed.send("0a 0b00") == ["01 0a 0b 00 12"])
    // It disconnected before it was aware.
    let unaware = server.record(of: changed.client)
    server.disconnect(changed.client)
    #expect(TestSession(server, record: unaware).send("0a 0b00") == ["01 0a 0b 00 12"])
  }

  /// A bonded client that has configured Service Changed gets it for all handles.
  @Test func bondedClientsAreTold() {
    let first = station()
    first.send("12 0400 0200")
    let record = server.record(of: first.client)
    server.disconnect(first.client)
    change()
    let again = TestSession(server, record: record)
    again.session.pump(at: .zero)
    #expect(again.sent == ["1d 03 00 01 00 ff ff"])
    again.send("1e")
    #expect(again.send("0a 0b00") == ["0b 07"])
    // Nothing has changed since.
    let aware = server.record(of: again.client)
    server.disconnect(again.client)
    let third = TestSession(server, record: aware)
    third.session.pump(at: .zero)
    #expect(third.sent == [])
  }

  // MARK: Service Changed

  /// Several changes are reported as one range, to clients that have configured it.
  @Test func changesAreJoined() throws {
    let station = TestSession(server)
    let silent = TestSession(server)
    station.send("12 0400 0200")
    change(0x100)
    change(0x300)
    try server.remove(service: 0x100)
    station.session.pump(at: .zero)
    silent.session.pump(at: .zero)
    #expect(station.sent == ["1d 03 00 00 01 00 03"])
    #expect(silent.sent == [])
    // Another change while it is in flight is reported after the confirmation.
    change(0x200)
    station.session.pump(at: .zero)
    #expect(station.sent == [])
    #expect(station.send("1e") == ["1d 03 00 00 01 00 03"])
    #expect(station.send("1e") == [])
    station.session.pump(at: .zero)
    #expect(station.sent == [])
  }

  /// A second change in the same range is reported too.
  @Test func aChangeOfTheSameRangeMeanwhile() throws {
    let station = station()
    station.send("12 0400 0200")
    change()
    station.session.pump(at: .zero)
    #expect(station.sent == ["1d 03 00 00 01 00 01"])
    try server.remove(service: 0x100)
    #expect(station.send("1e") == ["1d 03 00 00 01 00 01"])
    #expect(station.send("0a 0b00") == ["01 0a 0b 00 12"])
    #expect(station.send("1e") == [])
    #expect(station.send("0a 0b00") == ["0b 07"])
  }

  /// It is sent as soon as the client configures it.
  @Test func afterTheConfigurationIsWritten() {
    let station = TestSession(server)
    change()
    #expect(station.send("12 0400 0200") == ["13", "1d 03 00 00 01 00 01"])
  }

  /// It waits for the indication in flight and for the exchange of ATT_MTU.
  @Test func waitsItsTurn() throws {
    let station = TestSession(server)
    station.send("12 0400 0200")
    _ = try station.session.indicate(0x0B, [1], at: .zero)
    #expect(station.sent == ["1d 0b 00 01"])
    change()
    station.session.pump(at: .zero)
    #expect(station.sent == [])
    #expect(station.send("1e") == ["1d 03 00 00 01 00 01"])
    station.send("1e")
    station.session.startExchangeMTU(
      ProcedureOperation(ExchangeMTU(clientReceiveMTU: 517)), at: .zero)
    _ = station.sent
    change(0x200)
    station.session.pump(at: .zero)
    #expect(station.sent == [])
    #expect(station.send("03 0502") == ["1d 03 00 00 02 00 02"])
  }

  /// To an unaware client with robust caching, only Service Changed may be sent.
  @Test func onlyServiceChanged() {
    let station = station()
    station.send("12 0c00 0100")
    #expect(server.deliveries(of: 0x0B, to: station.client) == .notification)
    change()
    #expect(server.deliveries(of: 0x0B, to: station.client) == [])
    station.send("0a 0b00")
    #expect(server.deliveries(of: 0x0B, to: station.client) == [])
    station.send("0a 0b00")
    #expect(server.deliveries(of: 0x0B, to: station.client) == .notification)
    let plain = self.station("04")
    plain.send("12 0c00 0100")
    change(0x200)
    #expect(server.deliveries(of: 0x0B, to: plain.client) == .notification)
  }

  @Test func configurationsOfARemovedServiceAreForgotten() throws {
    let station = TestSession(server)
    station.send("12 0c00 0100")
    try server.remove(service: 9)
    try server.add(
      service(
        0x1800, at: 9, value(0x2A00, .stored([7]), .readWrite, [.read, .write, .notify])))
    #expect(station.send("0a 0c00") == ["0b 00 00"])
    #expect(server.deliveries(of: 0x0B, to: station.client) == [])
  }

  /// A client with two bearers gets it once.
  @Test func oneBearerTells() {
    let station = station()
    let beside = TestSession(
      beside: station, BearerConfiguration(channel: .enhanced(mtu: 64)))
    station.send("12 0400 0200")
    change()
    station.session.pump(at: .zero)
    beside.session.pump(at: .zero)
    #expect(station.sent + beside.sent == ["1d 03 00 00 01 00 01"])
    // If its bearer ends before the confirmation, the other one sends it.
    station.session.linkEnded()
    beside.session.pump(at: .zero)
    #expect(beside.sent == ["1d 03 00 00 01 00 01"])
    beside.send("1e")
    #expect(beside.send("0a 0b00") == ["0b 07"])
  }
}
