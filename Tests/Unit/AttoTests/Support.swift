import AttoEventLoop
import AttoGATT
import Foundation
import Glibc
import TestSupport
import Testing

@testable import Atto

extension TemporaryFolder {
  func socket(_ name: String = "s") -> String { file(name) }
}

/// A test has not ended in time.
struct DeadlinePassed: Error, CustomStringConvertible {
  let what: String
  var description: String { "\(what) has not ended in time" }
}

/// Runs `body` and throws ``DeadlinePassed`` if it has not ended in time: even if it never ends.
@discardableResult
func withDeadline<R: Sendable>(
  _ what: String = "the test", seconds: Int = 120,
  _ body: @escaping @Sendable () async throws -> R
) async throws -> R {
  let first = First<R>()
  let work = Task { first.set(await Task { try await body() }.result) }
  let guardian = Task {
    try await Loop.shared.sleep(for: .seconds(seconds))
    first.set(.failure(DeadlinePassed(what: what)))
    work.cancel()
  }
  defer { guardian.cancel() }
  return try await first.value.get()
}

/// The first of several results. `@unchecked Sendable`: guarded by `lock`.
final class First<R: Sendable>: @unchecked Sendable {
  private let lock = NSLock()
  private var result: Result<R, any Error>?
  private var waiter: CheckedContinuation<Result<R, any Error>, Never>?

  func set(_ new: Result<R, any Error>) {
    let waiter = lock.withLock { () -> CheckedContinuation<Result<R, any Error>, Never>? in
      guard result == nil else { return nil }
      result = new
      return self.waiter
    }
    waiter?.resume(returning: new)
  }

  var value: Result<R, any Error> {
    get async {
      await withCheckedContinuation { continuation in
        let ready = lock.withLock { () -> Result<R, any Error>? in
          if result == nil { waiter = continuation }
          return result
        }
        if let ready { continuation.resume(returning: ready) }
      }
    }
  }
}

/// Events so far; callers can wait for them. `@unchecked Sendable`: guarded by `lock`.
final class Log<Element: Sendable>: @unchecked Sendable {
  private let lock = NSLock()
  private var elements: [Element] = []
  private var waiters: [(([Element]) -> Bool, CheckedContinuation<Void, Never>)] = []

  var all: [Element] { lock.withLock { elements } }
  var count: Int { lock.withLock { elements.count } }

  func append(_ element: Element) {
    let woken = lock.withLock { () -> [CheckedContinuation<Void, Never>] in
      elements.append(element)
      var woken: [CheckedContinuation<Void, Never>] = []
      waiters.removeAll { entry in
        guard entry.0(elements) else { return false }
        woken.append(entry.1)
        return true
      }
      return woken
    }
    for waiter in woken { waiter.resume() }
  }

  func wait(until condition: @escaping ([Element]) -> Bool) async {
    await withCheckedContinuation { continuation in
      let now = lock.withLock { () -> Bool in
        if condition(elements) { return true }
        waiters.append((condition, continuation))
        return false
      }
      if now { continuation.resume() }
    }
  }

  func wait(count: Int) async { await wait { $0.count >= count } }
}

/// A gate that opens once.
final class Gate: Sendable {
  private let log = Log<Void>()
  func open() { log.append(()) }
  func pass() async { await log.wait(count: 1) }
}

/// Polls until `condition` is true. For use within ``withDeadline(_:seconds:_:)``.
func until(_ condition: () async throws -> Bool) async throws {
  while !(try await condition()) {
    try Task.checkCancellation()
    try await Loop.shared.sleep(for: .milliseconds(1))
  }
}

/// An end of a Unix socket pair, used with blocking calls and none of the code under test. The other
/// end is for a connection.
final class RawPeer: @unchecked Sendable {
  let descriptor: Int32
  let other: Int32
  private let lock = NSLock()
  private var isClosed = false

