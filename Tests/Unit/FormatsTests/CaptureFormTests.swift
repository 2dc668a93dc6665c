import TestSupport
import Testing

@testable import AttoFormats

/// The features and faults of single formats.
@Suite(.sideBySide) struct CaptureFormTests {
  typealias Build = CaptureBuilder
  static let sent = Build.h4(CaptureReaderTests.request, isSent: true)
  static let received = Build.h4(CaptureReaderTests.response, isSent: false)

  static func fault(_ file: [UInt8]) -> CaptureFault? {
    do throws(CaptureFault) {
      _ = try CaptureReaderTests.records(file)
      return nil
    } catch {
      return error
    }
  }

  @Test func monitorRecordsNameTheirAdapter() throws {
    let file = Build.btsnoop(
      2001,
      [
        Build.btsnoopRecord([UInt8](repeating: 0, count: 16), flags: 3 << 16 | 0),
        Build.btsnoopRecord(Array(Self.sent.dropFirst()), flags: 3 << 16 | 4),
        Build.btsnoopRecord([1, 2], flags: 0xFFFF << 16 | 13),
        Build.btsnoopRecord([0x03, 0x0C, 0x00], flags: 2),
        Build.btsnoopRecord([1], flags: 18),
        Build.btsnoopRecord([1], flags: 20),
      ])
    var decoder = CaptureDecoder()
    let found = try CaptureReaderTests.records(file).compactMap { decoder.decode($0) }
    #expect(found.map { "\($0.connection)" } == ["hci3/0x0040"])
    #expect(decoder.counts.notes == 2)
    #expect(decoder.counts.commandsAndEvents == 1)
    #expect(decoder.counts.streams == 1)
    #expect(decoder.counts.unknown == ["Linux monitor records of a kind above 19": 1])
  }

