import AttoATT
import AttoEventLoop
import AttoGATT
import AttoLinks
import AttoTesting
import TestSupport
import Testing

@testable import Atto

/// A link in memory whose security is raised when the test says so.
final class GatedLink: Link, LinkObserver {
  let below: MemoryLink
  weak var observer: (any LinkObserver)?
  let maximumSecurity: SecurityLevel
  /// What was asked for, in order.
  private(set) var asked: [SecurityLevel] = []
  var isOpen: Bool

  init(_ below: MemoryLink, maximum: SecurityLevel = .fips, isOpen: Bool = true) {
    self.below = below
    maximumSecurity = maximum
    self.isOpen = isOpen
    below.observer = self
  }

  func linkReady(_ readiness: LinkReadiness) { observer?.linkReady(readiness) }
  var descriptor: Int32? { nil }
  var peerName: String { "gated" }
  var security: LinkSecurity { below.security }
  func send(_ pdu: RawSpan) throws(LinkError) -> SendOutcome { try below.send(pdu) }
  func receive(into buffer: inout OutputRawSpan) throws(LinkError) -> ReceiveOutcome {
    try below.receive(into: &buffer)
  }
  func close() { below.close() }
  func raiseSecurity(to level: SecurityLevel) throws(LinkError) {
    asked.append(level)
    if isOpen { below.assume(LinkSecurity(level)) }
  }
}