  init() throws {
    var both: [Int32] = [-1, -1]
    try #require(socketpair(AF_UNIX, Int32(SOCK_SEQPACKET.rawValue), 0, &both) == 0)
    (descriptor, other) = (both[0], both[1])
    var time = timeval(tv_sec: 60, tv_usec: 0)
    setsockopt(
      descriptor, SOL_SOCKET, SO_RCVTIMEO, &time, socklen_t(MemoryLayout<timeval>.size))
    setsockopt(
      descriptor, SOL_SOCKET, SO_SNDTIMEO, &time, socklen_t(MemoryLayout<timeval>.size))
  }

  deinit { close() }

  func close() {
    lock.withLock {
      if !isClosed { _ = Glibc.close(descriptor) }
      isClosed = true
    }
  }

  var endpoint: Endpoint { .descriptor(other) }

  @discardableResult func send(_ octets: [UInt8], waits: Bool = true) -> Bool {
    let flags = Int32(MSG_NOSIGNAL) | (waits ? 0 : Int32(MSG_DONTWAIT))
    return Glibc.send(descriptor, octets, octets.count, flags) == octets.count
  }

  /// The next PDU; empty at the end. Waits on a thread of its own.
  func receive() async -> [UInt8] {
    await withCheckedContinuation { continuation in
      Thread.detachNewThread { [self] in
        var octets = [UInt8](repeating: 0, count: 70_000)
        let count = recv(descriptor, &octets, octets.count, 0)
        continuation.resume(returning: Array(octets[..<max(0, count)]))
      }
    }
  }

  func expect(_ octets: [UInt8], _ location: SourceLocation = #_sourceLocation) async {
    let received = await receive()
    #expect(received == octets, sourceLocation: location)
  }

  func connect(
    server: LocalServer? = nil, loop: Loop? = nil,
    _ change: (inout ConnectionOptions) -> Void = { _ in }
  ) async throws -> Connection {
    var options = ConnectionOptions()
    change(&options)
    return try await Connection.connect(
      to: endpoint, options: options, server: server, loop: loop)
  }
}

/// The loop of servers, so that they and their clients are on different threads.
let serverLoop: Loop = {
  raiseDescriptorLimit()
  do {
    let loop = try Loop(name: "server")
    try loop.start()
    return loop
  } catch {
    Issue.record(error)
    return .shared
  }
}()

@discardableResult func raiseDescriptorLimit() -> Int {
  var limit = rlimit()
  getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
  limit.rlim_cur = min(limit.rlim_max, 65536)
  setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
  return Int(limit.rlim_cur)
}

/// A server on a Unix socket with all kinds of values.
final class Bench: Sendable {
  let folder = TemporaryFolder()
  let server: LocalServer
  let layout: Database.Layout
  let gatt: Database.Layout
  /// The configuration of ``values``.
  let configuration: AttributeHandle
  let listener: ServerListener
  let events = Log<ServedEvent>()
  let failures = Log<AttoError>()
  private let observation: ServerObservation

  static let hello = Array("hello".utf8)
  static let long = (0..<512).map { UInt8(truncatingIfNeeded: $0 &* 7) }

  static let service = ServiceDefinition(
    BluetoothUUID(0x1234 as UInt16),
    characteristics: [
      CharacteristicDefinition(
        BluetoothUUID(0x2B00 as UInt16), properties: [.read, .write],
        value: .stored(hello)),
      CharacteristicDefinition(
        BluetoothUUID(0x2B01 as UInt16), properties: [.read, .write],
        value: .stored(long)),
      CharacteristicDefinition(
        BluetoothUUID(0x2B02 as UInt16), properties: [.notify, .indicate],
        value: .stored([])),
      CharacteristicDefinition(
        BluetoothUUID(0x2B03 as UInt16), properties: [.read, .write, .writeWithoutResponse],
        value: .application(ValueLimits())),
      CharacteristicDefinition(
        BluetoothUUID(0x2B04 as UInt16), properties: [.read, .write],
        value: .application(ValueLimits())),
      CharacteristicDefinition(
        BluetoothUUID(0x2B05 as UInt16), properties: [.read], value: .stored([5]),
        permissions: AttributePermissions(
          read: .requires(.init(security: .medium)))),
      CharacteristicDefinition(
        BluetoothUUID(0x2B06 as UInt16), properties: [.read], value: .stored([6]),
        permissions: AttributePermissions(read: .requires(.init(authorization: true)))),
    ])

