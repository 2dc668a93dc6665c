import AttoATT
import Testing

@testable import AttoFormats

@Suite struct CaptureWriterTests {
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
}
