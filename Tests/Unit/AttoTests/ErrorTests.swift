import AttoTesting
import Glibc
import TestSupport
import Testing

@testable import Atto

@Suite(.oneByOne) struct ErrorTests {
  @Test func refusals() async throws {
    try await withDeadline {
      let bench = try await Bench()
      let connection = try await bench.connect()
      #expect(
        await failure { try await connection.readOnce(0x0FFF) }
          == .refused(
            ErrorResponse(request: .readRequest, handle: 0x0FFF, code: .invalidHandle)))
      #expect(
        await failure { try await connection.readOnce(bench.values) }
          == .refused(
            ErrorResponse(
              request: .readRequest, handle: bench.values, code: .readNotPermitted)))
      #expect(
        await failure { try await connection.readOnce(bench.encrypted) }
          == .refused(
            ErrorResponse(
              request: .readRequest, handle: bench.encrypted, code: .insufficientEncryption)))
      // The connection still works.
      #expect(try await connection.readOnce(bench.greeting) == Bench.hello)
    }
  }

  @Test func misuse() async throws {
    try await withDeadline {
      let bench = try await Bench()
      let connection = try await bench.connect()
      let value = [UInt8](repeating: 0, count: 21)
      #expect(
        await failure { try await connection.write(value, to: bench.greeting) }
          == .misuse(.valueTooLong(21, limit: 20)))
      #expect(
        await failure { try await connection.writeWithoutResponse(value, to: bench.application) }
          == .misuse(.valueTooLong(21, limit: 20)))
      #expect(try await connection.counters.sent == 0)
    }
  }

  @Test func endpointsThatAreNotThere() async throws {
    try await withDeadline {
      let folder = TemporaryFolder()
      let error = await failure {
        try await Connection.connect(to: .unix(path: folder.socket("nobody")))
      }
      guard case .link(let link) = error else {
        Issue.record("\(error as Any)")
        return
      }
      #expect(link.errno == ENOENT)
      #expect(
        await failure { try await Connection.connect(to: .leAny(.any)) }
          == .endpoint(EndpointError(text: "le:", .noPeer)))
      #expect(
        await failure { try await Connection.connect(to: .air("")) }
          == .endpoint(EndpointError(text: "air:", .noPeer)))
      let server = LocalServer(Database())
      let place = Endpoint.unix(path: folder.socket("no/such"))
      guard case .link(let other) = await failure({ try await server.listen(on: place) }) else {
        Issue.record("listened")
        return
      }
      #expect(other.errno == ENOENT)
    }
  }

  @Test func transactionTimeout() async throws {
    try await withDeadline {
      let clock = TestClock()
      let peer = try RawPeer()
      let connection = try await peer.connect(loop: clock.loop)
      let dead = AttoError.bearer(.transactionTimeout(.readRequest))
      let read = Task(executorPreference: clock.loop.tasks) {
        await failure { try await connection.readOnce(3) }
      }
      await clock.advance(by: .nanoseconds(29_999_999_999))
      #expect(await connection.endReason == nil)
      await clock.advance(by: .nanoseconds(1))
      #expect(await read.value == dead)
      try await connection.waitUntilClosed()
      #expect(await connection.endReason == dead)
      #expect(await failure { try await connection.readOnce(3) } == dead)
      #expect(await failure { try await connection.writeWithoutResponse([], to: 3) } == dead)
      await peer.expect([0x0A, 3, 0])
      // The link is closed.
      await peer.expect([])
    }
  }

  @Test func procedureTimeout() async throws {
    try await withDeadline {
      let clock = TestClock()
      let peer = try RawPeer()
      let connection = try await peer.connect(loop: clock.loop) {
        $0.procedureTimeout = .seconds(20)
      }
      let discovery = Task(executorPreference: clock.loop.tasks) {
        await failure { try await connection.discover() }
      }
      await peer.expect([0x10, 1, 0, 0xFF, 0xFF, 0, 0x28])
      peer.send([0x11, 6, 1, 0, 1, 0, 0, 0x18])
      await peer.expect([0x10, 2, 0, 0xFF, 0xFF, 0, 0x28])
      await clock.advance(by: .seconds(20))
      #expect(await discovery.value == .procedureTimeout(after: .seconds(20)))
      // The connection stays open, and nothing more is sent for the procedure.
      let read = Task(executorPreference: clock.loop.tasks) { try await connection.readOnce(3) }
      peer.send([0x11, 6, 2, 0, 2, 0, 0, 0x18])
      await peer.expect([0x0A, 3, 0])
      peer.send([0x0B, 5])
      #expect(try await read.value == [5])
    }
  }

  @Test func mismatchedResponse() async throws {
    try await withDeadline {
      let peer = try RawPeer()
      let connection = try await peer.connect()
      async let read = failure { try await connection.readOnce(3) }
      await peer.expect([0x0A, 3, 0])
      peer.send([0x13])
      #expect(
        await read
          == .bearer(.mismatchedResponse(request: .readRequest, response: .writeResponse)))
    }
  }

  /// A listener that never accepts, with a full queue.
  @Test func connectTimeout() async throws {
    try await withDeadline {
      let folder = TemporaryFolder()
      let full = try FullListener(folder.socket())
      var options = ConnectionOptions()
      options.connectTimeout = .seconds(10)
      let endpoint = Endpoint.unix(path: folder.socket())
      let clock = TestClock()
      let late = Task(executorPreference: clock.loop.tasks) { [options] in
        await failure {
          try await Connection.connect(to: endpoint, options: options, loop: clock.loop)
        }
      }
      await clock.advance(by: .seconds(10))
      #expect(
        await late.value
          == .connectTimeout(endpoint: endpoint.description, after: .seconds(10)))
      // It connects as soon as there is room.
      let waiting = Task { [options] in
        try await Connection.connect(to: endpoint, options: options)
      }
      full.accept()
      _ = try await waiting.value
    }
  }
}

/// A listening socket whose queue is full.
final class FullListener: @unchecked Sendable {
  private let listening: Int32
  private var others: [Int32] = []

  init(_ path: String) throws {
    listening = socket(AF_UNIX, Int32(SOCK_SEQPACKET.rawValue), 0)
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
    let length = socklen_t(MemoryLayout<sockaddr_un>.size)
    try withUnsafePointer(to: &address) { pointer in
      try pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
        try #require(bind(listening, address, length) == 0)
        try #require(listen(listening, 0) == 0)
        while true {
          let kind = Int32(SOCK_SEQPACKET.rawValue) | Int32(SOCK_NONBLOCK.rawValue)
          let other = socket(AF_UNIX, kind, 0)
          others.append(other)
          if connect(other, address, length) != 0 { break }
        }
      }
    }
  }

  func accept() { others.append(Glibc.accept(listening, nil, nil)) }

  deinit { for descriptor in others + [listening] { _ = Glibc.close(descriptor) } }
}
