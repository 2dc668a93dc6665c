import TestSupport
import Testing

@testable import AttoFormats

/// ATT PDUs in records.
@Suite(.sideBySide) struct CaptureDecoderTests {
  typealias Build = CaptureBuilder

  /// H4 records of a btsnoop file, each with its direction.
  static func records(_ h4: [(isSent: Bool, octets: [UInt8])]) throws -> [CaptureRecord] {
    try CaptureReaderTests.records(
      Build.btsnoop(
        1002, h4.map { Build.btsnoopRecord($0.octets, flags: $0.isSent ? 0 : 1) }))
  }

  static func decode(
    _ h4: [(isSent: Bool, octets: [UInt8])], channels: Set<UInt16> = [4]
  ) throws -> (pdus: [CapturedPDU], counts: CaptureCounts) {
    var decoder = CaptureDecoder(channels: channels)
    let pdus = try records(h4).compactMap { decoder.decode($0) }
    decoder.finish()
    return (pdus, decoder.counts)
  }

  static func fragment(
    _ octets: some Collection<UInt8>, isSent: Bool = false, handle: Int = 0x40, begins: Bool
  ) -> (isSent: Bool, octets: [UInt8]) {
    let boundary = begins ? (isSent ? 0 : 2) : 1
    return (isSent, [2] + Build.acl(Array(octets), handle: handle, boundary: boundary))
  }

  static func event(_ octets: [UInt8]) -> (isSent: Bool, octets: [UInt8]) {
    (false, [4] + octets)
  }

  /// Splits a PDU in two and in three at every place, even within the L2CAP header.
  @Test func fragmentsOfEveryLength() throws {
    let whole = Build.l2cap([0x1B, 0x12, 0x00] + (0..<20))
    for first in 1..<whole.count {
      for second in first..<whole.count {
        let (pdus, counts) = try Self.decode([
          Self.fragment(whole[..<first], begins: true),
          Self.fragment(whole[first..<second], begins: false),
          Self.fragment(whole[second...], begins: false),
        ])
        #expect(pdus.map(\.octets) == [Array(whole.dropFirst(4))], "\(first), \(second)")
        #expect(pdus.map(\.record) == [3])
        #expect(counts.withoutEnd + counts.withoutBeginning + counts.malformed == 0)
      }
    }
  }

  /// Two connections with an incomplete PDU in each direction.
  @Test func reassemblesEachDirectionSeparately() throws {
    let pdus: [[UInt8]] = (0..<4).map {
      [0x1B, UInt8($0), 0x00] + [UInt8](repeating: 9, count: 30)
    }
    let wholes = pdus.map { Build.l2cap($0) }
    let way = { (index: Int) in (index % 2 == 0, 0x40 + index / 2) }
    var pieces: [(isSent: Bool, octets: [UInt8])] = []
    for step in 0..<3 {
      for (index, whole) in wholes.enumerated() {
        let part = whole[step * 12..<(step == 2 ? whole.count : step * 12 + 12)]
        pieces.append(
          Self.fragment(part, isSent: way(index).0, handle: way(index).1, begins: step == 0))
      }
    }
    let found = try Self.decode(pieces).pdus
    #expect(found.map(\.octets) == pdus)
    #expect(found.map(\.isSent) == [true, false, true, false])
    #expect(found.map(\.connection.handle) == [0x40, 0x40, 0x41, 0x41])
  }

  @Test func countsIncompletePDUs() throws {
    let whole = Build.l2cap([0x1B, 0x12, 0x00, 1, 2, 3])
    let (pdus, counts) = try Self.decode([
      Self.fragment(whole.dropFirst(5), begins: false),
      Self.fragment(whole.prefix(5), begins: true),
      Self.fragment(whole, begins: true),
      Self.fragment(whole + [0], begins: true),
      (false, [2, 0x40, 0x20, 9, 0, 1]),
      (false, [2, 0x40]),
      Self.fragment(whole.prefix(6), isSent: true, begins: true),
    ])
    #expect(pdus.map(\.record) == [3])
    #expect(counts.withoutBeginning == 1)
    #expect(counts.withoutEnd == 2)
    #expect(counts.malformed == 3)
  }

