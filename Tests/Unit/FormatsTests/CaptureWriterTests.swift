import AttoATT
import TestSupport
import Testing

@testable import AttoFormats

@Suite(.sideBySide) struct CaptureWriterTests {
  /// A Read Request at one second and its response half a second later, encoded by hand from the
  /// descriptions of the formats.
  @Test func matchesTheFormatDescriptions() throws {
    #expect(
      file(.btsnoop)
        == octets(
          "6274736e6f6f7000 00000001 000003ea"
            + "0000000c 0000000c 00000000 00000000 00dcddb30f3ec240 02 4000 0700 0300 0400 0a1500"
            + "0000000b 0000000b 00000001 00000000 00dcddb30f466360 02 4020 0600 0200 0400 0b01"))
    #expect(
      file(.pcapng)
        == octets(
          "0a0d0d0a 1c000000 4d3c2b1a 01000000 ffffffffffffffff 1c000000"
            + "01000000 14000000 c9000000 00000000 14000000"
            + "06000000 30000000 00000000 00000000 40420f00 10000000 10000000"
            + "00000000 02 4000 0700 0300 0400 0a1500 30000000"
            + "06000000 30000000 00000000 00000000 60e31600 0f000000 0f000000"
            + "00000001 02 4020 0600 0200 0400 0b01 00 30000000"))
  }

  /// Dropped records are counted in the next one: in btsnoop all, in pcapng those since the last one.
  @Test func countsWhatIsDropped() throws {
    var dropped = CaptureWriter.Dropped()
    for isWritten in [false, true, false, false] { dropped.count(isWritten: isWritten) }
    #expect((dropped.total, dropped.recent) == (3, 2))
    func record(_ format: CaptureWriter.Format) -> [UInt8] {
      CaptureWriter(format).record(
        pdu: [0x0B, 0x01], isSent: false, microseconds: 1_500_000, dropped: dropped)
    }
    #expect(
      record(.btsnoop)
        == octets(
          "0000000b 0000000b 00000001 00000003 00dcddb30f466360 02 4020 0600 0200 0400 0b01"))
    #expect(
      record(.pcapng)
        == octets(
          "06000000 40000000 00000000 00000000 60e31600 0f000000 0f000000"
            + "00000001 02 4020 0600 0200 0400 0b01 00 0400 0800 0200000000000000 00000000 40000000"
        ))
    for format in [CaptureWriter.Format.btsnoop, .pcapng] {
      let found = try CaptureReaderTests.pdus(CaptureWriter(format).header + record(format))
      #expect(found.map(\.octets) == [[0x0B, 0x01]])
    }
  }

  /// A PDU of an enhanced bearer follows the opening of its channel, and has the length of the SDU.
  @Test(arguments: [CaptureWriter.Format.btsnoop, .pcapng])
  func enhancedBearers(_ format: CaptureWriter.Format) throws {
    let writer = CaptureWriter(format)
    var file = writer.header
    for number in [1, 5, 64, 65] {
      file += writer.open(
        bearer: number, mtu: 100 + number, connection: 0, microseconds: 1_000_000,
        dropped: CaptureWriter.Dropped())
      for isSent in [true, false] {
        file += writer.record(
          pdu: [isSent ? 0x0A : 0x0B, UInt8(number), 0], isSent: isSent, bearer: number,
          microseconds: 1_000_000)
      }
    }
    file += writer.record(pdu: [0x0A, 0, 0], isSent: true, microseconds: 1_000_000)
    let found = try CaptureReaderTests.pdus(file)
    #expect(found.map(\.bearer) == [1, 1, 5, 5, 64, 64, 1, 1, 0])
    #expect(found.map(\.channel) == [0x40, 0x40, 0x44, 0x44, 0x7F, 0x7F, 0x40, 0x40, 4])
    #expect(found.map(\.mtu) == [101, 101, 105, 105, 164, 164, 165, 165, nil])
    #expect(found.map { $0.octets[1] } == [1, 1, 5, 5, 64, 64, 65, 65, 0])
    let comment = Array("enhanced bearer 5, shown as".utf8)
    #expect((file.firstRange(of: comment) != nil) == (format == .pcapng))
  }

  private func file(_ format: CaptureWriter.Format) -> [UInt8] {
    let writer = CaptureWriter(format)
    return writer.header
      + writer.record(pdu: [0x0A, 0x15, 0x00], isSent: true, microseconds: 1_000_000)
      + writer.record(pdu: [0x0B, 0x01], isSent: false, microseconds: 1_500_000)
  }

  private func octets(_ text: String) -> [UInt8]? { Hex.octets(text.utf8, separators: " ") }

  @Test(arguments: ["a.btsnoop", "a.snoop", "a.pcapng"]) func readsWhatItWrites(
    _ path: String
  ) throws {
    let pdus: [[UInt8]] = [[0x0A, 0x15, 0x00], [], [UInt8](repeating: 7, count: 65_531)]
    let writer = try #require(CaptureWriter(path: path))
    var file = writer.header
    for (index, pdu) in pdus.enumerated() {
      file += writer.record(
        pdu: pdu, isSent: index % 2 == 0, connection: index, microseconds: Int64(index))
    }
    let found = try CaptureReaderTests.pdus(file)
    #expect(found.map(\.octets) == pdus)
    #expect(found.map(\.isSent) == [true, false, true])
    #expect(found.map(\.connection.handle) == [0x40, 0x41, 0x42])
    #expect(found.map(\.time) == [0, 1000, 2000])
  }

  @Test func monitorRecords() throws {
    for format in [CaptureWriter.Format.btsnoop, .pcapng] {
      let writer = CaptureWriter(format, .monitor)
      let file =
        writer.header
        + writer.record(monitor: 2, adapter: 3, [1, 2, 3], missing: 4, microseconds: 5)
      guard case .hci(let hci)? = try CaptureReaderTests.records(file).first?.content else {
        Issue.record("no HCI record")
        continue
      }
      #expect(hci.kind == .command && hci.adapter == 3 && hci.isCut)
      #expect(hci.octets == [1, 2, 3])
    }
  }

  @Test func truncatesLongPDUs() throws {
    let writer = CaptureWriter(.btsnoop)
    let pdu = [UInt8](repeating: 1, count: CaptureWriter.longestPDU + 1)
    let file = writer.header + writer.record(pdu: pdu, isSent: true, microseconds: 0)
    guard case .hci(let hci)? = try CaptureReaderTests.records(file).first?.content else {
      Issue.record("no HCI record")
      return
    }
    #expect(hci.isCut)
    #expect(CaptureWriter(path: "a.txt")?.format == nil)
  }

  /// The start and the end of a connection are those of a controller, by the specification.
  @Test func connections() throws {
    let writer = CaptureWriter(.btsnoop)
    var connection = WrittenConnection(
      number: 2, own: .init(0xC1A2_B3C4_D5E6, isRandom: true),
      peer: .init(0x0011_2233_4455, isRandom: false), name: "air:Strap", isCentral: true)
    var dropped = CaptureWriter.Dropped()
    dropped.count(isWritten: false)
    let file =
      writer.header
      + writer.start(of: connection, statesOwn: true, microseconds: 7, dropped: dropped)
      + writer.record(pdu: [0x0A, 1, 0], isSent: true, connection: 2, microseconds: 8)
      + writer.end(ofConnection: 2, reason: 0x13, microseconds: 9, dropped: dropped)
    let records = try CaptureReaderTests.records(file)
    let events: [[UInt8]?] = records.map {
      guard case .hci(let hci) = $0.content, hci.kind == .event else { return nil }
      return hci.octets
    }
    #expect(
      events == [
        octets("0e0a 01 0910 00 e6d5c4b3a2c1"),
        octets("3e17 02 01 00 00 554433221100 0b 0a09 6169723a5374726170 7f"),
        octets("3e13 01 00 4200 00 00 554433221100 1800 0000 f401 00"), nil,
        octets("0504 00 4200 13"),
      ])
    #expect(try CaptureReaderTests.pdus(file).map(\.mtu) == [23])

    connection.isCentral = false
    connection.name = "not shown"
    connection.number = WrittenConnection.limit - 1
    for format in [CaptureWriter.Format.btsnoop, .pcapng] {
      let writer = CaptureWriter(format)
      let file =
        writer.header
        + writer.start(of: connection, statesOwn: false, microseconds: 7, dropped: dropped)
      guard case .hci(let hci)? = try CaptureReaderTests.records(file).first?.content else {
        Issue.record("no event")
        continue
      }
      #expect(
        hci.octets == octets("3e13 01 00 ff0e 01 00 554433221100 1800 0000 f401 00"))
      #expect(hci.isSent == false)
    }
  }

  /// Static random addresses begin with two set bits. Vol 6, Part B, 1.3.2.1.
  @Test func madeUpAddresses() {
    let texts = ["", "unix:/tmp/a", "unix:/tmp/b", "client 1 of unix:/tmp/a"]
    let addresses = texts.map { WrittenConnection.Address(for: $0) }
    #expect(Set(addresses).count == texts.count)
    for address in addresses { #expect(address.isRandom && address.value >> 46 == 3) }
    #expect(addresses[1] == WrittenConnection.Address(for: "unix:/tmp/a"))
  }

  /// Advertising data has room for 29 octets of a name.
  @Test(arguments: [("a", 29, 9), ("a", 30, 8), ("\u{E9}", 14, 9), ("\u{E9}", 15, 8)])
  func names(_ letter: String, _ count: Int, _ kind: UInt8) throws {
    let name = String(repeating: letter, count: count)
    let connection = WrittenConnection(
      number: 0, own: .init(1, isRandom: false), peer: .init(2, isRandom: false), name: name,
      isCentral: true)
    let writer = CaptureWriter(.btsnoop)
    let file =
      writer.header
      + writer.start(of: connection, statesOwn: false, microseconds: 0, dropped: .init())
    guard case .hci(let hci)? = try CaptureReaderTests.records(file).first?.content else {
      Issue.record("no event")
      return
    }
    let data = hci.octets[13..<hci.octets.count - 1]
    #expect(hci.octets[12] == UInt8(data.count) && data.count <= 31)
    #expect(Array(data.prefix(2)) == [UInt8(data.count - 1), kind])
    #expect(name.hasPrefix(try #require(String(validating: data.dropFirst(2), as: UTF8.self))))
  }
}
