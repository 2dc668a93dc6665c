import AttoLinks
import TestSupport
import Testing

@testable import AttoDiagnosis

/// Datagrams of the kernel's monitor, good and bad.
@Suite(.oneByOne) struct MonitorRecordTests {
  @Test func aDatagram() {
    let datagram: [UInt8] = [4, 0, 1, 0, 3, 0, 0x40, 0x20, 0x07]
    #expect(
      MonitorRecord(datagram[...], length: 9, time: 7)
        == MonitorRecord(kind: 4, adapter: 1, octets: [0x40, 0x20, 0x07], time: 7))
    #expect(
      MonitorRecord([12, 0, 0xFF, 0xFF, 0, 0], length: 6, time: 0)
        == MonitorRecord(kind: 12, adapter: 0xFFFF, octets: [], time: 0))
  }

  @Test func recordsThatAreCut() {
    // As much as there was room for.
    let whole = MonitorRecord.longestContent
    let head: [UInt8] = [5, 0, 0, 0, 0xFF, 0xFF]
    let record = MonitorRecord(
      (head + [UInt8](repeating: 1, count: whole))[...], length: whole + 6, time: 0)
    #expect(record?.octets.count == whole && record?.missing == 0)
    let cut = MonitorRecord((head + [1, 2, 3])[...], length: whole + 6, time: 0)
    #expect(cut?.octets == [1, 2, 3] && cut?.missing == whole - 3)
    // What is beyond the stated length is not its.
    let long = MonitorRecord([5, 0, 0, 0, 1, 0, 9, 8], length: 8, time: 0)
    #expect(long?.octets == [9] && long?.missing == 0)
    for count in 0..<6 {
      #expect(MonitorRecord(head[..<count], length: count, time: 0) == nil)
    }
  }
}

/// The peers of links, from HCI events.
@Suite(.oneByOne) struct MonitoredPeersTests {
  static let peer = BluetoothAddress("00:AA:01:01:00:01")!

  static func complete(
    _ subevent: UInt8 = 0x01, handle: UInt16 = 0x40, kind: UInt8 = 0, status: UInt8 = 0
  ) -> [UInt8] {
    [0x3E, 19, subevent, status, UInt8(handle & 0xFF), UInt8(handle >> 8), 0, kind]
      + peer.littleEndian + [0x1E, 0, 2, 0, 0x2A, 0, 0]
  }

  static func event(_ octets: [UInt8], adapter: UInt16 = 0) -> MonitorRecord {
    MonitorRecord(kind: 3, adapter: adapter, octets: octets, time: 0)
  }

  @Test(arguments: [UInt8(0x01), 0x0A, 0x29]) func aLinksLife(_ subevent: UInt8) {
    var peers = MonitoredPeers()
    peers.read(Self.event(Self.complete(subevent)))
    #expect(peers[0, 0x40] == Self.peer)
    #expect(peers[1, 0x40] == nil && peers[0, 0x41] == nil)
    // Another's end, one that failed, and its own.
    peers.read(Self.event([0x05, 4, 0, 0x41, 0, 0x13]))
    peers.read(Self.event([0x05, 4, 0x0C, 0x40, 0, 0x13]))
    peers.read(Self.event([0x05, 4, 0, 0x40, 0, 0x13], adapter: 1))
    #expect(peers[0, 0x40] == Self.peer)
    peers.read(Self.event([0x05, 4, 0, 0x40, 0, 0x13]))
    #expect(peers[0, 0x40] == nil)
  }

  @Test func kindsOfAddressesAndAdaptersThatGo() {
    var peers = MonitoredPeers()
    for (kind, wanted) in [
      (UInt8(0), BluetoothAddress.Kind.public), (1, .random), (2, .public), (3, .random),
    ] {
      peers.read(Self.event(Self.complete(kind: kind), adapter: UInt16(kind)))
      #expect(peers[UInt16(kind), 0x40]?.kind == wanted)
    }
    // DEL_INDEX and CLOSE_INDEX.
    peers.read(MonitorRecord(kind: 1, adapter: 0, octets: [], time: 0))
    peers.read(MonitorRecord(kind: 9, adapter: 1, octets: [], time: 0))
    #expect(peers[0, 0x40] == nil && peers[1, 0x40] == nil && peers[2, 0x40] != nil)
  }

  @Test func whatIsNoEvent() {
    var peers = MonitoredPeers()
    let whole = Self.complete()
    for count in 0..<14 { peers.read(Self.event(Array(whole[..<count]))) }
    peers.read(Self.event(Self.complete(status: 0x3E)))
    peers.read(Self.event(Self.complete(kind: 4)))
    peers.read(Self.event(Self.complete(0x02)))
    // ACL data that looks like one.
    peers.read(MonitorRecord(kind: 5, adapter: 0, octets: whole, time: 0))
    #expect(peers[0, 0x40] == nil)
    for count in 0..<5 { peers.read(Self.event(Array([0x05, 4, 0, 0x40, 0][..<count]))) }
  }

  @Test func linksBeyondTheLimit() {
    var peers = MonitoredPeers()
    for number in 0..<MonitoredPeers.limit {
      peers.read(
        Self.event(Self.complete(handle: UInt16(number & 0xFF)), adapter: UInt16(number >> 8)))
    }
    #expect(peers[0, 0] != nil && peers[15, 255] != nil)
    peers.read(Self.event(Self.complete(), adapter: 99))
    #expect(peers[99, 0x40] != nil && peers[0, 0] == nil)
  }
}
