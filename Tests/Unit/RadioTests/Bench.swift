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

/// A temporary folder of the virtual air, removed when it is released.
final class Air: Sendable {
  private let folder = TemporaryFolder()
  var path: String { folder.path }

  func adapter(
    _ name: String? = nil, address: BluetoothAddress? = nil,
    maximum: LinkSecurity = LinkSecurity(.fips)
  ) throws -> Adapter {
    try Adapter.virtual(
      name: name, address: address, folder: path, maximumSecurity: maximum)
  }

  /// The names of the entries.
  var entries: [String] { folder.entries }

  func file(_ name: String) -> String { folder.file(name) }

  /// Makes the files of a radio without a process.
  func plantDeadRadio(_ stem: String, named name: String = "Dead") {
    mkfifo(file(stem + ".life"), 0o600)
    plantRecord(stem, named: name)
  }

  func plantRecord(_ stem: String, named name: String) {
    var record = AirRecord()
    record.name = name
    record.advertisement = [2, 1, 6]
    try? Data(record.text.utf8).write(to: URL(fileURLWithPath: file("." + stem)))
    rename(file("." + stem), file(stem + ".adv"))
  }
}

/// One end of a link, driven on its loop.
actor End {
  nonisolated let loop: Loop
  nonisolated let connected: ConnectedLink
  nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }
  private var link: (any Link)?
  private var watch: WatchID?
  private var waiters: [CheckedContinuation<Void, Never>] = []
  private var handler: Waker?
  private var changes = 0
  private(set) var told: [LinkReadiness] = []

  init(_ connected: ConnectedLink) {
    self.connected = connected
    loop = connected.loop
  }

  private final class Waker: ReadinessHandler, LinkObserver {
    let wake: (LinkReadiness?) -> Void
    init(_ wake: @escaping (LinkReadiness?) -> Void) { self.wake = wake }
    func ready(_ readiness: Readiness) { wake(nil) }
    func linkReady(_ readiness: LinkReadiness) { wake(readiness) }
  }

  private func open() -> any Link {
    if let link { return link }
    let link = connected.unwrap()
    self.link = link
    let waker = Waker { [weak self] readiness in
      self?.assumeIsolated { $0.wake(readiness) }
    }
    handler = waker
    link.observer = waker
    watch = link.descriptor.flatMap { try? loop.watch($0, waker) }
    return link
  }

  private func wake(_ readiness: LinkReadiness?) {
    if let readiness { told.append(readiness) }
    changes += 1
    let waiters = waiters
    self.waiters = []
    for waiter in waiters { waiter.resume() }
  }

  /// Waits for a change after `seen`. It is checked again when the wait begins, because other code may
  /// run at each await.
  private func change(since seen: Int) async {
    await withCheckedContinuation {
      if changes == seen { waiters.append($0) } else { $0.resume() }
    }
  }

  func prepare() { _ = open() }

  @discardableResult func send(_ octets: [UInt8]) throws -> SendOutcome {
    try open().send(octets.span.bytes)
  }

  /// Sends as soon as there is room.
  func sendWhenReady(_ octets: [UInt8]) async throws {
    while true {
      let seen = changes
      if try send(octets) == .sent { return }
      await change(since: seen)
    }
  }

  /// The next PDU; nil at the end.
  func receive() async throws -> [UInt8]? {
    let link = open()
    while true {
      let seen = changes
      var storage = [UInt8](repeating: 0, count: 600)
      var count = 0
      let outcome = try storage.withUnsafeMutableBytes { room -> ReceiveOutcome in
        var buffer = OutputRawSpan(buffer: room, initializedCount: 0)
        let outcome = try link.receive(into: &buffer)
        count = buffer.finalize(for: room)
        return outcome
      }
      switch outcome {
      case .pdu: return Array(storage[..<count])
      case .closed: return nil
      case .wouldBlock: await change(since: seen)
      }
    }
  }

  var security: LinkSecurity { open().security }
  var reason: DisconnectReason? { (open() as? AirLink)?.disconnectReason }
  var peerName: String { open().peerName }

  // MARK: Enhanced bearers

  private var acceptance: EnhancedAcceptance?
  private var accepted: [End] = []

  var enhancedMTU: Int? { open().enhancedMTU }
  func raiseMTU(_ octets: Int) throws { try open().raiseReceiveMTU(to: octets) }

  /// In one step, so that no answer arrives in between.
  func raiseMTU(_ octets: Int, andSend pdu: [UInt8]) throws -> SendOutcome {
    try raiseMTU(octets)
    return try send(pdu)
  }

  private func end(_ link: any Link) -> End {
    End(
      ConnectedLink(
        link, peer: connected.peer, identity: "", isCentral: connected.isCentral, loop: loop))
  }

  func openBearers(
    _ count: Int, mtu: Int, timeout: Duration = .seconds(60)
  ) async throws -> [End] {
    let link = open()
    return try await withCheckedThrowingContinuation { waiter in
      _ = EnhancedBearers.open(count, mtu: mtu, beside: link, on: loop, timeout: timeout) {
        result in
        waiter.resume(with: result.map { $0.map { link in self.end(link) } })
      }
    }
  }

  func acceptBearers(_ limit: Int, mtu: Int) throws {
    acceptance = try EnhancedBearers.accept(beside: open(), limit: limit, mtu: mtu, on: loop) {
      link in
      let link = LoopBound(link, self.loop)
      self.assumeIsolated {
        $0.accepted.append($0.end(link.value))
        $0.wake(nil)
      }
    }
  }

  /// The bearers that the peer has opened, as soon as there are so many.
  func bearers(_ count: Int) async -> [End] {
    while true {
      let seen = changes
      if accepted.count >= count { return accepted }
      await change(since: seen)
    }
  }

  func raise(_ level: SecurityLevel) throws { try open().raiseSecurity(to: level) }

  /// In one step, so that no answer arrives in between.
  func raise(_ level: SecurityLevel, andSend octets: [UInt8]) throws -> SendOutcome {
    try raise(level)
    return try send(octets)
  }

  /// Waits until the link has a level.
  func reach(_ level: SecurityLevel) async {
    let link = open()
    while true {
      let seen = changes
      if link.security.level >= level { return }
      await change(since: seen)
    }
  }

  func close() {
    let link = open()
    if let watch { loop.unwatch(watch) }
    watch = nil
    link.close()
  }

  /// Releases the link without closing it, as a process that dies.
  func abandon() {
    if let watch { loop.unwatch(watch) }
    watch = nil
    link = nil
    handler = nil
  }

  isolated deinit { abandon() }
}

