import AttoTesting
import Glibc
import TestSupport
import Testing

@testable import Atto

@Suite(.oneByOne) struct ServerTests {
  @Test func handlersInlineAndLater() async throws {
    try await withDeadline {
      let bench = try await Bench()
      let connection = try await bench.connect()
      #expect(
        await failure { try await connection.readOnce(bench.application) }
          == .refused(
            ErrorResponse(
              request: .readRequest, handle: bench.application, code: .readNotPermitted)))
      bench.server.onReadInline(of: bench.application) { .value([1, UInt8($0.offset)]) }
      try await bench.settle()
      #expect(try await connection.readOnce(bench.application) == [1, 0])
      bench.server.onRead(of: bench.application) { _ in
        await Task.yield()
        return [2]
      }
      try await bench.settle()
      #expect(try await connection.readOnce(bench.application) == [2])
      bench.server.onRead(of: bench.application) { (_) throws(ErrorCode) in throw ErrorCode(0x80) }
      try await bench.settle()
      #expect(
        await failure { try await connection.readOnce(bench.application) }
          == .refused(
            ErrorResponse(
              request: .readRequest, handle: bench.application, code: ErrorCode(0x80))))
      bench.server.onWrite(of: bench.second) { (writes) throws(ErrorCode) in
        await Task.yield()
        if writes.map(\.value) != [[9]] { throw .valueNotAllowed }
      }
      try await bench.settle()
      try await connection.write([9], to: bench.second)
      #expect(
        await failure { try await connection.write([8], to: bench.second) }
          == .refused(
            ErrorResponse(
              request: .writeRequest, handle: bench.second, code: .valueNotAllowed)))
    }
  }

  @Test func slowHandlerDelaysItsOwnClientOnly() async throws {
    try await withDeadline {
      let bench = try await Bench()
      let gate = Gate()
      let asked = Gate()
      bench.server.onRead(of: bench.application) { _ in
        asked.open()
        await gate.pass()
        return [1]
      }
      try await bench.settle()
      let slow = try await bench.connect()
      let other = try await bench.connect()
      async let value = slow.readOnce(bench.application)
      await asked.pass()
      for _ in 0..<20 { #expect(try await other.readOnce(bench.greeting) == Bench.hello) }
      #expect(try await slow.counters.received == 0)
      gate.open()
      #expect(try await value == [1])
    }
  }

  /// H20: a client that disconnects while a handler has its request.
  @Test func clientDisconnectsWhileItsHandlerRuns() async throws {
    try await withDeadline {
      let bench = try await Bench()
      let gate = Gate()
      let asked = Log<ClientID>()
      bench.server.onRead(of: bench.application) { context in
        asked.append(context.client)
        await gate.pass()
        return [1]
      }
      try await bench.settle()
      let leaving = try await bench.connect()
      let read = Task { await failure { try await leaving.readOnce(bench.application) } }
      await asked.wait(count: 1)
      leaving.close()
      #expect(await read.value == .closed)
      try await until { try await bench.server.clients.isEmpty }
      // An invalid request, and an immediate disconnection.
      let raw = try await RawConnection.connect(to: bench.endpoint)
      try await raw.send([0x0A])
      try await raw.send([0xFF, 0xFF, 0xFF])
      raw.close()
      gate.open()
      let next = try await bench.connect()
      #expect(try await next.readOnce(bench.application) == [1])
    }
  }

  /// A handler whose client has disconnected is cancelled, and counts until it ends.
  @Test func handlersOfDisconnectedClientsAreLimited() async throws {
    try await withDeadline {
      var limits = ServerLimits()
      limits.handlers = 2
      let bench = try await Bench(limits: limits)
      let gate = Gate()
      let asked = Log<ClientID>()
      let ended = Log<Bool>()
      bench.server.onRead(of: bench.application) { context in
        asked.append(context.client)
        await gate.pass()
        ended.append(Task.isCancelled)
        return [1]
      }
      bench.server.onWrite(of: bench.application) { _ in }
      try await bench.settle()
      for number in 1...2 {
        let leaving = try await bench.connect()
        let read = Task { await failure { try await leaving.readOnce(bench.application) } }
        await asked.wait(count: number)
        leaving.close()
        #expect(await read.value == .closed)
      }
      try await until { try await bench.server.clients.isEmpty }
      let next = try await bench.connect()
      #expect(
        await failure { try await next.readOnce(bench.application) }
          == .refused(
            ErrorResponse(
              request: .readRequest, handle: bench.application, code: .insufficientResources)))
      // A command is dropped and counted.
      try await next.writeWithoutResponse([1], to: bench.application)
      #expect(try await next.readOnce(bench.greeting) == Bench.hello)
      #expect(try await bench.server.onLoop { $0.handlers.droppedCommands } == 1)
      gate.open()
      await ended.wait(count: 2)
      #expect(ended.all == [true, true])
      try await until { try await bench.server.onLoop { $0.handlers.runningCount } == 0 }
      #expect(try await next.readOnce(bench.application) == [1])
    }
  }

  /// Commands to a slow handler wait, up to a limit, and are handled in order.
  @Test func commandsBeyondTheLimitAreDropped() async throws {
    try await withDeadline {
      let bench = try await Bench()
      let gate = Gate()
      let written = Log<[UInt8]>()
      bench.server.onWrite(of: bench.application) { writes in
        await gate.pass()
        written.append(writes[0].value)
      }
      try await bench.settle()
      let connection = try await bench.connect()
      // The handler has one, as many as allowed wait, and ten are too many.
      let kept = HandlerTable.commandLimit + 1
      for number in 0..<(kept + 10) {
        try await connection.writeWithoutResponse(counted(number), to: bench.application)
      }
      #expect(try await connection.readOnce(bench.greeting) == Bench.hello)
      #expect(try await bench.server.onLoop { $0.handlers.droppedCommands } == 10)
      gate.open()
      await written.wait(count: kept)
      #expect(written.all == (0..<kept).map { counted($0) })
    }
  }

  @Test func preparedWritesComeTogether() async throws {
    try await withDeadline {
      let bench = try await Bench()
      let connection = try await bench.connect()
      let value = (0..<100).map { UInt8($0) }
      let inline = Log<(Int, [UInt8])>()
      bench.server.onWriteInline(of: bench.application) { origin, value in
        inline.append((origin.offset, value.owned))
        return .accepted
      }
      try await bench.settle()
      try await connection.writeLong(value, to: bench.application)
      #expect(inline.all.map(\.0) == [0])
      #expect(inline.all.map(\.1) == [value])

      let later = Log<[WriteRequestContext]>()
      bench.server.onWrite(of: bench.application) { writes in
        later.append(writes)
      }
      try await bench.settle()
      try await connection.writeLong(value, to: bench.application)
      #expect(later.count == 1)
      #expect(later.all.first?.flatMap(\.value) == value)

      // Refused: nothing has changed, not even values that the server stores.
      bench.server.onWrite(of: bench.application) { (_) throws(ErrorCode) in throw ErrorCode(0x81) }
      try await bench.settle()
      #expect(
        await failure {
          try await connection.writeReliably([
            LongWrite(bench.greeting, value: [1]), LongWrite(bench.application, value: [2]),
          ])
        }
          == .refused(
            ErrorResponse(
              request: .executeWriteRequest, handle: bench.application, code: ErrorCode(0x81))))
      #expect(try await bench.server.value(of: bench.greeting) == Bench.hello)
    }
  }

  @Test func authorization() async throws {
    try await withDeadline {
      let bench = try await Bench()
      let connection = try await bench.connect()
      #expect(
        await failure { try await connection.readOnce(bench.authorized) }
          == .refused(
            ErrorResponse(
              request: .readRequest, handle: bench.authorized,
              code: .insufficientAuthorization)))
      bench.server.onAuthorizeInline { $0.handle == bench.authorized && !$0.isWrite }
      try await bench.settle()
      #expect(try await connection.readOnce(bench.authorized) == [6])
    }
  }

  /// The handler may take its time, and its request stays before what the client sent after it.
  @Test func authorizationLater() async throws {
    try await withDeadline {
      let bench = try await Bench()
      let protected = try await bench.server.add(
        ServiceDefinition(
          0xA000,
          characteristics: [
            CharacteristicDefinition(
              0xB000, properties: [.read, .write, .writeWithoutResponse],
              value: .application(ValueLimits()),
              permissions: AttributePermissions(
                read: .requires(.init(authorization: true)),
                write: .requires(.init(authorization: true))))
          ]))[0xB000].valueHandle
      let (asked, gate) = (Log<AuthorizationRequest>(), Gate())
      let done = Log<String>()
      bench.server.onAuthorize { request in
        asked.append(request)
        await gate.pass()
        return request.isWrite || request.handle == bench.authorized
      }
      bench.server.onWriteValue(of: protected) { done.append("protected \($1)") }
      bench.server.onWriteValue(of: bench.application) { done.append("command \($1)") }
      bench.server.onRead(of: protected) { _ in [1] }
      try await bench.settle()
      let connection = try await bench.connect()
      async let write: Void = connection.write([1], to: protected)
      await asked.wait(count: 1)
      // Not asked, because a command cannot wait.
      try await connection.writeWithoutResponse([2], to: protected)
      try await connection.writeWithoutResponse([3], to: bench.application)
      gate.open()
      try await write
      #expect(try await connection.readOnce(bench.authorized) == [6])
      #expect(
        await failure { try await connection.readOnce(protected) }
          == .refused(
            ErrorResponse(
              request: .readRequest, handle: protected, code: .insufficientAuthorization)))
      #expect(done.all == ["protected [1]", "command [3]"])
      #expect(asked.all.map(\.handle) == [protected, bench.authorized, protected])
      #expect(asked.all.map(\.isWrite) == [true, false, false])
      bench.server.onAuthorizeInline { _ in true }
      try await bench.settle()
      try await connection.writeWithoutResponse([4], to: protected)
      #expect(try await connection.readOnce(protected) == [1])
      #expect(done.all.last == "protected [4]")
    }
  }

  #if DEBUG
    /// A handler that waits for a confirmation is warned of, once; one that does not wait is not.
    @Test func indicatingInAHandlerOfWrites() async throws {
      try await withDeadline {
        let bench = try await Bench()
        let lines = Log<String>()
        let former = IndicationAdvice.report.withLock { report in
          defer { report = { lines.append($0) } }
          return report
        }
        defer { IndicationAdvice.report.withLock { $0 = former } }
        let connection = try await bench.connect()
        let values = try await connection.values(of: bench.values)
        try await connection.write([2, 0], to: bench.configuration)
        let server = bench.server
        let started = Log<Task<Delivered?, Never>>()
        server.onWriteValue(of: bench.application) { _, value in
          switch value {
          case [1]: _ = try? await server.beginIndicating([1], of: bench.values)
          case [2]:
            started.append(Task { try? await server.indicate([2], of: bench.values) })
          default: _ = try? await server.indicate(value, of: bench.values)
          }
        }
        try await bench.settle()
        try await connection.write([1], to: bench.application)
        try await connection.write([2], to: bench.application)
        #expect(await started.all.first?.value?.count == 1)
        #expect(lines.all.isEmpty)
        try await connection.write([3], to: bench.application)
        try await connection.write([4], to: bench.application)
        #expect(lines.count == 1)
        #expect(lines.all.first?.contains("beginIndicating") == true)
        var iterator = values.makeAsyncIterator()
        for number in 1...4 { #expect(try await iterator.next()?.value == [UInt8(number)]) }
      }
    }
  #endif

  @Test func peerOfAClient() async throws {
    try await withDeadline {
      let bench = try await Bench()
      let connection = try await bench.connect()
      let (seen, sink) = AsyncStream<ServedPeer?>.makeStream()
      bench.server.onReadInline(of: bench.application) { [server = bench.server] in
        sink.yield(server.peerNow(of: $0.client))
        return .value([])
      }
      try await bench.settle()
      _ = try await connection.readOnce(bench.application)
      let client = try #require(try await bench.server.clients.first)
      let peer = try #require(try await bench.server.peer(of: client))
      #expect(peer.process?.number == getpid())
      #expect(peer.security.level == .low && !peer.isBonded && peer.address == nil)
      #expect(await seen.first { _ in true } == peer)
      connection.close()
      try await until { try await bench.server.clients.isEmpty }
      #expect(try await bench.server.peer(of: client) == nil)
    }
  }

  @Test func commandsKeepTheirOrder() async throws {
    try await withDeadline {
      let bench = try await Bench()
      let connection = try await bench.connect()
      let taken = Log<Int>()
      bench.server.onWrite(of: bench.application) { (writes) throws(ErrorCode) in
        let value = number(writes[0].value)
        if value % 3 == 0 { await Task.yield() }
        taken.append(value)
        throw .valueNotAllowed
      }
      try await bench.settle()
      for number in 0..<1000 {
        try await connection.writeWithoutResponse(counted(number), to: bench.application)
      }
      await taken.wait(count: 1000)
      #expect(taken.all == Array(0..<1000))
    }
  }

  /// Commands and requests of one client are carried out in order, whatever their handlers.
  @Test func requestsAndCommandsKeepTheirOrder() async throws {
    try await withDeadline {
      let bench = try await Bench()
      let connection = try await bench.connect()
      let taken = Log<Int>()
      for handle in [bench.application, bench.second] {
        bench.server.onWrite(of: handle) { writes in
          for _ in 0..<3 { await Task.yield() }
          taken.append(number(writes[0].value))
        }
      }
      bench.server.onRead(of: bench.application) { _ in
        await Task.yield()
        return counted(taken.count)
      }
      try await bench.settle()
      var sent = 0
      for round in 0..<20 {
        for _ in 0..<20 {
          try await connection.writeWithoutResponse(counted(sent), to: bench.application)
          sent += 1
        }
        switch round % 4 {
        case 0: try await connection.write(counted(sent), to: bench.application)
        case 1: try await connection.write(counted(sent), to: bench.second)
        case 2: try await connection.writeLong(counted(sent), to: bench.second)
        default:
          // A read sees all that was written before it.
          #expect(try await connection.readOnce(bench.application) == counted(sent))
          continue
        }
        sent += 1
      }
      await taken.wait(count: sent)
      #expect(taken.all == Array(0..<sent))

      // A request and a command at once.
      let raw = try await RawConnection.connect(to: bench.endpoint)
      let handle = UInt8(bench.application.rawValue)
      for number in 0..<50 {
        try await raw.send([number % 5 == 0 ? 0x12 : 0x52, handle, 0] + counted(1000 + number))
        if number % 5 == 4 {
          #expect(try await raw.receive(within: .seconds(20)) == [0x13])
        }
      }
      await taken.wait(count: sent + 50)
      #expect(Array(taken.all.suffix(50)) == Array(1000..<1050))
    }
  }

  /// A client that subscribes and never reads delays no other client and costs limited memory.
  @Test func clientThatDoesNotReadIsWaitedFor() async throws {
    try await withDeadline {
      let bench = try await Bench()
      let deaf = try await RawConnection.connect(to: bench.endpoint)
      let configuration = UInt8(bench.configuration.rawValue)
      try await deaf.send([0x12, configuration, 0, 1, 0])
      #expect(try await deaf.receive(within: .seconds(10)) == [0x13])
      let deafClient = try #require(try await bench.server.clients.first)
      let connection = try await bench.connect()
      let values = try await bench.subscribe(connection)
      let client = try #require(try await bench.server.clients.first { $0 != deafClient })
      // RawConnection takes 1024, then the kernel's share, then the outbox.
      let blocked = Task {
        var count = 0
        while true {
          let delivered = try await bench.server.notify(
            counted(count), of: bench.values, to: deafClient)
          if delivered.failures > 0 { return (count, delivered) }
          count += 1
        }
      }
      try await until {
        try await bench.server.onLoop {
          $0.connection(deafClient)?.session.bearer.isCongested == true
        }
      }
      for number in 0..<500 {
        #expect(
          try await bench.server.notify(counted(number), of: bench.values, to: client)
            == Delivered(count: 1))
      }
      var iterator = values.makeAsyncIterator()
      for expected in 0..<500 {
        #expect(try await iterator.next()?.value == counted(expected))
      }
      let byteCount = try await bench.server.onLoop {
        $0.connection(deafClient)?.session.bearer.outbox.byteCount
      }
      let waiting = try #require(byteCount)
      #expect(waiting < 8192 + 23)
      deaf.close()
      let (count, delivered) = try await blocked.value
      #expect(count > 100)
      #expect(delivered == Delivered(count: 0, failures: 1))
    }
  }

  @Test func notifiesSeveralClients() async throws {
    try await withDeadline {
      let bench = try await Bench()
      var subscribed: [(Connection, ReceivedValues)] = []
      for _ in 0..<10 {
        let connection = try await bench.connect()
        subscribed.append((connection, try await bench.subscribe(connection)))
      }
      let silent = try await bench.connect()
      for number in 0..<100 {
        #expect(
          try await bench.server.notify(counted(number), of: bench.values) == Delivered(count: 10))
      }
      for (_, values) in subscribed {
        var iterator = values.makeAsyncIterator()
        for expected in 0..<100 {
          #expect(try await iterator.next()?.value == counted(expected))
        }
      }
      #expect(try await silent.counters.received == 0)
    }
  }

  @Test func oneClientNeverConfirms() async throws {
    try await withDeadline {
      let clock = TestClock()
      let bench = try await Bench(loop: clock.loop)
      let mute = try await RawConnection.connect(to: bench.endpoint)
      try await mute.send([0x12, UInt8(bench.configuration.rawValue), 0, 2, 0])
      #expect(try await mute.receive(within: .seconds(10)) == [0x13])
      let connection = try await bench.connect()
      let values = try await bench.subscribe(connection, as: .indication)
      let indicated = Task { try await bench.server.indicate([1], of: bench.values) }
      var iterator = values.makeAsyncIterator()
      #expect(try await iterator.next()?.isIndication == true)
      // The server handles a request after the confirmation before it.
      _ = try await connection.readOnce(bench.greeting)
      await clock.advance(by: .seconds(30))
      #expect(try await indicated.value == Delivered(count: 1, failures: 1))
      #expect(try await mute.receive(within: .seconds(10))?.first == 0x1D)
      // Its bearer has failed, so its link is closed.
      #expect(
        isDisconnected(await failure { try await mute.receive(within: .seconds(10)) }))
      #expect(try await bench.server.clients.count == 1)
      #expect(try await bench.server.indicate([2], of: bench.values) == Delivered(count: 1))
    }
  }

  @Test func servicesComeAndGo() async throws {
    try await withDeadline {
      let bench = try await Bench()
      let connection = try await bench.connect()
      let changed = try await connection.subscribe(
        to: bench.gatt.characteristics[0].valueHandle,
        cccd: try #require(bench.gatt.characteristics[0].configurationHandle),
        as: .indication)
      let added = try await bench.server.add(
        ServiceDefinition(
          BluetoothUUID(0x180F as UInt16),
          characteristics: [
            CharacteristicDefinition(
              BluetoothUUID(0x2A19 as UInt16), properties: .read, value: .constant([99]))
          ]))
      var iterator = changed.makeAsyncIterator()
      let first = try #require(try await iterator.next())
      #expect(first.value == octets(of: added.range))
      #expect(try await connection.readOnce(added.characteristics[0].valueHandle) == [99])
      let removed = try await bench.server.remove(service: added.range.start)
      #expect(removed == added.range)
      let second = try #require(try await iterator.next())
      #expect(second.value == octets(of: removed))
      #expect(
        await failure { try await connection.readOnce(added.characteristics[0].valueHandle) }
          == .refused(
            ErrorResponse(
              request: .readRequest, handle: added.characteristics[0].valueHandle,
              code: .invalidHandle)))
      #expect(
        await failure { try await bench.server.remove(service: added.range.start) }
          == .database(.noSuchService(added.range.start)))
    }
  }

  /// A removed service takes its handlers along: they do not answer for a later service with the
  /// same handles, and what they hold is released.
  @Test func aRemovedServiceTakesItsHandlersAlong() async throws {
    try await withDeadline {
      final class Held: Sendable {}
      let bench = try await Bench()
      let definition = ServiceDefinition(
        BluetoothUUID(0x180F as UInt16),
        characteristics: [
          CharacteristicDefinition(
            BluetoothUUID(0x2A19 as UInt16), properties: [.read, .write],
            value: .application(ValueLimits()))
        ])
      var added = try await bench.server.add(definition)
      let handle = added.characteristics[0].valueHandle
      weak var held: Held?
      do {
        let strong = Held()
        held = strong
        bench.server.onReadInline(of: handle) { _ in
          withExtendedLifetime(strong) { .value([1]) }
        }
        bench.server.onWriteInline(of: handle) { _, _ in
          withExtendedLifetime(strong) { .accepted }
        }
        bench.server.onReadInline(of: bench.application) { _ in .value([2]) }
      }
      let connection = try await bench.connect()
      #expect(try await connection.readOnce(handle) == [1])
      try await connection.write([9], to: handle)
      _ = try await bench.server.remove(service: added.range.start)
      #expect(held == nil)
      added = try await bench.server.add(definition)
      #expect(added.characteristics[0].valueHandle == handle)
      let refusal = await failure { try await connection.readOnce(handle) }
      #expect(
        refusal
          == .refused(
            ErrorResponse(request: .readRequest, handle: handle, code: .readNotPermitted)))
      #expect(await failure { try await connection.write([9], to: handle) } != nil)
      // Those of other services stay.
      #expect(try await connection.readOnce(bench.application) == [2])
    }
  }

  @Test func tooManyClients() async throws {
    try await withDeadline {
      var limits = ServerLimits()
      limits.clients = 2
      let bench = try await Bench(limits: limits)
      let first = try await bench.connect()
      let second = try await bench.connect()
      #expect(try await first.readOnce(bench.greeting) == Bench.hello)
      #expect(try await second.readOnce(bench.greeting) == Bench.hello)
      let third = try await bench.connect()
      try await third.waitUntilClosed()
      await bench.failures.wait(count: 1)
      #expect(bench.failures.all == [.tooManyClients(limit: 2)])
      first.close()
      try await until { try await bench.server.clients.count == 1 }
      let fourth = try await bench.connect()
      #expect(try await fourth.readOnce(bench.greeting) == Bench.hello)
    }
  }

  /// A client that is refused learns why.
  @Test func aRefusedClientGetsInsufficientResources() async throws {
    try await withDeadline {
      let bench = try await Bench(limits: ServerLimits(clients: 1))
      let first = try await bench.connect()
      #expect(try await first.readOnce(bench.greeting) == Bench.hello)
      let second = try await bench.connect()
      #expect(
        await failure { try await second.readOnce(bench.greeting) }
          == .refused(
            ErrorResponse(
              request: .readRequest, handle: bench.greeting, code: .insufficientResources)))
      try await second.waitUntilClosed()
      #expect(bench.failures.all == [.tooManyClients(limit: 1)])
      #expect(try await first.readOnce(bench.greeting) == Bench.hello)
    }
  }

  @Test func refusalsOfPDUs() {
    let cases: [(pdu: [UInt8], refusal: [UInt8]?)] = [
      ([0x02, 0x17, 0], [1, 2, 0, 0, 0x11]), ([0x10, 1, 0, 0xFF], [1, 0x10, 1, 0, 0x11]),
      ([0x0A], [1, 0x0A, 0, 0, 0x11]), ([], nil), ([0x52, 3, 0], nil), ([0x1E], nil),
      ([0x0B, 1], nil),
    ]
    for (pdu, refusal) in cases {
      #expect(RefusedClient.refusal(of: pdu.span.bytes) == refusal, "\(pdu)")
    }
  }

  /// More are refused than can be told why at a time.
  @Test func manyRefusedClientsAreClosed() async throws {
    try await withDeadline {
      let bench = try await Bench(limits: ServerLimits(clients: 1))
      let first = try await bench.connect()
      #expect(try await first.readOnce(bench.greeting) == Bench.hello)
      var refused: [Connection] = []
      for _ in 0..<RefusedClient.limit + 8 { refused.append(try await bench.connect()) }
      await bench.failures.wait(count: refused.count)
      for connection in refused { try await connection.waitUntilClosed() }
      #expect(try await first.readOnce(bench.greeting) == Bench.hello)
    }
  }

  /// In a full server a client that has said nothing gives its place to a new one.
  @Test func aSilentClientGivesUpItsPlace() async throws {
    try await withDeadline {
      let bench = try await Bench(limits: ServerLimits(clients: 2))
      let first = try await bench.connect()
      #expect(try await first.readOnce(bench.greeting) == Bench.hello)
      let silent = try await bench.connect()
      try await until { try await bench.server.clients.count == 2 }
      let third = try await bench.connect()
      #expect(try await third.readOnce(bench.greeting) == Bench.hello)
      try await silent.waitUntilClosed()
      #expect(isDisconnected(await silent.endReason))
      await bench.events.wait { events in
        events.contains {
          if case .evicted(_, _, .tooManyClients(limit: 2)) = $0 { true } else { false }
        }
      }
      #expect(bench.failures.all.isEmpty)
      #expect(try await first.readOnce(bench.greeting) == Bench.hello)
    }
  }

  /// Clients without a subscription that send nothing are disconnected, if the options say so.
  @Test func idleClientsAreDisconnected() async throws {
    try await withDeadline {
      let clock = TestClock()
      var options = ListenOptions()
      options.idleLimit = .seconds(300)
      let bench = try await Bench(loop: clock.loop, options: options)
      let subscriber = try await bench.connect()
      let values = try await bench.subscribe(subscriber)
      let idle = try await bench.connect()
      await clock.advance(by: .seconds(299))
      #expect(try await idle.readOnce(bench.greeting) == Bench.hello)
      await clock.advance(by: .seconds(299))
      #expect(try await bench.server.clients.count == 2)
      await clock.advance(by: .seconds(1))
      try await idle.waitUntilClosed()
      await bench.events.wait { events in
        events.contains {
          if case .evicted(_, _, .idle(for: .seconds(300))) = $0 { true } else { false }
        }
      }
      #expect(try await subscriber.readOnce(bench.greeting) == Bench.hello)
      withExtendedLifetime((clock, values)) {}
    }
  }

  /// A process that cannot allocate memory aborts, so there are as many clients as fit.
  @Test func limitedMemoryAllowsFewerClients() {
    #expect(ServerLimits.fitting(nil, receiveMTU: 517) == ServerLimits())
    #expect(ServerLimits.fitting(1 << 30, receiveMTU: 517) == ServerLimits())
    #expect(ServerLimits.fitting(6 << 20, receiveMTU: 517).clients == 84)
    #expect(ServerLimits.fitting(6 << 20, receiveMTU: 65_535).clients == 36)
    #expect(ServerLimits.fitting(0, receiveMTU: 517).clients == 1)
  }

  /// H29, with unfinished requests. Nothing is left afterwards.
  @Test func twoCentralsReconnectRapidly() async throws {
    try await withDeadline {
      let bench = try await Bench()
      let cores = WeakBoxes()
      let observation = try await bench.server.observe { [core = bench.server.core] event in
        if case .connected = event, let last = core.value.connections.last {
          cores.add(last, last.session)
        }
      }
      try await withThrowingTaskGroup(of: Void.self) { group in
        for central in 0..<2 {
          group.addTask {
            for turn in 0..<250 {
              let connection = try await bench.connect()
              cores.add(try await connection.onLoop { WeakBox($0) })
              switch (turn + central) % 4 {
              case 0: #expect(try await connection.readOnce(bench.greeting) == Bench.hello)
              case 1: _ = try await bench.subscribe(connection)
              case 2:
                // One that leaves without a word may never have been accepted.
                _ = try await connection.exchangeMTU()
                let pending = Task { try? await connection.readOnce(bench.greeting) }
                await Task.yield()
                connection.close()
                _ = await pending.value
              default: #expect(try await connection.exchangeMTU() >= 23)
              }
              if turn % 2 == 0 { connection.close() }
            }
          }
        }
        try await group.waitForAll()
      }
      try await until { try await bench.server.clients.isEmpty }
      await bench.events.wait { events in
        events.count { if case .disconnected = $0 { true } else { false } } == 500
      }
      #expect(cores.count == 1500)
      try await until { cores.living == 0 }
      #expect(bench.failures.all.isEmpty)
      withExtendedLifetime(observation) {}
    }
  }

  /// A client's first event is `connected`, its last one `disconnected`.
  @Test func eventsComeInOrder() async throws {
    try await withDeadline {
      let bench = try await Bench()
      let connection = try await bench.connect()
      _ = try await bench.subscribe(connection)
      try await connection.write([1], to: bench.greeting)
      connection.close()
      await bench.events.wait(count: 4)
      let client: ClientID? =
        if case .connected(let id, _) = bench.events.all[0] { id } else { nil }
      let id = try #require(client)
      let peer: String =
        if case .connected(_, let peer) = bench.events.all[0] { peer } else { "" }
      #expect(
        bench.events.all == [
          .connected(id, peer: peer),
          .server(.configured(value: bench.values, .notification, by: id)),
          .server(.valueWritten(bench.greeting, by: id)),
          .disconnected(id, peer: peer),
        ])
    }
  }
}

/// A weak reference to an object.
final class WeakBox: @unchecked Sendable {
  weak var object: AnyObject?
  init(_ object: AnyObject) { self.object = object }
}

final class WeakBoxes: Sendable {
  private let boxes = Log<WeakBox>()
  func add(_ objects: AnyObject...) { for object in objects { boxes.append(WeakBox(object)) } }
  func add(_ box: WeakBox) { boxes.append(box) }
  var count: Int { boxes.count }
  var living: Int { boxes.all.count { $0.object != nil } }
}

/// A range as in Service Changed.
private func octets(of range: HandleRange) -> [UInt8] {
  [range.start, range.end].flatMap { [UInt8($0.rawValue & 0xFF), UInt8($0.rawValue >> 8)] }
}