  @Test func eachInterfaceHasItsOwnClock() throws {
    func unit(_ resolution: UInt8, _ offset: [UInt8]?) -> [UInt8] {
      let shift = offset.map { Build.option(14, $0) } ?? []
      return Build.option(9, [resolution]) + shift + Build.option(0, [])
    }
    let blocks: [[UInt8]] = [
      Build.section(), Build.interface(187, options: unit(9, nil)),
      Build.interface(187, options: unit(0x80 | 10, Build.little32(100) + Build.little32(0))),
      Build.interface(1),
      Build.interface(187, options: unit(6, [UInt8](repeating: 0xFF, count: 8))),
      Build.interface(187, options: unit(90, nil)),
      Build.enhanced(Self.sent, units: 1_500_000_000),
      Build.enhanced(Self.sent, interface: 1, units: 2048 + 512),
      Build.enhanced(Self.sent, interface: 2, units: 7),
      Build.enhanced(Self.sent, interface: 3, units: 5_000_000),
      Build.enhanced(Self.sent, interface: 4, units: 5),
    ]
    let records = try CaptureReaderTests.records(Array(blocks.joined()))
    #expect(
      records.map(\.time) == [1_500_000_000, 102_500_000_000, 7000, 4_000_000_000, nil])
    #expect(records[2].content == .unknown("records of link type 1"))
  }

  @Test func timesThatOverflowAreNil() throws {
    let file =
      Build.section() + Build.interface(187, options: Build.option(9, [0]))
      + Build.enhanced(Self.sent, units: -1)
    #expect(try CaptureReaderTests.records(file).map(\.time) == [nil])
    let old = Build.btsnoop(
      1002,
      [Build.btsnoopRecord(Self.sent, flags: 0, microseconds: Int.max - 0x00DC_DDB3_0F2F_8000)])
    #expect(try CaptureReaderTests.records(old).map(\.time) == [nil])
  }

  /// The direction in a block's flags, the simple packet block and the obsolete packet block.
  @Test func otherBlocks() throws {
    func flags(_ word: Int) -> [UInt8] {
      Build.option(2, Build.little32(word)) + Build.option(0, [])
    }
    let count = Build.little32(Self.received.count)
    let head: [UInt8] = Build.little32(0) + Build.little32(0) + Build.little32(9)
    let blocks: [[UInt8]] = [
      Build.section(), Build.interface(187), Build.block(4, [1, 2, 3, 4]),
      Build.block(0x0BAD, [UInt8](repeating: 7, count: 300_000)),
      Build.enhanced(Self.sent, options: flags(2)),
      Build.enhanced(Self.received, options: flags(1)),
      Build.block(3, Build.little32(Self.sent.count) + Self.sent),
      Build.block(2, head + count + count + Self.received),
      Build.section(isBig: true), Build.interface(201, isBig: true),
      Build.enhanced(Build.big32(1) + Self.received, isBig: true),
    ]
    let file = Array(blocks.joined())
    let records = try CaptureReaderTests.records(file)
    let directions = records.map { record -> Bool? in
      if case .hci(let hci) = record.content { hci.isSent } else { nil }
    }
    #expect(directions == [true, false, nil, nil, false])
    var decoder = CaptureDecoder()
    let found = records.compactMap { decoder.decode($0) }
    #expect(found.map(\.isSent) == [true, false, true, false, false])
    #expect(records.map(\.time) == [0, 0, nil, 9000, 0])
    for length in [1, 7, 4096] {
      #expect(try CaptureReaderTests.records(file, pieces: length) == records)
    }
  }

  @Test func snapLengthTruncatesSimpleBlocks() throws {
    let file =
      Build.section() + Build.interface(187, longest: 8)
      + Build.block(3, Build.little32(Self.sent.count) + Self.sent.prefix(8))
    guard case .hci(let hci)? = try CaptureReaderTests.records(file).first?.content else {
      Issue.record("no HCI")
      return
    }
    #expect(hci.isCut)
    #expect(hci.octets.count == 7)
  }

  struct Wrong {
    let file: [UInt8]
    let record: Int
    let offset: Int
    let part: String
  }

  static let wrong: [Wrong] = wrongHeaders + wrongRecords + wrongBlocks

  static let wrongHeaders: [Wrong] = {
    let magic = Array("btsnoop\0".utf8)
    let zip: [UInt8] = [0x1F, 0x8B] + [UInt8](repeating: 8, count: 30)
    let text = Array("hello, this is no capture".utf8)
    let second: [UInt8] = magic + Build.big32(2) + Build.big32(1002)
    return [
      Wrong(file: [], record: 0, offset: 0, part: "empty"),
      Wrong(file: [1, 2, 3], record: 0, offset: 0, part: "not btsnoop"),
      Wrong(file: text, record: 0, offset: 0, part: "not btsnoop"),
      Wrong(file: zip, record: 0, offset: 0, part: "gzip"),
      Wrong(file: Build.btsnoop(1003, []), record: 0, offset: 0, part: "datalink 1003"),
      Wrong(file: second, record: 0, offset: 0, part: "version 2"),
      Wrong(
        file: magic, record: 0, offset: 0, part: "ends after 8 of 16 octets of the header"),
      Wrong(file: Build.pcap(1, []), record: 0, offset: 0, part: "link type 1,"),
    ]
  }()

  static let wrongRecords: [Wrong] = {
    let snoop = Build.btsnoop(1002, [Build.btsnoopRecord(sent, flags: 0)])
    let pcap = Build.pcap(187, [Build.pcapRecord(sent)])
    let dump = Build.hcidump(sent, isReceived: false)
    let zeros = [UInt8](repeating: 0, count: 20)
    let long: [UInt8] = snoop + Build.big32(9) + Build.big32(0x7FFF_FFFF) + zeros
    let endless = Build.little32(-1)
    let longer: [UInt8] = pcap + zeros.prefix(8) + endless + endless
    return [
      Wrong(file: long, record: 2, offset: 52, part: "2147483647 octets"),
      Wrong(
        file: Array(snoop.dropLast()), record: 1, offset: 16,
        part: "ends after 35 of 36 octets of the record"),
      Wrong(
        file: pcap + [1, 2, 3], record: 2, offset: 52,
        part: "ends after 3 of 16 octets of the record's header"),
      Wrong(file: longer, record: 2, offset: 52, part: "4294967295 octets"),
      Wrong(file: dump + [5, 0, 2] + zeros, record: 2, offset: 24, part: "invalid hcidump record"),
    ]
  }()

  static let wrongBlocks: [Wrong] = {
    let section = Build.section()
    let described: [UInt8] = section + Build.interface(187)
    let zeros: [UInt8] = [0, 0, 0, 0]
    let type = Build.little32(6)
    let odd: [UInt8] = section + type + Build.little32(11) + zeros
    let uneven: [UInt8] = section + type + Build.little32(14) + zeros
    let five = Build.little32(5)
    let over: [UInt8] = zeros + zeros + zeros + five + five
    let markless: [UInt8] = section.prefix(8) + [1, 2, 3, 4] + section.dropFirst(12)
    let passed = Build.block(77, [UInt8](repeating: 0, count: 100))
    let huge = Build.block(1, [UInt8](repeating: 0, count: 300_000))
    return [
      Wrong(file: odd, record: 1, offset: 28, part: "11 octets"),
      Wrong(file: uneven, record: 1, offset: 28, part: "14 octets"),
      Wrong(
        file: section + Build.enhanced(sent), record: 1, offset: 28,
        part: "undefined interface 0: 0 are"),
      Wrong(file: section + Build.block(6, zeros), record: 1, offset: 28, part: "has no record"),
      Wrong(file: section + Build.block(1, [187, 0]), record: 1, offset: 28, part: "too short"),
      Wrong(
        file: described + Build.block(6, over), record: 1, offset: 48,
        part: "5 octets does not fit its block of 32"),
      Wrong(file: described.dropLast() + [9], record: 1, offset: 28, part: "at its end"),
      Wrong(file: markless, record: 1, offset: 0, part: "byte-order mark"),
      Wrong(
        file: section + passed.dropLast(4), record: 1, offset: 136,
        part: "4 octets before the end of a block"),
      Wrong(file: section + huge, record: 1, offset: 28, part: "300012 octets"),
    ]
  }()

  @Test(arguments: wrong.indices) func faultsNameRecordAndOffset(_ index: Int) throws {
    let wrong = Self.wrong[index]
    let fault = try #require(Self.fault(wrong.file), "\(wrong.part)")
    #expect(fault.reason.contains(wrong.part), "\(fault)")
    #expect(fault.record == wrong.record, "\(fault)")
    #expect(fault.offset == wrong.offset, "\(fault)")
  }

  @Test func interfacesAreLimited() throws {
    let described = { (count: Int) in
      Build.section() + (0..<count).flatMap { _ in Build.interface(187) }
    }
    #expect(Self.fault(described(CaptureReader.interfaceLimit)) == nil)
    let fault = try #require(Self.fault(described(CaptureReader.interfaceLimit + 1)))
    #expect(fault.reason.contains("more than 1024 interfaces"))
  }

  @Test func recordsAreLimited() throws {
    let longest = [UInt8](repeating: 1, count: CaptureReader.recordLimit)
    for count in [longest.count, longest.count + 1] {
      let octets = Array((longest + [1]).prefix(count))
      for file in [
        Build.btsnoop(1002, [Build.btsnoopRecord(octets, flags: 0)]),
        Build.pcap(187, [Build.pcapRecord(octets)]),
      ] {
        #expect((Self.fault(file) == nil) == (count == longest.count))
      }
    }
  }
}
