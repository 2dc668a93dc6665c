import TestSupport
import Testing

@testable import AttoESPHome

/// Messages as Google's protobuf writes them for aioesphomeapi 46.23.0.
@Suite(.oneByOne) struct ClientMessageTests {
  static let types: [UInt64] = [
    1, 3, 5, 6, 7, 8, 9, 11, 20, 28, 34, 36, 37, 42, 66, 68, 70, 73, 75, 76, 77, 78, 80, 87, 127,
    145, 149,
  ]

  @Test(
    arguments: [
      (
        1, "0a0d61696f657370686f6d6561706910011813",
        .session(.hello(client: "aioesphomeapi", major: 1, minor: 19))
      ),
      (
        68, "0885888c90908030100518012001",
        .device(.device(address: 0xC001_0203_0405, .connectWithoutCache, addressType: 1))
      ),
      (
        75, "08051003180122020102",
        .attribute(.write(.init(address: 5, handle: 3), [1, 2], withResponse: true))
      ),
      (77, "080510041a020100", .attribute(.writeDescriptor(.init(address: 5, handle: 4), [1, 0]))),
      (78, "080510031801", .attribute(.notify(.init(address: 5, handle: 3), true))),
      (78, "08051003", .attribute(.notify(.init(address: 5, handle: 3), false))),
      (73, "08051003", .attribute(.read(.init(address: 5, handle: 3)))),
      (76, "08051003", .attribute(.read(.init(address: 5, handle: 3)))),
      (70, "0805", .attribute(.services(address: 5))),
      (
        145, "08051006180c289003",
        .device(.setParameters(address: 5, minimum: 6, maximum: 12, latency: 0, timeout: 400))
      ),
      (34, "", .action(.subscribe)),
      (
        42, "0d01000000120722056162636465120322016e1807",
        .action(.execute(key: 1, arguments: ["abcde", "n"], call: 7))
      ),
      (127, "0801", .advertisements(.setScanning(active: true))),
      (66, "0801", .advertisements(.subscribe(raw: true))),
      (66, "", .advertisements(.subscribe(raw: false))),
      (80, "", .device(.subscribeConnections)), (149, "", .session(.capabilities)),
      // A field of a newer client.
      (7, "a2 06 03 010203", .session(.ping)),
      (73, "08051003 a2 06 03 010203", .attribute(.read(.init(address: 5, handle: 3)))),
    ] as [(UInt64, String, ClientMessage)])
  func request(type: UInt64, body: String, message: ClientMessage) throws {
    #expect(try ClientMessage(type: type, octets(body)[...]) == message)
  }

  @Test func unknownTypesAreIgnored() throws {
    for type in [0, 2, 12, 67, 93, 150, 65_535, UInt64.max] {
      #expect(try ClientMessage(type: type, octets("ffffff")[...]) == nil)
    }
  }

  @Test(
    arguments: [
      (68, "1009", .value(field: 2)), (68, "20ff03", .value(field: 4)),
      (145, "1080800410", .value(field: 2)), (75, "2001", .mismatch(field: 4)),
      (1, "0a01ff", .text(field: 1)), (73, "0a00", .mismatch(field: 1)),
      (78, "08", .truncated),
    ] as [(UInt64, String, ProtobufError)])
  func malformed(type: UInt64, body: String, error: ProtobufError) {
    #expect(throws: error) { try ClientMessage(type: type, octets(body)[...]) }
  }
}

struct ServerMessageTests {
  static let address: UInt64 = 0xC001_0203_0405

  static let messages: [(any ServerMessage, UInt16, String)] = [
    (
      AdvertisementReport.advertisements([
        RawAdvertisement(address: address, rssi: -60, addressType: 1, data: [2, 1, 6]),
        RawAdvertisement(address: 1, rssi: -128, addressType: 0, data: []),
      ]), 93, "0a110885888c909080301077180122030201060a05080110ff01"
    ),
    (AdvertisementReport.scanner(.running, active: true, configuredActive: false), 126, "08021001"),
    (
      AttributeReport.error(.init(address: address, handle: 3), -1), 82,
      "0885888c90908030100318ffffffffffffffffff01"
    ),
    (
      DeviceReport.connections(free: 2, limit: 3, allocated: [address]), 81,
      "080210031a0785888c90908030"
    ),
    (
      DeviceReport.connection(address: 5, connected: true, mtu: 517, error: 0), 69, "08051001188504"
    ),
    (
      AttributeReport.services(
        address: 5,
        [
          ServiceReport(
            uuid: .long(high: 0x0000_180D_0000_1000, low: 0x8000_0080_5F9B_34FB), handle: 1,
            characteristics: [
              .init(
                uuid: .short(0x2A37), handle: 3, properties: 0x10,
                descriptors: [.init(uuid: .short(0x2902), handle: 4)])
            ])
        ]), 71,
      "080512250a1180a08080d08106fbe9ecfc85908080800110011a0e100318102205100418825228b754"
    ),
    (SessionAnswer.time(1_700_000_000), 37, "0d00f15365"),
    (SessionAnswer.capabilities(flags: 255, address: "C0"), 150, "0a0708ff0112024330"),
    (SessionAnswer.pong, 8, ""),
  ]

  @Test func asProtobufWritesThem() {
    for (message, type, body) in Self.messages {
      #expect(message.type == type)
      #expect(message.body == octets(body), "\(message)")
    }
  }

  @Test func largeDatabasesAreDivided() throws {
    let characteristics = (0..<5000).map {
      ServiceReport.Characteristic(
        uuid: .long(high: 1, low: .max), handle: UInt16($0 + 2), properties: 2)
    }
    let services = (0..<50).map { ServiceReport(uuid: .short($0), handle: UInt16($0 + 1)) }
    let large = ServiceReport(
      uuid: .short(0x180D), handle: 60_000, characteristics: characteristics)
    let messages = ServiceReport.messages(services + [large])
    #expect(messages.count > 2)
    for message in messages {
      #expect(AttributeReport.services(address: .max, message).body.count <= 60_100)
    }
    let sent = messages.flatMap { $0 }
    #expect(sent.prefix(50).elementsEqual(services))
    #expect(sent.dropFirst(50).allSatisfy { $0.handle == 60_000 })
    #expect(sent.flatMap(\.characteristics) == characteristics)
    #expect(ServiceReport.messages([]).isEmpty)
  }
}