/// Advertising parameters of a heart-rate strap.
func strap(_ name: String = "Strap") -> AdvertisingParameters {
  AdvertisingParameters(AdvertisingData(serviceUUIDs: [0x180D], localName: name))
}

/// A link whose central is a socket of the test and answers nothing, and the radio's end of it.
final class SilentPeer {
  let socket: RawSocket
  let end: End
  private let advertisement: Advertisement

  /// - Parameters:
  ///   - radio: its name is Strap, from which it has its address.
  ///   - isUsed: whether the radio's program takes its link at once.
  init(of radio: Adapter, on air: Air, isUsed: Bool = true) async throws {
    advertisement = try await radio.advertise(strap())
    socket = try RawSocket(connectingTo: air.file("d413f6fbacef.sock"))
    socket.send([1, 1, 1, 2, 3, 4, 5, 0xC0])
    let links = advertisement.links.makeAsyncIterator()
    end = End(try #require(await links.next()))
    if isUsed { await end.prepare() }
  }
}

/// A blocking socket that uses no code under test.
final class RawSocket {
  let descriptor: Int32

  init(connectingTo path: String) throws {
    descriptor = clinux_seqpacket_socket(AF_UNIX, 0)
    try #require(clinux_unix_connect(descriptor, path, path.utf8.count) == 0)
  }

  init(_ descriptor: Int32) { self.descriptor = descriptor }

  deinit { _ = Glibc.close(descriptor) }

  func send(_ octets: [UInt8], passing other: Int32? = nil) {
    if let other, !octets.isEmpty {
      _ = clinux_send_descriptor(descriptor, octets, octets.count, other)
    } else {
      _ = clinux_send(descriptor, octets, octets.count)
    }
  }

  /// The next packet and a descriptor with it; nil at the end. Three octets 0xFF after a minute.
  func receive() -> (octets: [UInt8], passed: Int32)? {
    let bits = clinux_poll(descriptor, CLINUX_POLLIN, 60_000)
    guard bits != 0 else { return ([0xFF, 0xFF, 0xFF], -1) }
    var octets = [UInt8](repeating: 0, count: 700)
    var passed: Int32 = -1
    let count = clinux_receive_descriptor(descriptor, &octets, octets.count, &passed)
    return count > 0 ? (Array(octets[..<count]), passed) : nil
  }

  /// Whether the other end hangs up within a minute. Discards what it sends before.
  func isHungUp() -> Bool {
    while let (octets, passed) = receive() {
      if passed >= 0 { _ = Glibc.close(passed) }
      if octets == [0xFF, 0xFF, 0xFF] { return false }
    }
    return true
  }
}
