import Links
import Testing

@testable import Radio

/// Events of a controller as the monitor shows them, good and bad.
@Suite struct LinkTableTests {
  static let peer = BluetoothAddress("00:AA:01:01:00:01")!
  static let octets: [UInt8] = [0x01, 0x00, 0x01, 0x01, 0xAA, 0x00]
  /// Role, kind, address.
  static let central: [UInt8] = [0, 0] + octets
  /// 37.5 ms, 2 events, 420 ms.
  static let times: [UInt8] = [0x1E, 0, 2, 0, 0x2A, 0]
  static let complete: [UInt8] = [0x01, 0, 0x40, 0] + central + times + [0]

  static func event(_ code: UInt8, _ parameters: [UInt8]) -> [UInt8] {
    [3, 0, 0, 0] + (parameters.count + 2).octets(2) + [code, UInt8(parameters.count)] + parameters
  }

  @Test func aLinksLife() {
    var table = LinkTable()
    table.take(Self.event(0x3E, Self.complete))
    #expect(
      table[Self.peer] == AgreedParameters(interval: 30, latency: 2, supervisionTimeout: 42))
    #expect(table[Self.peer]?.intervalTime == .microseconds(37_500))
    #expect(table[Self.peer]?.supervisionTime == .milliseconds(420))
    table.take(Self.event(0x3E, [0x03, 0, 0x40, 0, 6, 0, 0, 0, 0xC8, 0]))
    table.take(Self.event(0x3E, [0x07, 0x40, 0, 251, 0, 0x48, 8, 27, 0, 0x48, 1]))
    table.take(Self.event(0x3E, [0x0C, 0, 0x40, 0, 2, 1]))
    let wanted = AgreedParameters(
      interval: 6, latency: 0, supervisionTimeout: 200,
      phy: LinkPHY(transmit: .twoMegabit, receive: .oneMegabit),
      dataLength: .init(transmit: 251, transmitTime: 2120, receive: 27, receiveTime: 328))
    #expect(table[Self.peer] == wanted)
    #expect(wanted.phy?.description == "2M out, 1M in")
    // What failed changes nothing, nor does another link's end.
    table.take(Self.event(0x3E, [0x03, 1, 0x40, 0, 9, 0, 0, 0, 0xC8, 0]))
    table.take(Self.event(0x3E, [0x0C, 0, 0x40, 0, 9, 9]))
    table.take(Self.event(0x05, [0, 0x41, 0, 0x13]))
    table.take(Self.event(0x05, [1, 0x40, 0, 0x13]))
    #expect(table[Self.peer] == wanted)
    table.take(Self.event(0x05, [0, 0x40, 0, 0x13]))
    #expect(table[Self.peer] == nil)
  }

  @Test func linksBeyondTheLimit() {
    var table = LinkTable()
    let peers = (0...UInt8(LinkTable.limit)).map { number in
      let octets = [number] + Self.octets.dropFirst()
      table.take(
        Self.event(0x3E, [0x01, 0, number, 0] + [0, 0] + octets + Self.times + [0]))
      return BluetoothAddress(littleEndian: octets, kind: .public)!
    }
    #expect(peers.count { table[$0] != nil } == LinkTable.limit)
    #expect(table[peers.last!] == nil)
    // One that is known keeps its place, and one that ends makes room.
    table.take(Self.event(0x3E, [0x03, 0, 0, 0, 6, 0, 0, 0, 0xC8, 0]))
    #expect(table[peers[0]]?.interval == 6)
    table.take(Self.event(0x05, [0, 0, 0, 0x13]))
    table.take(Self.event(0x3E, Self.complete))
    #expect(table[Self.peer] != nil)
  }

  @Test func enhancedEventsAndIdentities() {
    for subevent: UInt8 in [0x0A, 0x29] {
      var table = LinkTable()
      let parameters =
        [subevent, 0, 0x40, 0, 0, 3] + Self.octets + [UInt8](repeating: 9, count: 12) + Self.times
      table.take(Self.event(0x3E, parameters + [0, 0, 0, 0]))
      #expect(table[BluetoothAddress("00:AA:01:01:00:01/random")!]?.interval == 30)
      #expect(table[Self.peer] == nil)
    }
  }

  @Test func whatIsNoEvent() {
    var table = LinkTable()
    let whole = Self.event(0x3E, Self.complete)
    for count in 0..<whole.count { table.take(Array(whole[..<count])) }
    for count in 0..<Self.complete.count - 1 {
      table.take(Self.event(0x3E, Array(Self.complete[..<count])))
    }
    var failed = Self.complete
    failed[1] = 0x3E
    table.take(Self.event(0x3E, failed))
    #expect(table[Self.peer] == nil)
    for handle in 0..<200 {
      var one = Self.complete
      one[2] = UInt8(handle)
      one[6] = UInt8(handle)
      table.take(Self.event(0x3E, one))
    }
    #expect(table[BluetoothAddress("00:AA:01:01:00:3F")!] != nil)
    #expect(table[BluetoothAddress("00:AA:01:01:00:40")!] == nil)
  }
}
