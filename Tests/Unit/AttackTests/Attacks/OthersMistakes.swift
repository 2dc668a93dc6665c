import TestSupport
import AttoATT
import AttoGATT
import AttoSimulation
import Testing

/// Mistakes of other stacks that need no attack.
@Suite(.sideBySide) struct OthersMistakes {
  private var server: TestSession {
    TestSession(service(value([7]), value([8], .writeOnly), value([9], .readOnly)))
  }

  @Test("E1 client: a rejected write is a failure") func e01Client() {
    for code in UInt8.min...UInt8.max {
      #expect(
        TestSession().perform(WriteValue(3, value: [1]), "01 12 0300 \(hexText([code]))")?.error
          == refusal(.writeRequest, 3, ErrorCode(code)))
    }
  }

  @Test("E2 client: a link that is lost ends whatever is awaited") func e02Client() {
    let client = TestSession()
    let read = client.start(ReadCharacteristicValue(3))
    let write = client.start(WriteLongValue(5, value: [1]))
    let discovery = client.start(DiscoverDatabase())
    client.session.linkEnded()
    #expect(read.result == .failure(.bearer(.linkEnded)))
    #expect(write.result?.error == .bearer(.linkEnded))
    #expect(discovery.result?.error == .bearer(.linkEnded))
  }

  @Test("E3 server: a value of exactly ATT_MTU - 1 octets, whole") func e03Server() {
    let server = TestSession(service(value([UInt8](repeating: 1, count: 22))))
    #expect(server.send("0a 0300") == ["0b " + hexText(1, times: 22)])
    #expect(server.send("0c 0300 1600") == ["0d"])
  }

  @Test("E3 client: a value of exactly ATT_MTU - 1 octets, read at once and long") func e03Client()
  {
    let full = [UInt8](repeating: 1, count: 22)
    #expect(
      TestSession().perform(ReadCharacteristicValue(3), "0b " + hexText(full)) == .success(full))
    #expect(TestSession().perform(ReadLongValue(3), "0b " + hexText(full), "0d") == .success(full))
    #expect(
      TestSession().perform(ReadLongValue(3), "0b " + hexText(full), "01 0c 0300 0b")
        == .success(full))
  }

  @Test("E4 server: two centrals at once, each with its own answers and its own configuration")
  func e04Server() {
    let one = TestSession(service(value([7], .readWrite, [.read, .notify])))
    let two = TestSession(one.server)
    one.send("12 0400 0100")
    #expect(one.send("0a 0400") == ["0b 01 00"] && two.send("0a 0400") == ["0b 00 00"])
    one.session.linkEnded()
    one.server.disconnect(one.client)
    #expect(two.send("0a 0300") == ["0b 07"] && two.failure == nil)
  }

  @Test("E6 server: no command is answered, whatever is wrong with it") func e06Server() {
    let server = server
    for pdu in [
      "52", "52 03", "52 0000 01", "52 0700 01", "52 0900 01", "52 0300 " + hexText(1, times: 21),
      "d2 0300 01", "d2 0300 " + hexText(1, times: 12), "7f", "ff 01",
    ] {
      #expect(server.send(pdu) == [], "\(pdu)")
    }
    #expect(server.send("0a 0300") == ["0b 07"] && server.failure == nil)
  }

  @Test("E7 server: Read By Type gives nothing of what may only be written") func e07Server() {
    let server = TestSession(service(value([8], .writeOnly)))
    #expect(server.send("08 0100 ffff 002a") == ["01 08 03 00 02"])
    #expect(server.send("06 0100 ffff 002a 08") == ["01 06 01 00 0a"])
  }

  @Test("E8 server: prepared parts are written where they say") func e08Server() {
    let server = TestSession(service(value([1, 2, 3, 4, 5])))
    server.send("16 0300 0300 0b0c")
    server.send("16 0300 0100 0a")
    #expect(server.send("18 01") == ["19"])
    #expect(server.value(of: 3) == [1, 0x0A, 3, 0x0B, 0x0C])
  }

  @Test("E9 server: Find By Type Value with more matches than the PDU holds ends with a whole one")
  func e09Server() {
    let server = TestSession(
      Server(
        Database((0..<12).map { ServiceDefinition(0x1234, handle: AttributeHandle(1 + 2 * $0)) })))
    for mtu in [23, 24, 25, 26, 27] as [UInt16] {
      let server = TestSession(server.server)
      server.exchange(mtu)
      let response = octets(server.send("06 0100 ffff 0028 3412")[0])
      #expect(response[0] == 0x07 && (response.count - 1) % 4 == 0)
      #expect(response.count <= Int(mtu) && response.count + 4 > Int(mtu))
    }
  }

  @Test("E10 server: an unknown request is refused and the link stays") func e10Server() {
    let server = server
    for pdu in ["3f", "14 00", "bf 0102", "00"] {
      #expect(server.send(pdu) == ["01 \(pdu.prefix(2)) 00 00 06"])
    }
    #expect(server.send("0a 0300") == ["0b 07"])
  }

  @Test("E13 server: permissions are enforced, for declarations too") func e13Server() {
    let server = server
    #expect(server.send("0a 0500") == ["01 0a 05 00 02"])
    #expect(server.send("12 0700 01") == ["01 12 07 00 03"])
    for handle in ["0100", "0200"] { #expect(server.send("12 \(handle) 01")[0].hasSuffix(" 03")) }
    #expect(server.value(of: 7) == [9])
  }

  @Test("E14 server: malformed requests have an answer") func e14Server() {
    let server = server
    for opcode in ["02", "04", "06", "08", "0a", "0c", "0e", "10", "12", "16", "18", "20"] {
      #expect(server.send(opcode) == ["01 \(opcode) 00 00 04"])
    }
  }

  @Test("E17 client: a late response answers no later request") func e17Client() {
    let client = TestSession()
    let cancelled = RecordedOperation(ReadCharacteristicValue(3))
    let id = client.session.start(cancelled, at: .zero)
    let next = client.start(ReadCharacteristicValue(5))
    client.session.cancel(id, at: .zero)
    #expect(client.sent == ["0a 03 00"])
    #expect(client.send("0b 03") == ["0a 05 00"])
    #expect(next.result == nil && cancelled.result == .failure(.cancelled))
    client.send("0b 05")
    #expect(next.result == .success([5]))
  }

  @Test("E18 client: an included service with a UUID of 128 bits") func e18Client() throws {
    let uuid = "ffeeddccbbaa99887766554433221100"
    let includes = try #require(
      TestSession().perform(
        FindIncludedServices(in: .all), "09 06 0200 0500 0900", "01 08 0300 0a", "0b \(uuid)")
    ).get()
    #expect(includes.map(\.uuid) == [BluetoothUUID("00112233-4455-6677-8899-aabbccddeeff")!])
  }

  @Test("E19 client: an error ends its own request, never the link") func e19Client() {
    let client = TestSession()
    for code in UInt8.min...UInt8.max {
      #expect(
        client.perform(ReadCharacteristicValue(3), "01 0a 0300 \(hexText([code]))")?.isSuccess
          == false
      )
      #expect(client.failure == nil)
    }
    #expect(client.perform(ReadCharacteristicValue(3), "0b 01") == .success([1]))
  }

  @Test("E20 client: a second operation waits for its turn") func e20Client() {
    let client = TestSession()
    let first = client.start(ReadCharacteristicValue(3))
    let second = client.start(WriteValue(5, value: [1]))
    client.send("0b 01")
    client.send("13")
    #expect(first.result == .success([1]) && second.result?.isSuccess == true)
  }

  @Test("E21 server: Read Multiple Variable is answered") func e21Server() {
    #expect(server.send("20 0300 0700") == ["21 01 00 07 01 00 09"])
  }

  @Test("E21 client: Read Multiple Variable can be sent") func e21Client() throws {
    let client = TestSession()
    let read = client.start(ReadMultipleVariable([3, 7]))
    #expect(client.sent == ["20 03 00 07 00"])
    client.send("21 0100 07 0100 09")
    #expect(try #require(read.result).get().map(\.octets) == [[7], [9]])
  }

  @Test("E22 server: Read By Type gives what can be read before what cannot") func e22Server() {
    #expect(server.send("08 0100 ffff 002a") == ["09 03 03 00 07"])
    #expect(server.send("08 0400 ffff 002a") == ["01 08 05 00 02"])
    #expect(server.send("08 0600 ffff 002a") == ["09 03 07 00 09"])
  }

  @Test("E24 server: Execute Write writes all or nothing") func e24Server() {
    let server = TestSession(
      service(value([1], limits: ValueLimits(maximumLength: 2)), value([2])))
    server.send("16 0500 0000 0b")
    server.send("16 0300 0000 0a0a0a")
    #expect(server.send("18 01") == ["01 18 03 00 0d"])
    #expect(server.value(of: 3) == [1] && server.value(of: 5) == [2])
  }

  @Test("E25 client: commands are refused when too much waits, and none is lost") func e25Client()
    throws
  {
    let client = TestSession()
    var taken = 0
    while try client.session.writeWithoutResponse(3, [UInt8](repeating: 1, count: 20).span.bytes) {
      taken += 1
    }
    #expect(taken < 1000 && client.sent.count == taken)
    #expect(try client.session.writeWithoutResponse(3, [1].span.bytes))
  }

  @Test("E26 client: one Find Information covers the descriptors of many characteristics")
  func e26Client() throws {
    let server = Server(
      Database([service(value([1]), value([2]), value([3]), value([4]), value([5]))]))
    let pair = Pair(server: server)
    pair.left.session.startExchangeMTU(
      RecordedOperation(ExchangeMTU(clientReceiveMTU: 517)), at: .zero)
    let found = try #require(pair.perform(DiscoverDatabase())).get()
    #expect(found.services[0].characteristics.count == 5)
    let requests = pair.trace.filter { $0.isFromLeft && $0.pdu[0] == 0x04 }
    #expect(requests.count <= 1, "\(requests.map { hexText($0.pdu) })")
  }

  @Test("E27 client: descriptors are found with Find Information, never with Read By Type")
  func e27Client() throws {
    let server = Server(
      Database([
        service(
          value([1], .readWrite, [.read, .notify]), value([2], .readWrite, [.read, .indicate]))
      ]))
    let pair = Pair(server: server)
    let found = try #require(pair.perform(DiscoverDatabase())).get()
    #expect(
      found.services[0].characteristics.allSatisfy { !$0.descriptors.isEmpty })
    for sent in pair.trace where sent.isFromLeft && sent.pdu[0] == 0x08 {
      #expect(!sent.pdu.suffix(2).elementsEqual([0x02, 0x29]))
    }
    #expect(pair.trace.contains { $0.isFromLeft && $0.pdu[0] == 0x04 })
  }
}
