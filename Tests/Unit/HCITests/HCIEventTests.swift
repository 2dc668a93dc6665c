import AttoHCI
import TestSupport
import Testing

/// HCI events about connections, whole and cut.
@Suite(.sideBySide) struct HCIEventTests {
  private static let address: [UInt8] = [0x01, 0x00, 0x01, 0x01, 0xAA, 0x00]
  /// 37.5 ms, 2 events, 420 ms.
  private static let times: [UInt8] = [0x1E, 0, 2, 0, 0x2A, 0]

  private static func connection(
    _ subevent: UInt8, status: UInt8 = 0, kind: UInt8 = 0
  ) -> [UInt8] {
    let privateAddresses = [UInt8](repeating: 9, count: subevent == 0x01 ? 0 : 12)
    return [0x3E, 19, subevent, status, 0x40, 0x20, 0, kind] + address + privateAddresses + times
  }

  private static let parameters = HCIEvent(
    [0x3E, 10, 0x03, 0, 0x40, 0, 0x1E, 0, 2, 0, 0x2A, 0])

  @Test(arguments: [UInt8(0x01), 0x0A, 0x29]) func connections(subevent: UInt8) {
    guard
      case .connectionComplete(handle: 0x40, let peer?, let parameters?) =
        HCIEvent(Self.connection(subevent)[...])
    else {
      Issue.record("no connection")
      return
    }
    #expect(peer.address == 0x00AA_0101_0001 && !peer.isRandom)
    #expect(parameters.interval == 30 && parameters.latency == 2)
    #expect(parameters.supervisionTimeout == 42)
    #expect(HCIEvent(Self.connection(subevent, status: 0x3E)[...]) == nil)
  }

  @Test func kindsOfAddresses() {
    let kinds: [Bool?] = (UInt8(0)..<5).map { kind in
      guard case .connectionComplete(_, let peer, _) = HCIEvent(Self.connection(1, kind: kind)[...])
      else { return nil }
      return peer?.isRandom
    }
    #expect(kinds == [false, true, false, true, nil])
  }

  @Test func aConnectionThatIsCutHasItsHandle() {
    let whole = Self.connection(0x01)
    for count in 0..<whole.count {
      let event = HCIEvent(whole[..<count])
      guard count >= 6 else {
        #expect(event == nil)
        continue
      }
      guard case .connectionComplete(handle: 0x40, let peer, nil) = event else {
        Issue.record("\(count): \(String(describing: event))")
        return
      }
      #expect((peer != nil) == (count >= 14))
    }
  }

  @Test func otherEvents() {
    #expect(HCIEvent([0x05, 4, 0, 0x40, 0, 0x13]) == .disconnectionComplete(handle: 0x40))
    #expect(HCIEvent([0x05, 4, 0x0C, 0x40, 0, 0x13]) == nil)
    #expect(
      HCIEvent([0x3E, 6, 0x0C, 0, 0x40, 0, 2, 1])
        == .phyUpdateComplete(handle: 0x40, transmit: 2, receive: 1))
    guard
      case .dataLengthChange(handle: 0x40, let length) = HCIEvent(
        [0x3E, 11, 0x07, 0x40, 0, 251, 0, 0x48, 8, 27, 0, 0x48, 1]),
      case .connectionUpdateComplete(handle: 0x40, let parameters) = Self.parameters
    else {
      Issue.record("not read")
      return
    }
    #expect(length.transmit == 251 && length.transmitTime == 2120)
    #expect(length.receive == 27 && length.receiveTime == 328)
    #expect(parameters.interval == 30)
    #expect(HCIEvent([0x3E, 1, 0x02]) == nil)
    #expect(HCIEvent([0x0E, 1, 0]) == nil)
  }

  @Test func endsOfCommands() {
    #expect(
      HCIEvent([0x0E, 6, 1, 0x03, 0x20, 0, 7, 9])
        == .commandEnded(opcode: 0x2003, status: 0, [7, 9]))
    #expect(HCIEvent([0x0E, 3, 1, 0x03, 0x20]) == nil)
    let status = [0x0F, 4, 0x1A, 1, 0x7E, 0x20] as [UInt8]
    #expect(HCIEvent(status[...]) == .commandEnded(opcode: 0x207E, status: 0x1A, []))
    for count in 0..<status.count { #expect(HCIEvent(status[..<count]) == nil) }
  }

  @Test func subratingAndFrameSpace() {
    let change: [UInt8] = [0x3E, 12, 0x23, 0, 0x40, 0, 10, 0, 1, 0, 3, 0, 0xA4, 1]
    guard case .subrateChange(handle: 0x40, let subrate) = HCIEvent(change[...]) else {
      Issue.record("not read")
      return
    }
    #expect((subrate.factor, subrate.latency, subrate.continuation) == (10, 1, 3))
    #expect(subrate.supervisionTimeout == 420)
    for count in 0..<change.count { #expect(HCIEvent(change[..<count]) == nil) }
    let space: [UInt8] = [0x3E, 10, 0x35, 0, 0x40, 0, 1, 60, 0, 2, 3, 0]
    #expect(HCIEvent(space[...]) == .frameSpaceUpdateComplete(handle: 0x40, space: 60))
    #expect(HCIEvent([0x3E, 10, 0x35, 0x1A, 0x40, 0, 1, 60, 0, 2, 3, 0]) == nil)
  }

  @Test(
    arguments: [
      [0x05, 4, 0, 0x40, 0], [0x3E, 10, 0x03, 0, 0x40, 0, 0x1E, 0, 2, 0, 0x2A, 0],
      [0x3E, 11, 0x07, 0x40, 0, 251, 0, 0x48, 8, 27, 0, 0x48, 1],
      [0x3E, 6, 0x0C, 0, 0x40, 0, 2, 1],
    ] as [[UInt8]]) func eventsThatAreCut(whole: [UInt8])
  {
    #expect(HCIEvent(whole[...]) != nil)
    for count in 0..<whole.count { #expect(HCIEvent(whole[..<count]) == nil) }
  }
}
