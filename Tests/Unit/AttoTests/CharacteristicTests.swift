import AttoGATT
import TestSupport
import Testing

@testable import Atto

/// Calls by characteristic and descriptor.
@Suite(.oneByOne) struct CharacteristicTests {
  /// A connection to a bench, and its characteristics.
  private struct Client {
    let bench: Bench
    let connection: Connection
    let database: RemoteDatabase

    init() async throws {
      bench = try await Bench()
      connection = try await bench.connect()
      database = try await connection.discover()
    }

    func characteristic(_ uuid: BluetoothUUID) throws -> Characteristic {
      try #require(database.characteristic(uuid))
    }

    /// Returns the result of a body, and how many PDUs it sends.
    func counting<Result>(
      _ body: () async throws -> Result
    ) async throws -> (result: Result, sent: UInt64) {
      let before = try await connection.counters.sent
      let result = try await body()
      return (result, try await connection.counters.sent - before)
    }
  }

  @Test func readsWholeValues() async throws {
    try await withDeadline {
      let client = try await Client()
      let (short, long) = try (client.characteristic(0x2B00), client.characteristic(0x2B01))
      let atOnce = try await client.counting { try await client.connection.read(short) }
      #expect(atOnce.result == Bench.hello)
      #expect(atOnce.sent == 1)
      let inParts = try await client.counting { try await client.connection.read(long) }
      #expect(inParts.result == Bench.long)
      // 23 full parts of 22 octets, and one of 6.
      #expect(inParts.sent == 24)
    }
  }

  @Test func readsAndWritesDescriptors() async throws {
    try await withDeadline {
      let client = try await Client()
      let configuration = try #require(client.characteristic(0x2B02).cccd)
      #expect(try await client.connection.read(configuration) == [0, 0])
      try await client.connection.write([2, 0], to: configuration)
      #expect(try await client.connection.read(configuration) == [2, 0])
    }
  }

  @Test func writesLongValuesInParts() async throws {
    try await withDeadline {
      let client = try await Client()
      let long = try client.characteristic(0x2B01)
      for (length, requests) in [(0, 1), (20, 1), (21, 3), (512, 30)] as [(Int, UInt64)] {
        let value = [UInt8](repeating: UInt8(length & 0xFF), count: length)
        let sent = try await client.counting {
          try await client.connection.write(value, to: long)
        }.sent
        #expect(sent == requests, "\(length) octets")
        #expect(try await client.bench.server.value(of: long.valueHandle) == value)
      }
      let tooLong = [UInt8](repeating: 1, count: 513)
      #expect(
        await failure { try await client.connection.write(tooLong, to: long) }
          == .misuse(.valueTooLong(513, limit: 512)))
    }
  }

  @Test func writesWithoutResponse() async throws {
    try await withDeadline {
      let client = try await Client()
      let target = try client.characteristic(0x2B03)
      let commands = Log<[UInt8]>()
      client.bench.server.onWriteInline(of: target.valueHandle) { origin, value in
        if origin.isCommand { commands.append(value.owned) }
        return .accepted
      }
      try await client.bench.settle()
      try await client.connection.writeWithoutResponse([1, 2], to: target)
      await commands.wait(count: 1)
      #expect(commands.all == [[1, 2]])
    }
  }

  @Test func unsubscribes() async throws {
    try await withDeadline {
      let client = try await Client()
      let values = try client.characteristic(0x2B02)
      let server = client.bench.server
      let received = try await client.connection.subscribe(to: values)
      #expect(try await server.hasSubscribers(to: values.valueHandle))
      try await client.connection.unsubscribe(from: values)
      #expect(try await !server.hasSubscribers(to: values.valueHandle))
      withExtendedLifetime(received) {}
      let plain = try client.characteristic(0x2B00)
      #expect(
        await failure { try await client.connection.unsubscribe(from: plain) }
          == .misuse(.cannotSubscribe(plain.valueHandle)))
    }
  }
}
