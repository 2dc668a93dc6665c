import AttoLinks
import CAttoLinux
import Glibc
import TestSupport
import Testing

@testable import AttoKernelRadio
@testable import AttoRadio

/// Datagrams of the monitor, valid and malformed.
@Suite(.oneByOne) struct LinkTableTests {
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
    table.read(Self.event(0x3E, Self.complete))
    let start = LinkPHY(transmit: .oneMegabit, receive: .oneMegabit)
    #expect(
      table[Self.peer]
        == AgreedParameters(interval: 30, latency: 2, supervisionTimeout: 42, phy: start))
    #expect(table[Self.peer]?.intervalTime == .microseconds(37_500))
    #expect(table[Self.peer]?.supervisionTime == .milliseconds(420))
    table.read(Self.event(0x3E, [0x03, 0, 0x40, 0, 6, 0, 0, 0, 0xC8, 0]))
    table.read(Self.event(0x3E, [0x07, 0x40, 0, 251, 0, 0x48, 8, 27, 0, 0x48, 1]))
    table.read(Self.event(0x3E, [0x0C, 0, 0x40, 0, 2, 1]))
    let wanted = AgreedParameters(
      interval: 6, latency: 0, supervisionTimeout: 200,
      phy: LinkPHY(transmit: .twoMegabit, receive: .oneMegabit),
      dataLength: .init(transmit: 251, transmitTime: 2120, receive: 27, receiveTime: 328))
    #expect(table[Self.peer] == wanted)
    #expect(wanted.phy?.description == "2M out, 1M in")
    #expect(table.change == LinkChange(peer: Self.peer, parameters: wanted))
    // Failures and the end of another link change nothing.
    table.read(Self.event(0x3E, [0x03, 1, 0x40, 0, 9, 0, 0, 0, 0xC8, 0]))
    table.read(Self.event(0x3E, [0x0C, 0, 0x40, 0, 9, 9]))
    table.read(Self.event(0x05, [0, 0x41, 0, 0x13]))
    table.read(Self.event(0x05, [1, 0x40, 0, 0x13]))
    #expect(table[Self.peer] == wanted && table.change == nil)
    table.read(Self.event(0x05, [0, 0x40, 0, 0x13]))
    #expect(table[Self.peer] == nil)
  }

  /// Of many changes that nobody takes the newest wait; the stream ends with the adapter.
  @Test func changesOfLinks() async throws {
    let ends = try FakeKernel.pair()
    defer { close(ends.1) }
    let (adapter, kernel) = try await FakeKernel.adapter(monitor: ends.0)
    // A controller that cannot read the strength of the signal.
    await kernel.answer(.getConnectionInformation, .status(.failed))
    let changes = try await adapter.linkChanges()
    let count = UInt16(Adapter.linkChangeLimit + 20)
    let beginning = Self.event(0x3E, Self.complete)
    #expect(clinux_send(ends.1, beginning, beginning.count) == beginning.count)
    for interval in 6..<6 + count {
      let update = Self.event(0x3E, [0x03, 0, 0x40, 0] + interval.octets(2) + [0, 0, 0xC8, 0])
      while clinux_send(ends.1, update, update.count) < 0 { await Task.yield() }
    }
    await adapter.waitForMonitor(Self.peer, interval: 5 + count)
    await adapter.close()
    var intervals: [UInt16] = []
    for await change in changes {
      #expect(change.peer == Self.peer)
      intervals.append(change.parameters.interval)
    }
    #expect(intervals == Array((26..<6 + count)))
    await #expect(throws: RadioError.closed) { _ = try await adapter.linkChanges() }
  }

  @Test func withoutTheRightNoChangesAreKnown() async throws {
    let (adapter, _) = try await FakeKernel.adapter()
    await #expect(throws: RadioError.self) { _ = try await adapter.linkChanges() }
    await adapter.close()
  }

  @Test func subratingAndCommands() throws {
    var table = LinkTable()
    table.read(Self.event(0x3E, Self.complete))
    #expect(table[Self.peer]?.subrate == nil)
    let ended = table.read(
      Self.event(0x3E, [0x23, 0, 0x40, 0, 10, 0, 1, 0, 3, 0, 0xA4, 1]))
    #expect(ended == nil)
    #expect(table[Self.peer]?.subrate == AgreedParameters.Subrate(factor: 10, continuation: 3))
    #expect(table[Self.peer]?.latency == 1)
    #expect(table[Self.peer]?.supervisionTimeout == 420)
    table.read(Self.event(0x3E, [0x35, 0, 0x40, 0, 0, 60, 0, 7, 3, 0]))
    #expect(table[Self.peer]?.frameSpace == 60)
    // The peer cannot; the controller's features.
    let status = table.read(Self.event(0x0F, [0x1A, 1, 0x7E, 0x20]))
    let refused = try #require(status)
    #expect(refused == (0x207E, 0x1A, []))
    let answer = table.read(Self.event(0x0E, [1, 0x03, 0x20, 0, 0xFF, 0, 0, 0, 0x60, 0, 0, 0]))
    let features = try #require(answer)
    #expect(features == (0x2003, 0, [0xFF, 0, 0, 0, 0x60, 0, 0, 0]))
  }

  /// A response to a request for a channel, on link 0x0040.
  static func response(_ result: UInt16, handle: UInt16 = 0x2040, code: UInt8 = 0x15) -> [UInt8] {
    let signal = [code, 7, 10, 0] + [UInt8](repeating: 0, count: 8) + result.octets(2)
    let frame = signal.count.octets(2) + [5, 0] + signal
    let packet = handle.octets(2) + frame.count.octets(2) + frame
    return [5, 0, 0, 0] + packet.count.octets(2) + packet
  }

  @Test func refusalsOfChannels() {
    var table = LinkTable()
    table.read(Self.event(0x3E, Self.complete))
    for result: UInt16 in [2, 4, 6, 4, 0, 11, 0x0102, 3] { table.read(Self.response(result)) }
    // Refused for security, then accepted with more.
    let told = (0..<8).map { _ in table.removeRefusal(by: Self.peer) }
    #expect(
      told == [
        .unknownPSM, .noResources, .noResources, .unacceptableParameters, .unspecified,
        .unspecified, nil, nil,
      ])
    table.read(Self.response(8))
    table.read(Self.response(0))
    #expect(table.removeRefusal(by: Self.peer) == nil)
    table.read(Self.response(5))
    let stranger = BluetoothAddress("00:AA:01:01:00:02")!
    #expect(table.removeRefusal(by: stranger) == nil)
    #expect(table.removeRefusal(by: Self.peer) == .insufficientAuthentication)
    // A link that was made before the monitor was opened.
    table.read(Self.response(4, handle: 0x2041))
    #expect(table.removeRefusal(by: Self.peer) == nil)
    #expect(table.removeRefusal(by: stranger) == .noResources)
    #expect(table.removeRefusal(by: stranger) == nil)
    table.read(Self.response(4, handle: 0x2041))
    table.read(Self.response(4))
    table.forgetRefusals()
    #expect(table.removeRefusal(by: Self.peer) == nil && table.removeRefusal(by: stranger) == nil)
    // Another signal, a later fragment, and truncated datagrams.
    table.read(Self.response(2, code: 0x16))
    table.read(Self.response(2, handle: 0x1040))
    let whole = Self.response(2)
    for count in 0..<whole.count { table.read(Array(whole[..<count])) }
    #expect(table.removeRefusal(by: Self.peer) == nil)
    for _ in 0..<100 { table.read(Self.response(2)) }
    var count = 0
    while table.removeRefusal(by: Self.peer) != nil { count += 1 }
    #expect(count == LinkTable.refusalLimit)
    // The end of the link removes them.
    table.read(Self.response(2))
    table.read(Self.event(0x05, [0, 0x40, 0, 0x13]))
    #expect(table.removeRefusal(by: Self.peer) == nil)
  }

  @Test func linksBeyondTheLimit() {
    var table = LinkTable()
    let peers = (0...UInt8(LinkTable.limit)).map { number in
      let octets = [number] + Self.octets.dropFirst()
      table.read(
        Self.event(0x3E, [0x01, 0, number, 0] + [0, 0] + octets + Self.times + [0]))
      return BluetoothAddress(littleEndian: octets, kind: .public)!
    }
    #expect(peers.count { table[$0] != nil } == LinkTable.limit)
    #expect(table[peers.last!] == nil)
    // A known link keeps its place, and one that ends makes room.
    table.read(Self.event(0x3E, [0x03, 0, 0, 0, 6, 0, 0, 0, 0xC8, 0]))
    #expect(table[peers[0]]?.interval == 6)
    table.read(Self.event(0x05, [0, 0, 0, 0x13]))
    table.read(Self.event(0x3E, Self.complete))
    #expect(table[Self.peer] != nil)
  }

  @Test func enhancedEventsAndIdentities() {
    for subevent: UInt8 in [0x0A, 0x29] {
      var table = LinkTable()
      let parameters =
        [subevent, 0, 0x40, 0, 0, 3] + Self.octets + [UInt8](repeating: 9, count: 12) + Self.times
      table.read(Self.event(0x3E, parameters + [0, 0, 0, 0]))
      let phy = table[BluetoothAddress("00:AA:01:01:00:01/random")!]?.phy
      #expect(phy == LinkPHY(transmit: .oneMegabit, receive: .oneMegabit))
      #expect(table[BluetoothAddress("00:AA:01:01:00:01/random")!]?.interval == 30)
      #expect(table[Self.peer] == nil)
    }
  }

  @Test func otherDatagramsAreIgnored() {
    var table = LinkTable()
    let whole = Self.event(0x3E, Self.complete)
    for count in 0..<whole.count { table.read(Array(whole[..<count])) }
    for count in 0..<Self.complete.count - 1 {
      table.read(Self.event(0x3E, Array(Self.complete[..<count])))
    }
    var failed = Self.complete
    failed[1] = 0x3E
    table.read(Self.event(0x3E, failed))
    #expect(table[Self.peer] == nil)
    for handle in 0..<200 {
      var one = Self.complete
      one[2] = UInt8(handle)
      one[6] = UInt8(handle)
      table.read(Self.event(0x3E, one))
    }
    #expect(table[BluetoothAddress("00:AA:01:01:00:3F")!] != nil)
    #expect(table[BluetoothAddress("00:AA:01:01:00:40")!] == nil)
  }
}

extension Adapter {
  /// Waits until the monitor has told of this interval.
  fileprivate func waitForMonitor(_ peer: BluetoothAddress, interval: UInt16) async {
    while (try? await connectionInformation(of: peer))??.parameters?.interval != interval {
      await Task.yield()
    }
  }
}
