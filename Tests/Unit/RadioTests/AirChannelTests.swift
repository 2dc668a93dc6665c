import AttoATT
import CAttoLinux
import AttoEventLoop
import Foundation
import Glibc
import AttoLinks
import TestSupport
import Testing

@testable import AttoRadio
@testable import AttoVirtualRadio

/// Channels beside ATT on the virtual air.
@Suite(.timeLimit(.minutes(5)), .oneByOne) struct AirChannelTests {
  let air: Air
  init() throws { air = Air() }

  /// Two radios with a link.
  private struct Two {
    let phone: Adapter
    let strap: Adapter
    let central: End
    let peripheral: End
    let advertisement: Advertisement
  }

  private func two(
    central: LinkSecurity = LinkSecurity(.fips), peripheral: LinkSecurity = LinkSecurity(.fips)
  ) async throws -> Two {
    let radio = try air.adapter("Strap", maximum: peripheral)
    let advertisement = try await radio.advertise(strap())
    let phone = try air.adapter("Phone", maximum: central)
    let connected = try await phone.connect(to: radio.address)
    let links = advertisement.links.makeAsyncIterator()
    let accepted = try #require(await links.next())
    return Two(
      phone: phone, strap: radio, central: End(connected), peripheral: End(accepted),
      advertisement: advertisement)
  }

  private func first(_ published: PublishedChannel) async throws -> Stream {
    var channels = published.channels.makeAsyncIterator()
    return Stream(try #require(await channels.next()))
  }

  @Test(arguments: [true, false]) func aMegabyteEachWayWithBackPressure(
    byCentral: Bool
  ) async throws {
    let two = try await two()
    let (asker, other) = byCentral ? (two.phone, two.strap) : (two.strap, two.phone)
    let published = try await other.publishChannel()
    #expect((0x80...0xFF).contains(published.psm))
    let near = Stream(try await asker.openChannel(published.psm, to: other.address))
    let far = try await first(published)
    #expect(near.channel.peer == other.address && far.channel.peer == asker.address)
    #expect(near.channel.psm == published.psm && far.channel.psm == published.psm)
    var generator = SplitMix64(seed: 6)
    let there = generator.octets(1 << 20)
    let back = generator.octets(1 << 20)
    // Nothing is received yet, so a limited part is accepted, and then none.
    var taken = 0
    while true {
      let count = try await near.sendNow(Array(there[taken...]))
      if count == 0 { break }
      taken += count
    }
    #expect(taken > 0 && taken < there.count)
    let rest = Array(there[taken...])
    async let sent: Void = near.send(rest)
    async let answered: Void = far.send(back)
    async let came = near.receive(all: back.count)
    #expect(try await far.receive(all: there.count) == there)
    #expect(try await came == back)
    try await sent
    try await answered
    // ATT still works.
    try await two.central.send([0x0A, 3, 0])
    #expect(try await two.peripheral.receive() == [0x0A, 3, 0])
  }

  @Test func octetsSentBeforeTheEndAreReceived() async throws {
    let two = try await two()
    let published = try await two.strap.publishChannel()
    let near = Stream(try await two.phone.openChannel(published.psm, to: two.strap.address))
    let far = try await first(published)
    try await near.send([1, 2, 3])
    await near.close()
    #expect(try await far.receive(all: 10) == [1, 2, 3])
    #expect(try await far.receive() == nil)
    await #expect(throws: LinkError.self) { try await far.send([1]) }
  }

  @Test func refusals() async throws {
    let two = try await two()
    await #expect(
      throws: RadioError.channelRefused(two.strap.address, psm: 0x80, .unknownPSM)
    ) {
      try await two.phone.openChannel(0x80, to: two.strap.address)
    }
    let published = try await two.strap.publishChannel()
    published.stop()
    // Runs on the loop after the stop.
    await #expect(
      throws: RadioError.channelRefused(two.strap.address, psm: published.psm, .unknownPSM)
    ) {
      try await two.phone.openChannel(published.psm, to: two.strap.address)
    }
    var channels = published.channels.makeAsyncIterator()
    #expect(await channels.next() == nil)
    let stranger = try air.adapter("Stranger")
    await #expect(throws: RadioError.notConnected(two.strap.address)) {
      try await stranger.openChannel(published.psm, to: two.strap.address)
    }
    await two.phone.close()
    await #expect(throws: RadioError.closed) {
      try await two.phone.openChannel(published.psm, to: two.strap.address)
    }
    await #expect(throws: RadioError.closed) { try await two.phone.publishChannel() }
  }

  @Test func psmsAreLimitedAndReused() async throws {
    let radio = try air.adapter("Strap")
    var all: [PublishedChannel] = []
    for _ in 0..<128 { all.append(try await radio.publishChannel()) }
    #expect(Set(all.map(\.psm)) == Set(0x80...0xFF))
    await #expect(throws: RadioError.tooManyChannels) { try await radio.publishChannel() }
    let freed = all.removeLast().psm
    #expect(try await radio.publishChannel().psm == freed)
    let wanted = try await radio.publishChannel(psm: 0x25)
    #expect(wanted.psm == 0x25)
    await #expect(throws: RadioError.tooManyChannels) { try await radio.publishChannel(psm: 0x25) }
  }

  @Test func waitingChannelsAreLimited() async throws {
    let two = try await two()
    let published = try await two.strap.publishChannel()
    var open: [Channel] = []
    for _ in 0..<PublishedChannel.queueLimit {
      open.append(try await two.phone.openChannel(published.psm, to: two.strap.address))
    }
    await #expect(
      throws: RadioError.channelRefused(two.strap.address, psm: published.psm, .noResources)
    ) {
      try await two.phone.openChannel(published.psm, to: two.strap.address)
    }
    #expect(open.count == 16)
  }

  @Test func channelsOfALinkAreLimited() async throws {
    let two = try await two()
    let published = try await two.strap.publishChannel()
    var near: [Channel] = []
    var far: [Channel] = []
    var channels = published.channels.makeAsyncIterator()
    for _ in 0..<AirLink.channelLimit {
      near.append(try await two.phone.openChannel(published.psm, to: two.strap.address))
      far.append(try #require(await channels.next()))
    }
    await #expect(
      throws: RadioError.channelRefused(two.strap.address, psm: published.psm, .noResources)
    ) {
      try await two.phone.openChannel(published.psm, to: two.strap.address)
    }
    near.removeLast()
    far.removeLast()
    _ = try await two.phone.openChannel(published.psm, to: two.strap.address)
  }

  @Test func aChannelThatRequiresEncryptionRaisesTheLink() async throws {
    let two = try await two()
    await two.central.prepare()
    await two.peripheral.prepare()
    let published = try await two.strap.publishChannel(requiresEncryption: true)
    let near = Stream(try await two.phone.openChannel(published.psm, to: two.strap.address))
    #expect(await two.central.security.level == .medium)
    #expect(await two.peripheral.security.level == .medium)
    let far = try await first(published)
    try await near.send([7])
    #expect(try await far.receive() == [7])
  }

  @Test func aRadioWithoutKeysIsRefused() async throws {
    let two = try await two(central: .low)
    let published = try await two.strap.publishChannel(requiresEncryption: true)
    await #expect(
      throws: RadioError.channelRefused(
        two.strap.address, psm: published.psm, .insufficientEncryption)
    ) {
      try await two.phone.openChannel(published.psm, to: two.strap.address)
    }
    // The link is still open.
    try await two.central.send([1])
    #expect(try await two.peripheral.receive() == [1])
  }

  @Test(arguments: [true, false]) func channelsEndWithTheirLink(isOrderly: Bool) async throws {
    let two = try await two()
    await two.central.prepare()
    await two.peripheral.prepare()
    let published = try await two.strap.publishChannel()
    let near = Stream(try await two.phone.openChannel(published.psm, to: two.strap.address))
    let far = try await first(published)
    try await near.send([1, 2])
    if isOrderly { await two.central.close() } else { await two.central.abandon() }
    #expect(try await far.receive(all: 9) == [1, 2])
    #expect(try await near.receive() == nil)
    await #expect(throws: RadioError.notConnected(two.strap.address)) {
      try await two.phone.openChannel(published.psm, to: two.strap.address)
    }
  }

  @Test func aReleasedChannelEndsTheOtherEnd() async throws {
    let two = try await two()
    let published = try await two.strap.publishChannel()
    var near: Channel? = try await two.phone.openChannel(published.psm, to: two.strap.address)
    let far = try await first(published)
    #expect(near != nil)
    near = nil
    #expect(try await far.receive() == nil)
  }

  @Test func cancellationAndTimeoutEndTheWait() async throws {
    let radio = try air.adapter("Strap")
    let phone = try air.adapter("Phone")
    // A peer that answers nothing.
    let peer = try await SilentPeer(of: radio, on: air)
    let link = peer.end.connected.peer
    await #expect(throws: RadioError.timedOut(link, after: .milliseconds(20))) {
      try await radio.openChannel(0x80, to: link, timeout: .milliseconds(20))
    }
    let task = Task { try await radio.openChannel(0x80, to: link, timeout: .seconds(600)) }
    task.cancel()
    await #expect(throws: RadioError.cancelled) { try await task.value }
    _ = (phone, peer)
  }

  // MARK: Hostile peers

  @Test func protocolViolationsEndTheLink() async throws {
    for octets in [
      [12], [12, 1], [12, 1, 0x80], [12, 1, 0x80, 0], [12, 1, 0x80, 0, 0], [13], [13, 1],
      [13, 1, 0], [13, 1, 2], [13, 1, 1], [13, 1, 0, 0],
    ] as [[UInt8]] {
      let air = Air()
      let radio = try air.adapter("Strap")
      let published = try await radio.publishChannel()
      let peer = try await SilentPeer(of: radio, on: air)
      peer.socket.send(octets)
      await #expect(throws: LinkError.self, "\(octets)") { try await peer.end.receive() }
      #expect(peer.socket.isHungUp(), "\(octets)")
      #expect(published.psm == 0x80)
    }
  }

  @Test func aDescriptorOfAnotherKindEndsTheLink() async throws {
    for path in ["/dev/null", "/dev/zero", ""] {
      let air = Air()
      let radio = try air.adapter("Strap")
      let published = try await radio.publishChannel()
      let peer = try await SilentPeer(of: radio, on: air)
      let other =
        path.isEmpty ? clinux_seqpacket_socket(AF_UNIX, 0) : clinux_open(path, O_RDWR, 0)
      peer.socket.send([12, 1, UInt8(published.psm), 0], passing: other)
      _ = Glibc.close(other)
      await #expect(throws: LinkError.self, "\(path)") { try await peer.end.receive() }
      #expect(peer.socket.isHungUp(), "\(path)")
    }
  }

  /// A greeting with a descriptor, which must be closed.
  @Test func anOfferBeforeTheLinkIsDisconnected() async throws {
    let radio = try air.adapter("Strap")
    let advertisement = try await radio.advertise(strap())
    var ends: [Int32] = [-1, -1]
    try #require(clinux_stream_pair(&ends) == 0)
    let raw = try RawSocket(connectingTo: air.file("d413f6fbacef.sock"))
    raw.send([12, 1, 0x80, 0], passing: ends[1])
    #expect(raw.isHungUp())
    _ = Glibc.close(ends[1])
    let watched = RawSocket(ends[0])
    #expect(watched.isHungUp())
    advertisement.stop()
  }

  /// A request may reuse an identifier. Each is answered; those beyond the limit are refused.
  @Test func aFloodOfOffersIsAnsweredWithinTheLimit() async throws {
    let radio = try air.adapter("Strap")
    let published = try await radio.publishChannel()
    let peer = try await SilentPeer(of: radio, on: air)
    _ = peer.socket.receive()
    var results: [UInt8: Int] = [:]
    for _ in 0..<500 {
      var ends: [Int32] = [-1, -1]
      try #require(clinux_stream_pair(&ends) == 0)
      peer.socket.send([12, 9, UInt8(published.psm), 0], passing: ends[1])
      _ = Glibc.close(ends[1])
      let answer = try #require(peer.socket.receive()).octets
      try #require(answer.starts(with: [13, 9]) && answer.count == 3)
      results[answer[2], default: 0] += 1
      _ = Glibc.close(ends[0])
    }
    #expect(results == [0: 16, 4: 484])
  }
}
