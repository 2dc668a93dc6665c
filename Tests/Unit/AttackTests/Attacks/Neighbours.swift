import TestSupport
import AttoATT
import AttoGATT
import AttoSimulation
import Testing

/// Cases related to the published attacks.
@Suite(.sideBySide) struct Neighbours {
  private var server: TestSession { TestSession(service(value([7]), value([8]))) }

  @Test("N1 server: the empty PDU") func n01Server() {
    let server = server
    #expect(server.send([]) == [] && server.failure == nil)
    #expect(server.send("0a 0300") == ["0b 07"])
  }

  @Test("N1 client: the empty PDU, while a request is in flight") func n01Client() {
    let client = TestSession()
    let read = client.start(ReadCharacteristicValue(3))
    _ = client.sent
    #expect(client.send([]) == [] && client.failure == nil && read.result == nil)
    client.send("0b 07")
    #expect(read.result == .success([7]))
  }

  @Test("N3 server: a PDU longer than ATT_MTU is refused, never cut and carried out")
  func n03Server() {
    let server = server
    #expect(server.send("12 0300 " + hexText(1, times: 21)) == ["01 12 00 00 04"])
    #expect(server.send("52 0300 " + hexText(1, times: 21)) == [])
    #expect(server.send("16 0300 0000 " + hexText(1, times: 19)) == ["01 16 00 00 04"])
    #expect(server.send("18 01") == ["01 18 00 00 04"] || server.value(of: 3) == [7])
    #expect(server.value(of: 3) == [7] && server.failure == nil)
    #expect(server.send("12 0300 " + hexText(1, times: 20)) == ["13"])
  }

  @Test("N3 client: a response longer than ATT_MTU ends the bearer; a value is dropped")
  func n03Client() {
    let client = TestSession()
    client.send("1b 0300 " + hexText(1, times: 21))
    #expect(client.actions == [] && client.failure == nil)
    #expect(client.send("1d 0300 " + hexText(1, times: 21)) == ["1e"])
    #expect(client.actions == [])
    guard
      case .bearer(.malformedResponse(let pdu))? = client.perform(
        ReadCharacteristicValue(3), "0b " + hexText(1, times: 23))?.error
    else {
      Issue.record("lives")
      return
    }
    #expect(pdu.fault == .longerThanMTU(24, mtu: 23))
  }

  @Test("N4 server: two long writes at once, of two clients: each has its own queue")
  func n04Server() {
    let one = server
    let two = TestSession(one.server)
    one.send("16 0300 0000 0a")
    two.send("16 0300 0000 1a")
    one.send("16 0300 0100 0b")
    two.send("16 0500 0000 1b")
    #expect(two.send("18 00") == ["19"])
    #expect(one.send("18 01") == ["19"])
    #expect(one.value(of: 3) == [0x0A, 0x0B] && one.value(of: 5) == [8])
  }

  @Test("N4 client: the second of two long writes begins when the first has ended")
  func n04Client() {
    let client = TestSession()
    let first = client.start(WriteLongValue(3, value: [1]))
    let second = client.start(WriteLongValue(5, value: [2]))
    #expect(client.sent == ["16 03 00 00 00 01"])
    #expect(client.send("17 0300 0000 01") == ["18 01"])
    #expect(client.send("19") == ["16 05 00 00 00 02"])
    #expect(first.result?.isSuccess == true && second.result == nil)
  }

  @Test("N6 client: a list of entries with no length, of one octet, or that does not divide")
  func n06Client() {
    for response in [
      "09 00", "09 00 0300", "09 01 03", "09 01 0300", "09 03 0300", "09 03 0300 01 05",
    ] {
      let client = TestSession()
      let error = client.perform(ReadUsingUUID(0x2A00), response)?.error
      guard case .bearer(.malformedResponse)? = error else {
        Issue.record("\(response): \(String(describing: error))")
        continue
      }
    }
  }