  @Test func countsTruncatedRecords() throws {
    let whole = Build.h4([0x1B, 0x12, 0x00, 1, 2, 3], isSent: false)
    let records = try CaptureReaderTests.records(
      Build.btsnoop(1002, [Build.btsnoopRecord(Array(whole.dropLast(2)), flags: 1, missing: 2)]))
    var decoder = CaptureDecoder()
    #expect(records.allSatisfy { decoder.decode($0) == nil })
    #expect(decoder.counts.cut == 1)
    #expect(decoder.counts.malformed == 0)
  }

  @Test func otherChannelsAreCountedOrShown() throws {
    let long = Build.l2cap([UInt8](repeating: 3, count: 40), channel: 0x41)
    let records = [
      (true, Build.h4([0x0A, 1, 0], isSent: true)),
      (true, Build.h4([1, 2, 3], isSent: true, channel: 6)),
      Self.fragment(long.prefix(9), begins: true),
      Self.fragment(long.dropFirst(9), begins: false),
      (true, Build.h4([0x0A, 2, 0], isSent: true, channel: 0x41)),
    ]
    let (pdus, counts) = try Self.decode(records)
    #expect(pdus.map(\.record) == [1])
    #expect(counts.otherChannels == [6: 1, 0x41: 2])
    let others = try Self.decode(records, channels: [0x41]).pdus
    #expect(others.map(\.record) == [4, 5])
    #expect(others.map(\.octets.count) == [40, 3])
  }

  @Test func eventsStartAndEndConnections() throws {
    let pdu = { (true, Build.h4([0x0A, 1, 0], isSent: true)) }
    let (pdus, counts) = try Self.decode([
      Self.event(Build.connected(0x40)), pdu(),
      Self.fragment(Build.l2cap([1, 2, 3]).prefix(5), begins: true),
      Self.event(Build.disconnected(0x40)),
      Self.event(Build.connected(0x40, enhanced: true)), pdu(),
      Self.event(Build.disconnected(0x40)), pdu(),
    ])
    #expect(pdus.map { "\($0.connection)" } == ["0x0040", "0x0040.2", "0x0040.3"])
    #expect(pdus.map(\.mtu) == [23, 23, nil])
    #expect(counts.withoutEnd == 1)
    #expect(counts.commandsAndEvents == 4)
  }