  var greeting: AttributeHandle { layout.characteristics[0].valueHandle }
  var long: AttributeHandle { layout.characteristics[1].valueHandle }
  var values: AttributeHandle { layout.characteristics[2].valueHandle }
  var application: AttributeHandle { layout.characteristics[3].valueHandle }
  var second: AttributeHandle { layout.characteristics[4].valueHandle }
  var encrypted: AttributeHandle { layout.characteristics[5].valueHandle }
  var authorized: AttributeHandle { layout.characteristics[6].valueHandle }

  init(
    loop: Loop? = nil, limits: ServerLimits = ServerLimits(),
    options: ListenOptions = ListenOptions()
  ) async throws {
    server = LocalServer(Database(), loop: loop ?? serverLoop, limits: limits)
    gatt = try await server.add(
      ServiceDefinition(
        .genericAttribute,
        characteristics: [
          CharacteristicDefinition(.serviceChanged, properties: .indicate)
        ]))
    let layout = try await server.add(Self.service)
    self.layout = layout
    configuration = try #require(layout.characteristics[2].configurationHandle)
    let (events, failures) = (events, failures)
    observation = try await server.observe { events.append($0) }
    listener = try await server.listen(on: .unix(path: folder.socket()), options: options) {
      failures.append($0)
    }
  }

  var endpoint: Endpoint { .unix(path: folder.socket()) }

  /// Waits until the handlers that were set before are in effect.
  func settle() async throws { _ = try await server.clients }

  func connect(
    loop: Loop = .shared, _ change: (inout ConnectionOptions) -> Void = { _ in }
  ) async throws -> Connection {
    var options = ConnectionOptions()
    change(&options)
    return try await Connection.connect(to: endpoint, options: options, loop: loop)
  }

  func subscribe(
    _ connection: Connection, as kind: ClientCharacteristicConfiguration = .notification
  ) async throws -> ReceivedValues {
    try await connection.subscribe(to: values, cccd: configuration, as: kind)
  }

  /// Serves a peer that has subscribed to notifications of ``values``.
  func serve(subscribed peer: RawPeer) async throws -> Connection {
    let connection = try await peer.connect(server: server, loop: serverLoop)
    let handle = configuration.rawValue
    peer.send([0x12, UInt8(handle), UInt8(handle >> 8), 1, 0])
    await peer.expect([0x13])
    return connection
  }
}

/// The error of a call.
func failure<R>(_ body: () async throws -> R) async -> AttoError? {
  do {
    _ = try await body()
    return nil
  } catch {
    return error as? AttoError
  }
}

func isDisconnected(_ error: AttoError?) -> Bool {
  if case .disconnected = error { true } else { false }
}

func counted(_ number: Int) -> [UInt8] {
  [UInt8(number & 0xFF), UInt8(number >> 8 & 0xFF), UInt8(number >> 16 & 0xFF)]
}

func number(_ value: [UInt8]) -> Int {
  Int(value[0]) | Int(value[1]) << 8 | Int(value[2]) << 16
}

/// A notification of a counted value.
func notification(_ handle: UInt16, _ number: Int) -> [UInt8] {
  [0x1B, UInt8(handle & 0xFF), UInt8(handle >> 8)] + counted(number)
}

extension Loop {
  /// Waits until the loop has carried out what waits for it now.
  func turn() async throws {
    try await withWaiter { (waiter: Waiter<Void, AttoError>) in waiter.resume(.success(())) }
  }
}