/// Requests that the peer refuses for lack of security are repeated on a more secure link.
@Suite(.timeLimit(.minutes(5)), .oneByOne) struct SecurityOnDemandTests {
  @Test func statedLevels() {
    let wanted: [(value: [UInt8], level: SecurityLevel?)] = [
      ([], nil), ([1], nil), ([1, 0], nil), ([1, 5], nil), ([0, 2], nil), ([2, 1], nil),
      ([1, 1], .low), ([1, 2], .medium), ([1, 4, 1, 3], .high), ([2, 2, 1, 4], .fips),
      ([1, 4, 1], nil), ([1, 9, 1, 3], .high), ([3, 3, 2, 1], nil),
    ]
    for (value, level) in wanted { #expect(SecurityLevel(statedBy: value) == level, "\(value)") }
  }

  /// A server with a value for each level, the next handle after its declaration.
  private static func server(
    _ loop: Loop = .shared
  ) async throws -> (LocalServer, [AttributeHandle]) {
    let server = LocalServer(Database(), loop: loop)
    let layout = try await server.add(
      ServiceDefinition(
        0xA000,
        characteristics: SecurityLevel.allCases.map { level in
          CharacteristicDefinition(
            BluetoothUUID(UInt16(0xB000) + UInt16(level.rawValue)), properties: [.read, .write],
            value: .stored([UInt8](repeating: level.rawValue, count: 40)),
            permissions: AttributePermissions(
              read: .requires(.init(security: level)), write: .requires(.init(security: level))))
        }))
    return (server, layout.characteristics.map(\.valueHandle))
  }

  private struct Ends: Sendable {
    let connection: Connection
    let link: LoopBound<GatedLink>
    var asked: [SecurityLevel] {
      get async throws {
        let link = link
        return try await connection.onLoop { _ in link.value.asked }
      }
    }
  }

  private static func connect(
    _ server: LocalServer, _ options: ConnectionOptions, maximum: SecurityLevel = .fips,
    isOpen: Bool = true
  ) async throws -> Ends {
    let loop = server.loop
    return try await loop.withWaiter { (waiter: Waiter<Ends, AttoError>) in
      let (client, peer) = MemoryLink.pair()
      let link = GatedLink(client, maximum: maximum, isOpen: isOpen)
      do throws(AttoError) {
        _ = try server.attach(peer, ConnectionOptions())
        let connection = try Connection.make(link, options, nil, loop).get()
        waiter.resume(.success(Ends(connection: connection, link: LoopBound(link, loop))))
      } catch {
        waiter.resume(.failure(error))
      }
    }
  }

  private static func options(_ highest: SecurityLevel?) -> ConnectionOptions {
    var options = ConnectionOptions()
    options.securityOnDemand = highest
    return options
  }

  @Test func withoutTheOptionNothingIsRaised() async throws {
    try await withDeadline {
      let (server, values) = try await Self.server()
      let ends = try await Self.connect(server, ConnectionOptions())
      let error = await #expect(throws: AttoError.self) {
        _ = try await ends.connection.readOnce(values[1])
      }
      guard case .refused(let response)? = error else {
        return #expect(Bool(false), "\(error as Any)")
      }
      #expect(response.code == .insufficientEncryption)
      #expect(try await ends.asked == [])
    }
  }

  /// Level by level, until the peer accepts.
  @Test(arguments: [
    (1, [SecurityLevel.medium]), (2, [.medium, .high]), (3, [.medium, .high, .fips]),
  ])
  func raisedAsFarAsThePeerRequires(_ place: Int, _ steps: [SecurityLevel]) async throws {
    try await withDeadline {
      let (server, values) = try await Self.server()
      let ends = try await Self.connect(server, Self.options(.fips))
      let level = UInt8(place + 1)
      let value = try await ends.connection.readLong(values[place])
      #expect(value == [UInt8](repeating: level, count: 40))
      #expect(try await ends.asked == steps)
      try await ends.connection.writeLong([UInt8](repeating: 7, count: 40), to: values[place])
      #expect(try await ends.asked == steps)
    }
  }

  @Test func manyAtOnceRaiseOnce() async throws {
    try await withDeadline {
      let (server, values) = try await Self.server()
      let ends = try await Self.connect(server, Self.options(.fips), isOpen: false)
      let connection = ends.connection
      try await withThrowingTaskGroup(of: [UInt8].self) { group in
        for _ in 0..<10 { group.addTask { try await connection.readOnce(values[1]) } }
        group.addTask { try await connection.readOnce(values[0]) }
        try await until { try await connection.onLoop { $0.session.insecureCount } == 10 }
        #expect(try await ends.asked == [.medium])
        let link = ends.link
        _ = try await connection.onLoop { _ in link.value.below.assume(LinkSecurity(.medium)) }
        for try await value in group { #expect(value.count == 22) }
      }
      #expect(try await ends.asked == [.medium])
    }
  }

  @Test func noLevelInTime() async throws {
    try await withDeadline {
      let clock = TestClock()
      let (server, values) = try await Self.server(clock.loop)
      let ends = try await Self.connect(server, Self.options(.fips), isOpen: false)
      let read = Task(executorPreference: clock.loop.tasks) {
        await failure { try await ends.connection.readOnce(values[1]) }
      }
      await clock.advance(by: .seconds(30))
      let error = await read.value
      guard case .insufficientSecurity(let response, let obstacle)? = error else {
        return #expect(Bool(false), "\(error as Any)")
      }
      #expect(response.code == .insufficientEncryption)
      #expect(obstacle == .timeout(.medium, after: .seconds(30), hasAgent: false))
      #expect(error?.description.contains("agent") == true)
      // The connection still works.
      #expect(try await ends.connection.readOnce(values[0]).count == 22)
    }
  }

  @Test func noMoreThanTheOptionsAllow() async throws {
    try await withDeadline {
      let (server, values) = try await Self.server()
      let ends = try await Self.connect(server, Self.options(.medium))
      let error = await #expect(throws: AttoError.self) {
        _ = try await ends.connection.readOnce(values[2])
      }
      guard case .insufficientSecurity(_, .option(.medium))? = error else {
        return #expect(Bool(false), "\(error as Any)")
      }
      #expect(try await ends.asked == [.medium])
    }
  }

  @Test func noMoreThanTheLinkSupports() async throws {
    try await withDeadline {
      let (server, values) = try await Self.server()
      let ends = try await Self.connect(server, Self.options(.fips), maximum: .medium)
      let error = await #expect(throws: AttoError.self) {
        _ = try await ends.connection.readOnce(values[3])
      }
      guard case .insufficientSecurity(_, .link(.medium))? = error else {
        return #expect(Bool(false), "\(error as Any)")
      }
    }
  }

  /// A Unix socket cannot be encrypted.
  @Test func aUnixSocketCannotBeRaised() async throws {
    try await withDeadline {
      let (server, values) = try await Self.server()
      let folder = TemporaryFolder()
      let listener = try await server.listen(on: .unix(path: folder.socket()))
      defer { listener.stop() }
      let connection = try await Connection.connect(
        to: .unix(path: folder.socket()), options: Self.options(.fips))
      let error = await #expect(throws: AttoError.self) {
        _ = try await connection.readOnce(values[1])
      }
      guard case .insufficientSecurity(_, .link(.low))? = error else {
        return #expect(Bool(false), "\(error as Any)")
      }
      #expect(try await connection.counters.sent == 1)
    }
  }

  /// A refusal while another caller raises the link waits for that raise.
  @Test func oneRaiseAtATime() async throws {
    try await withDeadline {
      let (server, values) = try await Self.server()
      var options = Self.options(.fips)
      options.securityTimeout = .seconds(100)
      let ends = try await Self.connect(server, options, isOpen: false)
      let connection = ends.connection
      async let raised: Void = connection.raiseSecurity(to: .high, within: .seconds(100))
      try await until { try await ends.asked == [.high] }
      async let value = connection.readOnce(values[1])
      try await until { try await connection.onLoop { $0.session.insecureCount } == 1 }
      #expect(try await ends.asked == [.high])
      let link = ends.link
      _ = try await connection.onLoop { _ in link.value.below.assume(LinkSecurity(.high)) }
      try await raised
      #expect(try await value.count == 22)
      #expect(try await ends.asked == [.high])
    }
  }

  @Test func theLinkEndsWhileItIsRaised() async throws {
    try await withDeadline {
      let (server, values) = try await Self.server()
      var options = Self.options(.fips)
      options.securityTimeout = .seconds(100)
      let ends = try await Self.connect(server, options, isOpen: false)
      let reading = Task { try await ends.connection.readOnce(values[1]) }
      try await until { try await ends.asked == [.medium] }
      server.disconnect()
      await #expect(throws: AttoError.self) { _ = try await reading.value }
    }
  }
}