  @Test func learnsTheMTUFromAnExchange() throws {
    func exchange(_ client: UInt8, _ server: UInt8) -> [(isSent: Bool, octets: [UInt8])] {
      [
        (true, Build.h4([0x02, client, 0], isSent: true)),
        (false, Build.h4([0x03, server, 0], isSent: false)),
        (false, Build.h4([0x1B, 1, 0], isSent: false)),
      ]
    }
    // A response without a request, or in the same direction as it, has no effect.
    let before = try Self.decode([
      (false, Build.h4([0x03, 100, 0], isSent: false)),
      (true, Build.h4([0x02, 90, 0], isSent: true)), (true, Build.h4([0x03, 90, 0], isSent: true)),
      (true, Build.h4([0x0A, 1, 0], isSent: true)),
    ]).pdus
    #expect(before.map(\.mtu) == [nil, nil, nil, nil])
    #expect(try Self.decode(exchange(100, 60)).pdus.map(\.mtu) == [nil, nil, 60])
    #expect(try Self.decode(exchange(10, 60)).pdus.map(\.mtu) == [nil, nil, 23])
    // Without the start of a connection, one handle may stand for several.
    #expect(
      try Self.decode(exchange(100, 60) + exchange(50, 60)).pdus.map(\.mtu)
        == [nil, nil, 60, 60, 60, 60])
    let known = [Self.event(Build.connected(0x40))] + exchange(100, 60) + exchange(50, 60)
    #expect(try Self.decode(known).pdus.map(\.mtu) == [23, 23, 60, 60, 60, 50])
  }

  @Test func partsAreLimited() throws {
    let first = Build.l2cap([1, 2, 3])
    let count = CaptureDecoder.partLimit + 1
    let begun = (0..<count).map { Self.fragment(first.prefix(5), handle: $0, begins: true) }
    let ended = (0..<count).map { Self.fragment(first.dropFirst(5), handle: $0, begins: false) }
    let (pdus, counts) = try Self.decode(begun + ended)
    #expect(pdus.map { Int($0.connection.handle) } == Array(1..<count))
    #expect(counts.withoutEnd == 1)
    #expect(counts.withoutBeginning == 1)
  }

  @Test func connectionsAreLimited() throws {
    var decoder = CaptureDecoder()
    for adapter in 0...1 {
      for handle in 0..<0x0F00 {
        let octets = Build.acl(Build.l2cap([0x0A, 1, 0]), handle: handle, boundary: 0)
        let hci = CaptureRecord.HCI(
          kind: .acl, isSent: true, adapter: UInt16(adapter), octets: octets, isCut: false)
        _ = decoder.decode(CaptureRecord(number: 1, offset: 0, time: nil, content: .hci(hci)))
        #expect(decoder.connections.count <= CaptureDecoder.connectionLimit)
      }
    }
    #expect(decoder.counts.pdus == 2 * 0x0F00)
  }

  // MARK: - Sniffers

  static let address: [UInt8] = [0x2B, 0x4A, 0x65, 0x50]

  /// A data PDU of the link layer with a CRC.
  static func data(_ payload: [UInt8], kind: UInt8, isOdd: Bool) -> [UInt8] {
    address + [kind | (isOdd ? 8 : 0), UInt8(payload.count)] + payload + [0xC, 0xC, 0xC]
  }

  static func sniffed(
    _ octets: [UInt8], isFromCentral: Bool, isRight: Bool = true, isNordic: Bool
  ) -> [UInt8] {
    if isNordic {
      let flags: UInt8 = (isRight ? 1 : 0) | (isFromCentral ? 2 : 0)
      return [7] + Build.little16(10 + octets.count) + [3, 0, 0, 6, 10, flags, 12, 60, 0, 0]
        + Build.little32(0) + octets
    }
    let flags = 0x0401 | (isRight ? 0x0800 : 0) | (isFromCentral ? 2 << 7 : 3 << 7)
    return [12, 0xC4, 0, 0] + address + Build.little16(flags) + octets
  }

  @Test(arguments: [false, true]) func readsSnifferCaptures(_ isNordic: Bool) throws {
    let request = Build.l2cap([0x0A, 0x15, 0x00])
    let response = Build.l2cap([0x0B] + (0..<22))
    func seen(_ octets: [UInt8], _ isFromCentral: Bool, isRight: Bool = true) -> [UInt8] {
      Build.pcapRecord(
        Self.sniffed(octets, isFromCentral: isFromCentral, isRight: isRight, isNordic: isNordic))
    }
    let file = Build.pcap(
      isNordic ? 272 : 256,
      [
        // Advertising, then an empty PDU of each side.
        seen([0xD6, 0xBE, 0x89, 0x8E, 0, 6, 1, 2, 3, 4, 5, 6, 0, 0, 0], true),
        seen(Self.data([], kind: 1, isOdd: false), true),
        seen(Self.data([], kind: 1, isOdd: false), false),
        // A damaged PDU, its retransmission, and a second one without an acknowledgement.
        seen(Self.data(request, kind: 2, isOdd: true), true, isRight: false),
        seen(Self.data(request, kind: 2, isOdd: true), true),
        seen(Self.data(request, kind: 2, isOdd: true), true),
        // Two fragments with a control PDU between them.
        seen(Self.data(Array(response.prefix(10)), kind: 2, isOdd: true), false),
        seen(Self.data([0x0C, 9, 0, 0, 0, 0], kind: 3, isOdd: false), true),
        seen(Self.data(Array(response.dropFirst(10)), kind: 1, isOdd: false), false),
      ])
    var decoder = CaptureDecoder()
    let found = try CaptureReaderTests.records(file).compactMap { decoder.decode($0) }
    #expect(found.map(\.octets) == [[0x0A, 0x15, 0x00], [0x0B] + (0..<22)])
    #expect(found.map(\.isSent) == [true, false])
    #expect(found.map(\.record) == [5, 9])
    #expect(found.map { "\($0.connection)" } == ["0x50654A2B", "0x50654A2B"])
    #expect(decoder.counts.linkLayer == 4)
    #expect(decoder.counts.cut == 1)
    #expect(decoder.counts.repetitions == 1)
  }

  @Test func countsEncryptedPDUs() throws {
    var octets = Self.sniffed(
      Self.data([1, 2, 3, 4, 5, 6, 7, 8], kind: 2, isOdd: true), isFromCentral: true, isNordic: true
    )
    octets[8] |= 4
    var decoder = CaptureDecoder()
    let records = try CaptureReaderTests.records(Build.pcap(272, [Build.pcapRecord(octets)]))
    #expect(records.allSatisfy { decoder.decode($0) == nil })
    #expect(decoder.counts.encrypted == 1)
  }

  /// A PDU whose header has a third octet that its length does not count.
  @Test func skipsConstantToneExtensionInfo() throws {
    let pdu = Build.l2cap([0x0A, 0x15, 0x00])
    let octets = Self.address + [2 | 0x20, UInt8(pdu.count), 0x14] + pdu + [1, 2, 3]
    let record = Self.sniffed(octets, isFromCentral: true, isNordic: false)
    var decoder = CaptureDecoder()
    let found = try CaptureReaderTests.records(Build.pcap(256, [Build.pcapRecord(record)]))
      .compactMap { decoder.decode($0) }
    #expect(found.map(\.octets) == [[0x0A, 0x15, 0x00]])
  }

  // MARK: Enhanced bearers

  private static func signal(_ octets: [UInt8], isSent: Bool) -> (isSent: Bool, octets: [UInt8]) {
    (isSent, Build.h4(octets, isSent: isSent, channel: 5))
  }

  private static func frame(
    _ channel: Int, _ octets: [UInt8], isSent: Bool
  ) -> (isSent: Bool, octets: [UInt8]) {
    (isSent, Build.h4(octets, isSent: isSent, channel: channel))
  }

  /// Two channels of one L2CAP_CREDIT_BASED_CONNECTION_REQ, of which the peer refuses the second, and one
  /// that the peer opens. Each end sends to the identifier of the other.
  @Test func enhancedBearersAreKnownByTheirOpening() throws {
    let (pdus, counts) = try Self.decode([
      Self.signal([0x17, 1, 12, 0, 0x27, 0, 100, 0, 80, 0, 1, 0, 0x41, 0, 0x42, 0], isSent: true),
      Self.signal([0x18, 1, 12, 0, 200, 0, 80, 0, 1, 0, 4, 0, 0x50, 0, 0, 0], isSent: false),
      Self.signal([0x17, 1, 10, 0, 0x27, 0, 70, 0, 80, 0, 1, 0, 0x60, 0], isSent: false),
      Self.signal([0x18, 1, 10, 0, 70, 0, 80, 0, 1, 0, 0, 0, 0x44, 0], isSent: true),
      Self.frame(0x50, [3, 0, 0x0A, 3, 0], isSent: true),
      Self.frame(0x41, [3, 0, 0x0B, 1, 2], isSent: false),
      Self.frame(0x60, [1, 0, 0x1E], isSent: true),
      Self.frame(0x44, [3, 0, 0x1D, 3, 0], isSent: false),
      // The identifiers of the other direction, and one that was refused.
      Self.frame(0x41, [1, 0, 0x1E], isSent: true), Self.frame(0x42, [1, 0, 0x1E], isSent: false),
      // Not ATT.
      Self.signal([0x17, 2, 10, 0, 0x80, 0, 70, 0, 80, 0, 1, 0, 0x43, 0], isSent: true),
      Self.signal([0x18, 2, 10, 0, 70, 0, 80, 0, 1, 0, 0, 0, 0x53, 0], isSent: false),
      Self.frame(0x53, [1, 0, 0x1E], isSent: true),
      // Closed by its opener.
      Self.signal([0x06, 3, 4, 0, 0x50, 0, 0x41, 0], isSent: true),
      Self.frame(0x50, [1, 0, 0x1E], isSent: true), Self.frame(0x41, [1, 0, 0x1E], isSent: false),
    ])
    #expect(pdus.map(\.bearer) == [2, 2, 5, 5])
    #expect(pdus.map(\.octets) == [[0x0A, 3, 0], [0x0B, 1, 2], [0x1E], [0x1D, 3, 0]])
    #expect(pdus.map(\.mtu) == [100, 100, 70, 70])
    #expect(counts.otherChannels == [5: 7, 0x41: 2, 0x42: 1, 0x50: 1, 0x53: 1])
    #expect(counts.malformed == 0 && counts.withoutEnd == 0)
  }

  private static let opening = [
    signal([0x14, 1, 10, 0, 0x27, 0, 0x40, 0, 64, 0, 64, 0, 1, 0], isSent: true),
    signal([0x15, 1, 10, 0, 0x40, 0, 64, 0, 64, 0, 1, 0, 0, 0], isSent: false),
  ]

  /// An SDU in several K-frames, while those of the other direction and of another bearer go on.
  @Test func framesOfAnSDUAreJoined() throws {
    let (pdus, counts) = try Self.decode(
      Self.opening + [
        Self.frame(0x40, [5, 0, 0x0B, 1], isSent: false),
        Self.frame(0x40, [1, 0, 0x1E], isSent: true),
        (false, Build.h4([0x1D, 3, 0], isSent: false)),
        Self.frame(0x40, [2, 3], isSent: false), Self.frame(0x40, [4], isSent: false),
        // Longer than it says, too short for a length, and without an end.
        Self.frame(0x40, [1, 0, 0x0B, 1], isSent: false), Self.frame(0x40, [1], isSent: false),
        Self.frame(0x40, [9, 0, 0x0B], isSent: false),
      ])
    #expect(pdus.map(\.octets) == [[0x1E], [0x1D, 3, 0], [0x0B, 1, 2, 3, 4]])
    #expect(pdus.map(\.bearer) == [1, 0, 1])
    #expect((counts.malformed, counts.withoutEnd) == (2, 1))
  }

  @Test func reconfigurationRaisesTheMTU() throws {
    let read = Self.frame(0x40, [3, 0, 0x0A, 3, 0], isSent: true)
    let (pdus, _) = try Self.decode(
      Self.opening + [
        read, Self.signal([0x19, 2, 6, 0, 200, 0, 64, 0, 0x40, 0], isSent: true), read,
        Self.signal([0x19, 2, 6, 0, 150, 0, 64, 0, 0x40, 0], isSent: false), read,
        // A new connection has none.
        Self.event(Build.disconnected(0x40)), Self.event(Build.connected(0x40)), read,
      ])
    #expect(pdus.map(\.mtu) == [64, 64, 150])
  }

  /// Requests without responses, and as many incomplete SDUs as there are connections, are bounded.
  @Test func bearersAreBounded() throws {
    var h4: [(isSent: Bool, octets: [UInt8])] = []
    for handle in 0..<200 {
      for (isSent, octets) in Self.opening + [Self.frame(0x40, [9, 0, 0x0B], isSent: true)] {
        var octets = octets
        (octets[1], octets[2]) = (UInt8(handle), octets[2])
        h4.append((isSent, octets))
      }
    }
    for number in UInt8.min...UInt8.max {
      h4.append(
        Self.signal([0x17, number, 10, 0, 0x27, 0, 70, 0, 80, 0, 1, 0, 0x40, 0], isSent: true))
    }
    var decoder = CaptureDecoder()
    for record in try Self.records(h4) { #expect(decoder.decode(record) == nil) }
    #expect(decoder.sdus.count == CaptureDecoder.partLimit)
    decoder.finish()
    #expect(decoder.counts.withoutEnd == 200)
  }
}
