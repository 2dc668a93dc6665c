import Atto
import AttoTesting
import TestSupport
import Testing

@Suite("Services with handlers", .timeLimit(.minutes(5)), .oneByOne)
struct HandlerTests {
  private let service = ServiceDefinition(
    .heartRate,
    characteristics: [
      CharacteristicDefinition(.heartRateMeasurement, properties: .notify),
      CharacteristicDefinition(
        .bodySensorLocation, properties: .read, value: .application(ValueLimits())),
      CharacteristicDefinition(
        .heartRateControlPoint, properties: [.read, .write], value: .application(ValueLimits())),
    ])

  @Test("A service comes with its handlers")
  func together() async throws {
    let server = LocalServer()
    let layout = try await server.add(service) { handlers in
      handlers.onRead(of: .bodySensorLocation) { _ in [3] }
      handlers.onReadInline(of: .heartRateControlPoint) { _ in .value([4]) }
      handlers.onWriteValue(of: .heartRateControlPoint) { (_, value) throws(ErrorCode) in
        if value != [1] { throw ErrorCode(0x80) }
      }
    }
    let connection = try await Connection.pair(server: server)
    let control = layout[.heartRateControlPoint].valueHandle
    #expect(try await connection.readOnce(layout[.bodySensorLocation].valueHandle) == [3])
    #expect(try await connection.readOnce(control) == [4])
    try await connection.write([1], to: control)
    let refusal = await failure { try await connection.write([2], to: control) }
    #expect(
      refusal
        == .refused(ErrorResponse(request: .writeRequest, handle: control, code: ErrorCode(0x80))))
  }

  @Test("A handler of values gets the parts of long and reliable writes as one")
  func wholeValues() async throws {
    let server = LocalServer()
    let written = Log()
    let layout = try await server.add(service) { handlers in
      handlers.onRead(of: .bodySensorLocation) { _ in [3] }
      handlers.onRead(of: .heartRateControlPoint) { _ in [4] }
      handlers.onWriteValue(of: .heartRateControlPoint) { written.append("\($1)") }
    }
    let control = layout[.heartRateControlPoint].valueHandle
    let connection = try await Connection.pair(server: server)
    let long = (0..<40).map { UInt8($0) }
    try await connection.write([], to: control)
    let tooLong = await failure { try await connection.write(long, to: control) }
    #expect(tooLong.map { "\($0)" }?.contains("a long write (writeLong) takes up to 512") == true)
    try await connection.writeLong(long, to: control)
    try await connection.writeReliably([
      LongWrite(control, offset: 2, value: [7, 7]), LongWrite(control, value: [1, 2, 3]),
    ])
    try await connection.writeWithoutResponse([9], to: control)
    let refused = ErrorResponse(
      request: .executeWriteRequest, handle: control, code: .invalidOffset)
    for gap in [
      [LongWrite(control, offset: 1, value: [5])],
      [LongWrite(control, value: [5]), LongWrite(control, offset: 2, value: [5])],
    ] {
      #expect(await failure { try await connection.writeReliably(gap) } == .refused(refused))
    }
    // A read comes after the handlers of earlier writes.
    #expect(try await connection.readOnce(control) == [4])
    #expect(written.all == [[], long, [1, 2, 3, 7], [9]].map { "\($0)" })
  }

  @Test("A value without a handler is refused, and nothing is added")
  func missing() async throws {
    let server = LocalServer()
    let free = try await server.freeHandle
    let fault = await failure {
      try await server.add(service) { handlers in
        handlers.onRead(of: .bodySensorLocation) { _ in [3] }
        handlers.onRead(of: .heartRateControlPoint) { _ in [4] }
      }
    }
    #expect(fault == .database(.noHandler(.heartRateControlPoint)))
    #expect(try await server.freeHandle == free)
  }

  @Test("A server has Generic Access and Generic Attribute unless it is given a database")
  func genericServices() async throws {
    let connection = try await Connection.pair(server: LocalServer(Database(name: "Hub")))
    #expect(try await connection.readOnce(0x0003) == Array("Hub".utf8))
    #expect(try await connection.discover().services.map(\.uuid) == [0x1800, 0x1801])
    let empty = try await Connection.pair(server: LocalServer(Database()))
    #expect(try await empty.discover().services.isEmpty)
  }

  @Test("A handler that blocks delays its own client only")
  func blocking() async throws {
    let server = LocalServer()
    let (asked, ask) = AsyncStream<Void>.makeStream()
    let (released, release) = AsyncStream<Void>.makeStream()
    let layout = try await server.add(service) { handlers in
      handlers.onRead(of: .bodySensorLocation) { _ in
        ask.finish()
        for await _ in released {}
        return [3]
      }
      handlers.onReadInline(of: .heartRateControlPoint) { _ in .value([4]) }
      handlers.onWriteInline(of: .heartRateControlPoint) { _, _ in .accepted }
    }
    let slow = try await Connection.pair(server: server)
    let other = try await Connection.pair(server: server)
    async let value = slow.readOnce(layout[.bodySensorLocation].valueHandle)
    for await _ in asked {}
    #expect(try await other.readOnce(layout[.heartRateControlPoint].valueHandle) == [4])
    #expect(try await server.counters == ServerCounters(clients: 2, handlers: 1))
    release.finish()
    #expect(try await value == [3])
  }

  @Test("A handler does not run on the loop")
  func offTheLoop() async throws {
    let server = LocalServer()
    let layout = try await server.add(service) { handlers in
      handlers.onRead(of: .bodySensorLocation) { _ in [server.loop.isCurrent ? 1 : 0] }
      handlers.onReadInline(of: .heartRateControlPoint) { _ in
        .value([server.loop.isCurrent ? 1 : 0])
      }
      handlers.onWriteInline(of: .heartRateControlPoint) { _, _ in .accepted }
    }
    let connection = try await Connection.pair(server: server)
    #expect(try await connection.readOnce(layout[.bodySensorLocation].valueHandle) == [0])
    #expect(try await connection.readOnce(layout[.heartRateControlPoint].valueHandle) == [1])
  }
}
