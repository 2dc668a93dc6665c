import AttoGATT
import TestSupport
import Testing

@testable import Atto

@Suite(.oneByOne) struct BasicTests {
  @Test func exchangesTheMTU() async throws {
    try await withDeadline {
      let bench = try await Bench()
      let connection = try await bench.connect()
      #expect(try await connection.mtu == 23)
      #expect(try await connection.exchangeMTU() == 517)
      #expect(try await connection.mtu == 517)
      #expect(await failure { try await connection.exchangeMTU() } == .misuse(.mtuAlreadyExchanged))
      let other = try await bench.connect {
        $0.receiveMTU = 100
        $0.exchangesMTU = true
      }
      #expect(try await other.mtu == 100)
    }
  }

  @Test func nothingIsOnTheWireUnasked() async throws {
    try await withDeadline {
      let bench = try await Bench()
      let connection = try await bench.connect()
      #expect(try await connection.readOnce(bench.greeting) == Bench.hello)
      #expect(try await connection.counters == ConnectionCounters(sent: 1, received: 1))
    }
  }

  @Test func discoversWhatWasDefined() async throws {
    try await withDeadline {
      let bench = try await Bench()
      let connection = try await bench.connect()
      let found = try await connection.discover()
      #expect(found.services.map(\.uuid) == [.genericAttribute, Bench.service.uuid])
      #expect(found.services.map(\.range) == [bench.gatt.range, bench.layout.range])
      let characteristics = found.services[1].characteristics
      #expect(characteristics.map(\.uuid) == Bench.service.characteristics.map(\.uuid))
      #expect(characteristics.map(\.properties) == Bench.service.characteristics.map(\.properties))
      #expect(characteristics.map(\.valueHandle) == bench.layout.characteristics.map(\.valueHandle))
      #expect(
        characteristics.map(\.declarationHandle)
          == bench.layout.characteristics.map(\.declarationHandle))
      #expect(
        characteristics.map { $0.descriptors.map(\.handle) }
          == bench.layout.characteristics.map(\.descriptorHandles))
    }
  }

  @Test func reads() async throws {
    try await withDeadline {
      let bench = try await Bench()
      let connection = try await bench.connect()
      #expect(try await connection.readOnce(bench.greeting) == Bench.hello)
      #expect(try await connection.readOnce(bench.long) == Array(Bench.long[..<22]))
      #expect(try await connection.readLong(bench.long) == Bench.long)
      #expect(try await connection.readLong(bench.long, offset: 500) == Array(Bench.long[500...]))
      let multiple = try await connection.read([bench.greeting, bench.greeting])
      #expect(multiple.map(\.octets) == [Bench.hello, Bench.hello])
      let fixed = try await connection.perform(
        ReadMultiple([bench.greeting, bench.greeting]))
      #expect(fixed.octets == Bench.hello + Bench.hello)
      let typed = try await connection.read(uuid: Bench.service.characteristics[0].uuid)
      #expect(typed.values.map(\.octets) == [Bench.hello])
    }
  }

  @Test func writes() async throws {
    try await withDeadline {
      let bench = try await Bench()
      let connection = try await bench.connect()
      try await connection.write([1, 2], to: bench.greeting)
      #expect(try await bench.server.value(of: bench.greeting) == [1, 2])
      try await connection.writeLong([UInt8](repeating: 9, count: 300), to: bench.long)
      #expect(
        try await bench.server.value(of: bench.long) == [UInt8](repeating: 9, count: 300))
      try await connection.writeReliably([
        LongWrite(bench.greeting, value: [7]), LongWrite(bench.long, value: [8, 8]),
      ])
      #expect(try await bench.server.value(of: bench.greeting) == [7])
      #expect(try await bench.server.value(of: bench.long) == [8, 8])
      let commands = Log<[UInt8]>()
      bench.server.onWriteInline(of: bench.application) { origin, value in
        #expect(origin.isCommand)
        commands.append(value.owned)
        return .accepted
      }
      try await bench.settle()
      for number in 0..<100 {
        try await connection.writeWithoutResponse(counted(number), to: bench.application)
      }
      await commands.wait(count: 100)
      #expect(commands.all == (0..<100).map(counted))
    }
  }

  @Test func writesSigned() async throws {
    try await withDeadline {
      let peer = try RawPeer()
      let connection = try await peer.connect()
      try await connection.writeSigned(
        [1, 2], to: 3, counter: 0x0102_0304, key: [UInt8](repeating: 5, count: 16))
      let pdu = await peer.receive()
      #expect(pdu.count == 17)
      #expect(Array(pdu[..<9]) == [0xD2, 3, 0, 1, 2, 4, 3, 2, 1])
    }
  }

  @Test(arguments: [ClientCharacteristicConfiguration.notification, .indication])
  func subscribes(_ kind: ClientCharacteristicConfiguration) async throws {
    try await withDeadline {
      let bench = try await Bench()
      let connection = try await bench.connect()
      let found = try await connection.discover()
      let characteristic = try #require(found.characteristic(valueHandle: bench.values))
      let values = try await connection.subscribe(to: characteristic, preferring: kind)
      #expect(try await bench.server.hasSubscribers(to: bench.values))
      for number in 0..<10 {
        let delivered =
          kind == .notification
          ? try await bench.server.notify(counted(number), of: bench.values)
          : try await bench.server.indicate(counted(number), of: bench.values)
        #expect(delivered == Delivered(count: 1))
      }
      var iterator = values.makeAsyncIterator()
      for expected in 0..<10 {
        let value = try #require(try await iterator.next())
        #expect(value.handle == bench.values)
        #expect(number(value.value) == expected)
        #expect(value.isIndication == (kind == .indication))
        #expect(value.missed == 0)
      }
      try await connection.unsubscribe(cccd: bench.configuration)
      #expect(try await !bench.server.hasSubscribers(to: bench.values))
    }
  }

  @Test func subscribesToNothingThatIsNotOffered() async throws {
    try await withDeadline {
      let bench = try await Bench()
      let connection = try await bench.connect()
      let found = try await connection.discover()
      let characteristic = try #require(found.characteristic(valueHandle: bench.greeting))
      #expect(
        await failure { try await connection.subscribe(to: characteristic) }
          == .misuse(.cannotSubscribe(bench.greeting)))
    }
  }
}
