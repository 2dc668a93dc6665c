import AttoATT
import CAttoLinux
import AttoEventLoop
import Foundation
import Glibc
import AttoLinkTiming
import AttoLinks
import TestSupport
import Testing

@testable import AttoRadio
@testable import AttoVirtualRadio

/// Hostile input on control sockets, at both ends. Its sender is disconnected, and other links are not
/// affected.
@Suite(.timeLimit(.minutes(5)), .serialized, .oneByOne) struct HostileAirTests {
  let air: Air
  let hello: [UInt8] = [1, 1, 1, 2, 3, 4, 5, 0xC0]
  init() throws { air = Air() }

  private var socket: String { air.file("d413f6fbacef.sock") }

  /// Runs an attack on a peripheral, and checks that it still accepts connections.
  private func attackPeripheral(_ attack: (Adapter) async throws -> Void) async throws {
    let radio = try air.adapter("Strap")
    let advertisement = try await radio.advertise(strap())
    try await attack(radio)
    let phone = try air.adapter()
    let end = End(try await phone.connect(to: radio.address, timeout: .seconds(10)))
    let links = advertisement.links.makeAsyncIterator()
    let accepted = End(try #require(await links.next()))
    #expect(accepted.connected.peer == phone.address)
    try await end.send([1])
    #expect(try await accepted.receive() == [1])
  }

  @Test func everyShortGreetingIsDisconnected() async throws {
    try await attackPeripheral { _ in
      for first in 0...255 as ClosedRange<UInt8> {
        let raw = try RawSocket(connectingTo: socket)
        raw.send([first])
        try #require(raw.isHungUp(), "\(first)")
        for second in 0...255 as ClosedRange<UInt8> {
          let raw = try RawSocket(connectingTo: socket)
          raw.send([first, second])
          try #require(raw.isHungUp(), "\(first) \(second)")
        }
      }
      let raw = try RawSocket(connectingTo: socket)
      raw.send([])
      #expect(raw.isHungUp())
    }
  }

  @Test func randomGreetingsAreDisconnected() async throws {
    try await attackPeripheral { _ in
      for seed in 0..<3000 as Range<UInt64> {
        var generator = SplitMix64(seed: seed)
        var octets = generator.octets(.random(in: 1...300, using: &generator))
        // Most begin with a valid opcode. None is a hello.
        octets[0] = .random(in: 1...7, using: &generator)
        if octets[0] == 1, octets.count > 1, octets.count <= 72 { octets[1] = 2 }
        let raw = try RawSocket(connectingTo: socket)
        raw.send(octets)
        try #require(raw.isHungUp(), "seed \(seed)")
      }
    }
  }

  @Test func aHelloMustBeExact() async throws {
    try await attackPeripheral { _ in
      let tooLong = hello + [UInt8](repeating: 0x41, count: 65)
      for octets in [
        Array(hello.dropLast()), hello + [0xFF], tooLong, [1, 0] + hello.dropFirst(2),
      ] {
        let raw = try RawSocket(connectingTo: socket)
        raw.send(octets)
        #expect(raw.isHungUp(), "\(octets)")
      }
    }
  }

  @Test func unexpectedDescriptorsAreClosed() async throws {
    var ends: [Int32] = [-1, -1]
    try #require(clinux_seqpacket_pair(&ends) == 0)
    let watched = RawSocket(ends[0])
    try await attackPeripheral { _ in
      for octets in [hello, [2], [9]] {
        let raw = try RawSocket(connectingTo: socket)
        raw.send(octets, passing: ends[1])
        #expect(raw.isHungUp(), "\(octets)")
      }
      // The only copies left are the ones that were sent.
      _ = close(ends[1])
      #expect(watched.isHungUp())
    }
  }

  @Test func garbageOnALinkEndsIt() async throws {
    for octets in [
      [], [0], [1], [2], [3, 1], [4], [4, 0, 16], [4, 5, 16], [4, 2, 6], [4, 2, 17], [4, 1, 0],
      [5, 2, 16], [5, 1, 0], [6], [6, 1, 1], [7],
      [7] + AirTiming(LinkParameters(dataLength: 252)).octets,
      [7] + AirTiming(LinkParameters(phy: .codedS8, interval: 7_500_000)).octets, hello,
      [UInt8](repeating: 4, count: 300),
    ] as [[UInt8]] {
      let air = Air()
      let radio = try air.adapter("Strap")
      let advertisement = try await radio.advertise(strap())
      let raw = try RawSocket(connectingTo: air.file("d413f6fbacef.sock"))
      raw.send(hello + Array("Intruder".utf8))
      let links = advertisement.links.makeAsyncIterator()
      let end = End(try #require(await links.next()))
      #expect(end.connected.peerIdentity == "Intruder")
      #expect(end.connected.peer.digits == "C0:05:04:03:02:01")
      await end.prepare()
      let answer = try #require(raw.receive())
      #expect(answer.octets == [2] && answer.passed >= 0)
      let channel = RawSocket(answer.passed)
      channel.send([0x0A, 3, 0])
      raw.send(octets)
      #expect(try await end.receive() == [0x0A, 3, 0], "\(octets)")
      await #expect(throws: LinkError.self, "\(octets)") { try await end.receive() }
      #expect(await end.reason == .unspecified, "\(octets)")
      #expect(raw.isHungUp() && channel.isHungUp(), "\(octets)")
    }
  }

  @Test func aPeerThatNeverReadsIsDisconnected() async throws {
    let radio = try air.adapter("Strap")
    let advertisement = try await radio.advertise(strap())
    let raw = try RawSocket(connectingTo: socket)
    raw.send(hello)
    let links = advertisement.links.makeAsyncIterator()
    let end = End(try #require(await links.next()))
    await end.prepare()
    // Requests are answered until the queue of answers is full.
    while clinux_poll_now(raw.descriptor) & CLINUX_POLLHUP == 0 {
      raw.send([4, 2, 16])
      _ = clinux_poll(raw.descriptor, CLINUX_POLLOUT, 1000)
    }
    await #expect(throws: LinkError.self) { try await end.receive() }
    #expect(await end.security.level == .medium)
  }

  @Test func silentCentralsAreLimitedAndDisconnected() async throws {
    try await attackPeripheral { radio in
      await radio.shortenHandshakes(.milliseconds(500))
      let silent = try (0..<AirBackend.handshakeLimit + 40).map { _ in
        try RawSocket(connectingTo: socket)
      }
      #expect(await radio.handshakeCount <= AirBackend.handshakeLimit)
      for raw in silent { #expect(raw.isHungUp()) }
    }
  }

  /// Silent centrals that never leave do not stop others.
  @Test func silentCentralsMakeRoom() async throws {
    var silent: [RawSocket] = []
    try await attackPeripheral { radio in
      await radio.shortenHandshakes(.seconds(3600))
      silent = try (0..<AirBackend.handshakeLimit + 40).map { _ in
        try RawSocket(connectingTo: socket)
      }
      while await radio.handshakeCount < AirBackend.handshakeLimit { await Task.yield() }
      #expect(await radio.handshakeCount == AirBackend.handshakeLimit)
    }
    // The oldest were disconnected.
    #expect(silent[0].isHungUp())
    #expect(clinux_poll_now(silent[silent.count - 1].descriptor) & CLINUX_POLLHUP == 0)
  }

  @Test func waitingConnectionsAreLimited() async throws {
    let radio = try air.adapter("Strap")
    let advertisement = try await radio.advertise(strap())
    let air = air
    let total = Adapter.queueLimit * 3
    let centrals = Task {
      try await withThrowingTaskGroup(of: End.self) { group in
        for _ in 0..<total {
          group.addTask { End(try await air.adapter().connect(to: .name("Strap"))) }
        }
        var ends: [End] = []
        for try await end in group { ends.append(end) }
        return ends
      }
    }
    var taken: [ConnectedLink] = []
    for await link in advertisement.links {
      taken.append(link)
      if taken.count == total { break }
    }
    #expect(try await centrals.value.count == total)
    #expect(Set(taken.map(\.peer)).count == total)
  }

  /// A central beyond the limit of links gets an error, and existing links still work.
  @Test func linksAreLimited() async throws {
    let radio = try air.adapter("Strap")
    await radio.limitLinks(1)
    let advertisement = try await radio.advertise(strap())
    let links = advertisement.links.makeAsyncIterator()
    let first = End(try await air.adapter().connect(to: .name("Strap")))
    let accepted = End(try #require(await links.next()))
    try await first.send([1])
    #expect(try await accepted.receive() == [1])
    await #expect(throws: RadioError.refused(radio.address, .connectionLimitExceeded)) {
      try await air.adapter().connect(to: .name("Strap"))
    }
    try await first.send([2])
    #expect(try await accepted.receive() == [2])
  }

  // MARK: Against a central

  /// Connects to a scripted radio, which answers hello with `reply`.
  private func connect(
    timeout: Duration = .seconds(60), to reply: @escaping @Sendable (RawSocket) -> Void
  ) async throws -> ConnectedLink {
    let folder = try AirFolder(path: air.path)
    let address = BluetoothAddress.staticRandom(name: "Fake")
    let claim = try AirClaim(address, in: folder)
    try claim.advertise(AirRecord())
    let listener = claim.removeListener()
    let thread = Thread {
      guard clinux_poll(listener, CLINUX_POLLIN, 60_000) > 0 else { return }
      let raw = RawSocket(clinux_accept(listener))
      _ = raw.receive()
      reply(raw)
      // Keeps the socket open until the central has disconnected.
      _ = raw.isHungUp()
    }
    thread.start()
    defer { _ = close(listener) }
    let phone = try air.adapter()
    let result = try await phone.connect(to: address, timeout: timeout)
    withExtendedLifetime(claim) {}
    return result
  }

  @Test func wrongAnswersEndTheAttempt() async throws {
    let address = BluetoothAddress.staticRandom(name: "Fake")
    for octets in [
      [0], [1], [2], [2, 0], [3], [3, 0x3E, 0], [4, 2, 16], [5, 2, 16], [6, 0x13], hello,
      [UInt8](repeating: 2, count: 300),
    ] as [[UInt8]] {
      await #expect(throws: RadioError.protocolViolation(address), "\(octets)") {
        try await connect { $0.send(octets) }
      }
    }
    await #expect(throws: RadioError.refused(address, .connectionLimitExceeded)) {
      try await connect { $0.send([3, 9]) }
    }
  }

  @Test func aMissingAnswerEndsTheAttempt() async throws {
    let address = BluetoothAddress.staticRandom(name: "Fake")
    await #expect(throws: RadioError.timedOut(address, after: .milliseconds(50))) {
      try await connect(timeout: .milliseconds(50)) { _ in }
    }
  }

  @Test func controlsAreExact() {
    let all: [AirControl] = [
      .hello(address: BluetoothAddress(0xC000_0000_0001, kind: .random), name: ""),
      .hello(
        address: BluetoothAddress(0xC0FF_EE00_0001, kind: .random),
        name: String(repeating: "n", count: 64)),
      .accept, .reject(.limitedResources), .raise(LinkSecurity(level: .medium, keySize: 7)),
      .raised(.low), .raised(LinkSecurity(.fips)), .disconnect(.init(rawValue: 0xEE)),
      .timing(AirTiming(LinkParameters())),
      .timing(
        AirTiming(
          LinkParameters(
            phy: .codedS8, interval: 4_000_000_000, eventLength: 100_000_000, dataLength: 27,
            isEncrypted: true, packetErrorRate: 0.123456, packetsPerEvent: 10_000,
            scheduling: .exact), seed: .max)),
      .pair(.keyboard, LinkSecurity(level: .medium, keySize: 7), highest: .fips, key: 0),
      .pair(.keyboardDisplay, LinkSecurity(.fips), highest: .fips, key: .max),
      .method(.compare, 999_999), .confirm(7, key: 8), .failed(.keyMissing),
    ]
    for control in all {
      let octets = control.octets
      #expect(AirControl(octets: octets[...]) == control)
      #expect(octets.count <= AirControl.lengthLimit)
      if case .hello = control { continue }
      #expect(AirControl(octets: (octets + [0])[...]) == nil)
      #expect(AirControl(octets: octets.dropLast()) == nil || octets.count == 1)
    }
    for seed in 0..<20_000 as Range<UInt64> {
      var generator = SplitMix64(seed: seed)
      var octets = generator.octets(.random(in: 0...300, using: &generator))
      // One in ten is a timing with one octet changed: random octets would be none.
      if seed % 10 == 0 {
        octets = AirControl.timing(AirTiming(LinkParameters(), seed: seed)).octets
        octets[.random(in: 1..<octets.count, using: &generator)] = .random(
          in: 0...255, using: &generator)
      }
      guard let control = AirControl(octets: octets[...]) else { continue }
      #expect(control.octets == octets, "seed \(seed)")
    }
  }
}

extension Adapter {
  /// The backend of a radio of the virtual air.
  private var air: AirBackend {
    guard let air = backend as? AirBackend else { preconditionFailure("not a virtual radio") }
    return air
  }

  func limitLinks(_ limit: Int) { air.linkLimit = limit }
  func shortenHandshakes(_ time: Duration) { air.handshakeTime = time }
  var handshakeCount: Int { air.handshakes.count }

  /// The number of radios in a folder that an observer with this limit shows.
  func countShown(in folder: AirFolder, limit: Int) throws -> Int {
    let observer = AirObserver(folder, on: loop, limit: limit) { _ in }
    try observer.start()
    defer { observer.end() }
    return observer.records.count
  }
}