  @Test("N7 client: discovery ends when handles do not advance") func n07Client() {
    for (first, second) in [
      ("11 06 0500 0600 0018", "11 06 0500 0600 0018"),
      ("11 06 0500 0600 0018", "11 06 0100 0200 0018"),
    ] {
      let error = TestSession().perform(DiscoverPrimaryServices(), first, second)?.error
      #expect(error?.isViolation == true)
    }
    #expect(
      TestSession().perform(DiscoverDescriptors(in: .all), "05 01 0500 0229", "05 01 0500 0229")?
        .error?.isViolation == true)
  }

  @Test("N8 server: unsolicited responses and confirmations do nothing") func n08Server() {
    let server = server
    for pdu in ["03 1700", "0b 01", "13", "19", "1e", "1e 00", "01 0a 0300 01", "17 0300 0000"] {
      #expect(server.send(pdu) == [] && server.failure == nil)
    }
    #expect(server.send("0a 0300") == ["0b 07"] && server.mtu == 23)
  }

  @Test("N8 client: a response to nothing answers no later request") func n08Client() {
    let client = TestSession()
    client.send("0b 01")
    let read = client.start(ReadCharacteristicValue(3))
    #expect(read.result == nil)
    _ = client.sent
    client.send("0b 02")
    #expect(read.result == .success([2]))
    client.send("0b 03")
    #expect(client.failure == nil)
  }

  @Test("N9 client: a second indication before the confirmation: both are told, both confirmed")
  func n09Client() {
    let client = TestSession()
    _ = client.session.receive(octets("1d 0300 01").span.bytes, at: .zero)
    _ = client.session.receive(octets("1d 0300 02").span.bytes, at: .zero)
    client.session.confirm()
    client.session.confirm()
    #expect(client.sent == ["1e", "1e"] && client.failure == nil)
  }

  @Test("N9 server: its second indication waits for the confirmation; one too many does nothing")
  func n09Server() throws {
    let server = server
    _ = try server.session.indicate(3, [1], at: .zero)
    _ = try server.session.indicate(3, [2], at: .zero)
    #expect(server.sent == ["1d 03 00 01"])
    #expect(server.send("1e") == ["1d 03 00 02"])
    #expect(server.send("1e") == [] && server.send("1e") == [])
  }

  @Test("N10 server: pipelined requests behind a slow one are answered in order")
  func n10Server() {
    let application = ScriptedApplication(acceptsWrites: true)
    application.reads[3] = .later
    let server = TestSession(
      Server(Database([service(asked(), value([8]))]), application: application))
    #expect(server.send("0a 0300") == [])
    #expect(server.send("0a 0500") == [] && server.send("3f") == [] && server.send("0a") == [])
    server.session.answer(application.questions[0].id, .value([7]), at: .zero)
    #expect(server.sent == ["0b 07", "0b 08", "01 3f 00 00 06", "01 0a 00 00 04"])
  }

  @Test("N10 client: never sends a second request before the response") func n10Client() {
    let client = TestSession()
    for handle in [3, 5, 7] as [AttributeHandle] {
      _ = client.start(ReadCharacteristicValue(handle))
    }
    #expect(client.sent == ["0a 03 00"])
    #expect(client.send("0b") == ["0a 05 00"])
    #expect(client.send("01 0a 0500 02") == ["0a 07 00"])
  }

  @Test("N11 client: a response at 29.9 s is one, and at 30.1 s none any more") func n11Client() {
    for (milliseconds, isInTime) in [(29_900, true), (30_100, false)] {
      let client = TestSession()
      let read = client.start(ReadCharacteristicValue(3))
      _ = client.sent
      client.now = .zero + .milliseconds(milliseconds)
      client.send("0b 07")
      #expect(
        read.result
          == (isInTime
            ? .success([7]) : .failure(.bearer(.transactionTimeout(.readRequest)))))
    }
  }

  @Test("N11 server: a confirmation at 29.9 s is one, and at 30.1 s none any more") func n11Server()
    throws
  {
    for (milliseconds, isInTime) in [(29_900, true), (30_100, false)] {
      let server = server
      let id = try server.session.indicate(3, [1], at: .zero)
      _ = server.sent
      server.now = .zero + .milliseconds(milliseconds)
      server.send("1e")
      #expect(
        server.actions
          == (isInTime
            ? [.confirmed(id)] : [.failed(.transactionTimeout(.handleValueIndication))]))
    }
  }

  @Test("N12 server: the prepare queue exhausted by one client and by many: the others go on")
  func n12Server() {
    let limits = ServerLimits(
      preparedWritesPerClient: 3, preparedBytesPerClient: 10, preparedBytesShare: 2,
      preparedBytes: 9)
    let server = Server(Database([service(value([7]))]), limits: limits)
    let one = TestSession(server)
    for _ in 0..<3 { #expect(one.send("16 0300 0000 0a")[0].hasPrefix("17")) }
    #expect(one.send("16 0300 0000 0b") == ["01 16 03 00 09"])
    let two = TestSession(server)
    #expect(two.send("16 0300 0000 " + hexText(1, times: 10))[0].hasPrefix("17"))
    #expect(two.send("16 0300 0000 0b") == ["01 16 03 00 09"])
    let three = TestSession(server)
    #expect(three.send("16 0300 0000 010203") == ["01 16 03 00 09"])
    // Each has a share that the others cannot take.
    #expect(three.send("16 0300 0000 0102")[0].hasPrefix("17"))
    #expect(three.send("16 0300 0000 03") == ["01 16 03 00 09"])
    #expect(three.send("0a 0300") == ["0b 07"])
    // Executing the full queue makes room.
    #expect(one.send("18 01") == ["19"])
    #expect(three.send("16 0300 0000 03")[0].hasPrefix("17"))
    #expect(three.send("16 0300 0000 04") == ["01 16 03 00 09"])
  }

  @Test("N12 client: Prepare Queue Full is told, after the queue was cleared") func n12Client() {
    let client = TestSession()
    let write = client.start(WriteLongValue(3, value: [UInt8](repeating: 1, count: 20)))
    _ = client.sent
    client.send("17 0300 0000 " + hexText(1, times: 18))
    #expect(client.send("01 16 0300 09") == ["18 00"])
    client.send("19")
    #expect(write.result?.error == refusal(.prepareWriteRequest, 3, .prepareQueueFull))
  }

  @Test("N13 server: the database changed in the middle of a queue: nothing of it is written")
  func n13Server() throws {
    let server = server
    server.send("16 0300 0000 0a")
    try server.server.remove(service: 1)
    try server.server.add(service(value([7]), value([8])))
    #expect(server.send("18 01") == ["01 18 03 00 12"])
    #expect(server.value(of: 3) == [7])
    #expect(server.send("18 01") == ["19"])
  }

  @Test("N13 client: the database changed in the middle of discovery: it ends, at any moment")
  func n13Client() throws {
    for moment in 0..<24 {
      let server = Server(
        Database([
          service(value([7]), value([8])),
          ServiceDefinition(0x180D, handle: 0x10, characteristics: [value([9])]),
        ]))
      let pair = Pair(server: server)
      let operation = RecordedOperation(DiscoverDatabase())
      pair.left.session.start(operation, at: .zero)
      for _ in 0..<moment { _ = pair.step() }
      try server.remove(service: 0x10)
      pair.right.session.pump(at: pair.now)
      #expect(pair.run(limit: 1000))
      #expect(operation.result != nil, "after \(moment) steps")
    }
  }
}
