import AttoATT
import CAttoLinux
import AttoEventLoop
import Glibc
import AttoLinks
import TestSupport
import Testing

@testable import AttoRadio
@testable import AttoVirtualRadio

/// Enhanced ATT bearers on the virtual air.
@Suite(.timeLimit(.minutes(5)), .oneByOne) struct AirBearerTests {
  let air: Air
  init() throws { air = Air() }

  /// A link, encrypted unless `level` is low, whose peripheral accepts bearers.
  private func pair(
    _ level: SecurityLevel = .medium, limit: Int = 5, mtu: Int = 100, timing: String? = nil
  ) async throws -> (central: End, peripheral: End) {
    let radio = try air.adapter("Strap")
    let advertisement = try await radio.advertise(strap())
    let phone = try air.adapter("Phone")
    let connected = try await phone.connect(
      to: .address(radio.address), timing: try timing.map { try AirTiming($0) })
    let links = advertisement.links.makeAsyncIterator()
    let (central, peripheral) = (End(connected), End(try #require(await links.next())))
    await central.prepare()
    await peripheral.prepare()
    if level > .low {
      try await central.raise(level)
      await central.reach(level)
      await peripheral.reach(level)
    }
    try await peripheral.acceptBearers(limit, mtu: mtu)
    return (central, peripheral)
  }

  private func refusal(_ body: () async throws -> some Any) async -> ChannelRefusal? {
    do {
      _ = try await body()
    } catch RadioError.channelRefused(_, psm: 0x27, let refusal) {
      return refusal
    } catch {}
    return nil
  }

  @Test(arguments: [nil, "interval=7.5ms"]) func fiveBearersInOneRequest(
    timing: String?
  ) async throws {
    let (central, peripheral) = try await pair(timing: timing)
    let near = try await central.openBearers(5, mtu: 200)
    let far = await peripheral.bearers(5)
    try #require(near.count == 5 && far.count == 5)
    for (index, (one, other)) in zip(near, far).enumerated() {
      #expect(await one.enhancedMTU == 100)
      #expect(await other.enhancedMTU == 100)
      #expect(await other.security.level == .medium)
      let pdu = [UInt8](repeating: UInt8(index), count: 100)
      try await one.send(pdu)
      #expect(try await other.receive() == pdu)
      try await other.send([UInt8](repeating: 9, count: 200))
      #expect(try await one.receive()?.count == 200)
      let error = await #expect(throws: LinkError.self) {
        try await one.send(pdu + [0])
      }
      #expect(error?.errno == EMSGSIZE)
    }
    // One ends, with what it sent before. The others go on.
    try await near[2].send([7])
    await near[2].close()
    #expect(try await far[2].receive() == [7])
    #expect(try await far[2].receive() == nil)
    await far[2].close()
    for index in [0, 1, 3, 4] {
      try await near[index].send([UInt8(index)])
      #expect(try await far[index].receive() == [UInt8(index)])
    }
    try await central.send([0x0A, 3, 0])
    #expect(try await peripheral.receive() == [0x0A, 3, 0])
    // There is room for one again, and no more.
    let more = try await central.openBearers(3, mtu: 64)
    #expect(more.count == 1)
    #expect(await refusal { try await central.openBearers(1, mtu: 64) } == .noResources)
  }

  @Test func aLinkWithoutEncryptionHasNone() async throws {
    let (central, peripheral) = try await pair(.low)
    #expect(await refusal { try await central.openBearers(5, mtu: 64) } == .insufficientEncryption)
    #expect(
      await refusal { try await peripheral.openBearers(1, mtu: 64) } == .insufficientEncryption)
    try await central.raise(.medium)
    await central.reach(.medium)
    #expect(try await central.openBearers(5, mtu: 64).count == 5)
    // The central accepts none.
    #expect(await refusal { try await peripheral.openBearers(1, mtu: 64) } == .unknownPSM)
  }

  @Test func anMTUGrows() async throws {
    let (central, peripheral) = try await pair(mtu: 64)
    let near = try #require(try await central.openBearers(1, mtu: 64).first)
    let far = await peripheral.bearers(1)[0]
    try await far.raiseMTU(500)
    // Until the peer knows, nothing is sent that it would answer with the earlier MTU.
    #expect(try await near.raiseMTU(300, andSend: [1]) == .wouldBlock)
    try await near.sendWhenReady([2])
    #expect(try await far.receive() == [2])
    while await near.enhancedMTU != 300 { await Task.yield() }
    while await far.enhancedMTU != 300 { await Task.yield() }
    try await near.send([UInt8](repeating: 1, count: 500))
    #expect(try await far.receive()?.count == 500)
    // Never reduced, and not for a link that is no bearer.
    try await far.raiseMTU(100)
    #expect(await far.enhancedMTU == 300)
    await #expect(throws: LinkError.self) { try await central.raiseMTU(100) }
  }

  @Test(arguments: [nil, "interval=7.5ms"]) func aFloodedBearerDoesNotStopOthers(
    timing: String?
  ) async throws {
    let (central, peripheral) = try await pair(timing: timing)
    let near = try await central.openBearers(2, mtu: 64)
    try #require(near.count == 2)
    let far = await peripheral.bearers(2)
    let pdu = [UInt8](repeating: 1, count: 100)
    var sent = 0
    while sent < 3000, try await near[0].send(pdu) == .sent { sent += 1 }
    #expect(sent < 3000)
    try await near[1].sendWhenReady([2])
    #expect(try await far[1].receive() == [2])
    for _ in 0..<sent { #expect(try await far[0].receive() == pdu) }
    try await near[0].sendWhenReady([3])
    #expect(try await far[0].receive() == [3])
  }

  @Test(arguments: [true, false]) func bearersEndWithTheirLink(isOrderly: Bool) async throws {
    let (central, peripheral) = try await pair()
    let near = try await central.openBearers(3, mtu: 64)
    try #require(near.count == 3)
    let far = await peripheral.bearers(3)
    try await near[1].send([5])
    if isOrderly { await central.close() } else { await central.abandon() }
    #expect(try await far[1].receive() == [5])
    for end in far + near { #expect(try await end.receive() == nil) }
    await #expect(throws: LinkError.self) { try await near[0].send([1]) }
  }

  @Test func aSilentPeerTimesOut() async throws {
    let peer = try await raw()
    await #expect(throws: RadioError.timedOut(peer.end.connected.peer, after: .milliseconds(20))) {
      try await peer.end.openBearers(2, mtu: 64, timeout: .milliseconds(20))
    }
    // What comes later is closed.
    let (own, theirs) = try bearer()
    peer.socket.send([15, 1, 0x05, 64, 0], passing: theirs)
    _ = Glibc.close(theirs)
    peer.socket.send([16, 1, 0])
    #expect(own.isHungUp())
  }

  @Test func requestsAreLimited() async throws {
    let peer = try await raw()
    let end = peer.end
    let waiting = (0..<AirLink.bearerRequestLimit).map { _ in
      Task(executorPreference: end.loop.tasks) { try await end.openBearers(1, mtu: 64) }
    }
    for number in 1...UInt8(waiting.count) {
      #expect(peer.socket.receive()?.octets == [14, number, 1, 64, 0])
    }
    #expect(await refusal { try await end.openBearers(1, mtu: 64) } == .noResources)
    peer.socket.send([16, 2, 4])
    await #expect(
      throws: RadioError.channelRefused(end.connected.peer, psm: 0x27, .noResources)
    ) {
      _ = try await waiting[1].value
    }
    await end.close()
    for index in [0, 2, 3] {
      await #expect(throws: RadioError.self) { _ = try await waiting[index].value }
    }
  }

  // MARK: Hostile peers

  /// An encrypted link whose central is a socket of the test; the radio accepts two bearers.
  private func raw(
    encrypts: Bool = true
  ) async throws -> SilentPeer {
    let air = Air()
    let peer = try await SilentPeer(of: air.adapter("Strap"), on: air)
    _ = peer.socket.receive()
    if encrypts {
      peer.socket.send([4, 2, 16])
      #expect(peer.socket.receive()?.octets == [5, 2, 16])
    }
    try await peer.end.acceptBearers(2, mtu: 80)
    return peer
  }

  private func bearer() throws -> (own: RawSocket, theirs: Int32) {
    var ends: [Int32] = [-1, -1]
    try #require(clinux_seqpacket_pair(&ends) == 0)
    return (RawSocket(ends[0]), ends[1])
  }

  @Test func requestsAreAnsweredWithTheReason() async throws {
    let clear = try await raw(encrypts: false)
    clear.socket.send([14, 1, 5, 64, 0])
    #expect(clear.socket.receive()?.octets == [16, 1, 8])
    let peer = try await raw()
    for octets in [[14, 1, 6, 64, 0], [14, 1, 0, 64, 0], [14, 1, 1, 63, 0], [14, 1, 255, 0, 0]]
      as [[UInt8]]
    {
      peer.socket.send(octets)
      #expect(peer.socket.receive()?.octets == [16, 1, 12], "\(octets)")
    }
    // Five are asked for, two are given.
    peer.socket.send([14, 9, 5, 64, 0])
    var open: [RawSocket] = []
    for number in [0x80, 0x81] as [UInt8] {
      let answer = try #require(peer.socket.receive())
      #expect(answer.octets == [15, 9, number, 80, 0] && answer.passed >= 0)
      open.append(RawSocket(answer.passed))
    }
    #expect(peer.socket.receive()?.octets == [16, 9, 4])
    for _ in 0..<300 {
      peer.socket.send([14, 9, 5, 64, 0])
      #expect(peer.socket.receive()?.octets == [16, 9, 4])
    }
    #expect(await peer.end.bearers(2).count == 2)

    // Reconfiguration: growing, shrinking, too small, of no bearer.
    for (octets, result) in [
      ([17, 0x80, 100, 0], 0), ([17, 0x80, 99, 0], 1), ([17, 0x80, 63, 0], 4),
      ([17, 0x82, 100, 0], 3), ([17, 0x01, 100, 0], 3),
    ] as [([UInt8], UInt8)] {
      peer.socket.send(octets)
      #expect(peer.socket.receive()?.octets == [18, octets[1], result], "\(octets)")
    }
    let ends = await peer.end.bearers(2)
    #expect(await ends[0].enhancedMTU == 80)
    #expect(await ends[1].enhancedMTU == 64)

    // A PDU over the MTU ends its bearer only.
    open[0].send([UInt8](repeating: 0, count: 81))
    await #expect(throws: LinkError.self) { try await ends[0].receive() }
    #expect(try await ends[0].receive() == nil)
    #expect(open[0].isHungUp())
    open[1].send([UInt8](repeating: 0, count: 80))
    #expect(try await ends[1].receive()?.count == 80)
  }

  @Test(arguments: [true, false]) func aRequestMayComeBeforeTheLinkIsUsed(
    isAccepted: Bool
  ) async throws {
    let air = Air()
    let peer = try await SilentPeer(of: air.adapter("Strap"), on: air, isUsed: false)
    _ = peer.socket.receive()
    peer.socket.send([14, 1, 2, 64, 0])
    // This answer is the first one, so the request waits.
    peer.socket.send([4, 2, 16])
    #expect(peer.socket.receive()?.octets == [5, 2, 16])
    guard isAccepted else {
      await peer.end.prepare()
      return #expect(peer.socket.receive()?.octets == [16, 1, 2])
    }
    try await peer.end.acceptBearers(2, mtu: 80)
    for number in [0x80, 0x81] as [UInt8] {
      let answer = try #require(peer.socket.receive())
      #expect(answer.octets == [15, 1, number, 80, 0])
      _ = RawSocket(answer.passed)
    }
    #expect(peer.socket.receive()?.octets == [16, 1, 0])
  }

  /// Nobody uses the link in ``AirLink/attachTime``.
  @Test func aRequestDoesNotWaitForEver() async throws {
    let air = Air()
    let peer = try await SilentPeer(of: air.adapter("Strap"), on: air, isUsed: false)
    _ = peer.socket.receive()
    for number in 1...UInt8(AirLink.bearerRequestLimit) {
      peer.socket.send([14, number, 1, 64, 0])
    }
    // One more than wait is refused at once.
    peer.socket.send([14, 9, 1, 64, 0])
    #expect(peer.socket.receive()?.octets == [16, 9, 2])
    for number in 1...UInt8(AirLink.bearerRequestLimit) {
      #expect(peer.socket.receive()?.octets == [16, number, 2])
    }
  }

  @Test func protocolViolationsEndTheLink() async throws {
    for (octets, brings) in [
      ([14], false), ([14, 1, 1, 64], false), ([14, 1, 1, 64, 0, 0], false),
      ([14, 1, 1, 64, 0], true), ([15, 1, 1, 64, 0], false), ([15, 1, 1, 64, 0], true),
      ([16, 1, 0], false), ([16, 1, 1], false), ([17, 1, 64], false), ([18, 0x80, 0], false),
      ([18, 0x80, 2], false), ([18, 0x80], false),
    ] as [([UInt8], Bool)] {
      let peer = try await raw()
      peer.socket.send([14, 7, 1, 64, 0])
      let answer = try #require(peer.socket.receive())
      let open = RawSocket(answer.passed)
      let (own, theirs) = try bearer()
      peer.socket.send(octets, passing: brings ? theirs : nil)
      _ = Glibc.close(theirs)
      await #expect(throws: LinkError.self, "\(octets)") { try await peer.end.receive() }
      #expect(peer.socket.isHungUp() && open.isHungUp() && own.isHungUp(), "\(octets)")
    }
  }

  /// Wrong answers to a request of this end.
  @Test func answersMustFitTheRequest() async throws {
    for (octets, isWhole) in [
      ([15, 2, 1, 64, 0], true), ([15, 1, 0x85, 64, 0], true), ([15, 1, 1, 63, 0], true),
      ([15, 1, 1, 64, 0], false), ([16, 2, 0], false),
    ] as [([UInt8], Bool)] {
      let peer = try await raw()
      let end = peer.end
      let asked = Task(executorPreference: end.loop.tasks) {
        try await end.openBearers(1, mtu: 70)
      }
      #expect(peer.socket.receive()?.octets == [14, 1, 1, 70, 0])
      let (own, theirs) = try bearer()
      let stream = clinux_stream_socket(AF_UNIX, 0)
      peer.socket.send(octets, passing: octets[0] == 16 ? nil : isWhole ? theirs : stream)
      _ = Glibc.close(theirs)
      _ = Glibc.close(stream)
      await #expect(throws: RadioError.notConnected(peer.end.connected.peer), "\(octets)") {
        _ = try await asked.value
      }
      #expect(peer.socket.isHungUp() && own.isHungUp(), "\(octets)")
    }
  }

  @Test func moreBearersThanWereAskedForEndTheLink() async throws {
    let peer = try await raw()
    let end = peer.end
    let asked = Task(executorPreference: end.loop.tasks) {
      try await end.openBearers(2, mtu: 70)
    }
    #expect(peer.socket.receive()?.octets == [14, 1, 2, 70, 0])
    for number in 1...3 as ClosedRange<UInt8> {
      let (_, theirs) = try bearer()
      peer.socket.send([15, 1, number, 64, 0], passing: theirs)
      _ = Glibc.close(theirs)
    }
    await #expect(throws: RadioError.notConnected(peer.end.connected.peer)) {
      _ = try await asked.value
    }
  }
}
