import AttoLinks
import AttoSimulation
import Foundation
import Glibc
import TestSupport
import Testing

@testable import Atto

@Suite(.oneByOne) struct ValueTests {
  /// H28: a notification that overtakes the response to the subscription.
  @Test func valuesBeforeTheResponseAreNotLost() async throws {
    try await withDeadline {
      let peer = try RawPeer()
      let connection = try await peer.connect()
      async let subscription = connection.subscribe(to: 3, cccd: 4)
      await peer.expect([0x12, 4, 0, 1, 0])
      peer.send(notification(3, 1))
      peer.send([0x13])
      peer.send(notification(3, 2))
      var iterator = try await subscription.makeAsyncIterator()
      #expect(try await iterator.next()?.value == counted(1))
      #expect(try await iterator.next()?.value == counted(2))
    }
  }

  /// A value that an ATT_MTU of 65,535 allows and the queue does not.
  @Test func theLongestValues() async throws {
    try await withDeadline {
      let peer = try RawPeer()
      let connection = try await peer.connect { $0.receiveMTU = 65_535 }
      async let exchange = connection.exchangeMTU()
      await peer.expect([0x02, 0xFF, 0xFF])
      peer.send([0x03, 0xFF, 0xFF])
      #expect(try await exchange == 65_535)
      let values = try await connection.values(of: 3)
      async let read = connection.readOnce(3)
      await peer.expect([0x0A, 3, 0])
      for count in [65_524, 65_520] {
        peer.send([0x1B, 3, 0] + [UInt8](repeating: 7, count: count))
      }
      peer.send([0x0B])
      #expect(try await read == [])
      var iterator = values.makeAsyncIterator()
      let value = try await iterator.next()
      #expect(value?.value.count == 65_520)
      #expect(value?.missed == 1)
    }
  }

  /// 20,000 values through a queue of eight, for a consumer that begins late.
  @Test func slowConsumerHoldsThePeerBack() async throws {
    try await withDeadline {
      let peer = try RawPeer()
      let connection = try await peer.connect { $0.valueLimit = 8 }
      let values = try await connection.values(of: 3)
      var sent = 0
      // Until the socket and the queue are full.
      while peer.send(notification(3, sent), waits: false) { sent += 1 }
      try await until { try await connection.counters.received >= 8 }
      while peer.send(notification(3, sent), waits: false) { sent += 1 }
      #expect(sent < 5000)
      #expect(try await connection.counters.received == 8)
      let first = sent
      Thread.detachNewThread {
        for number in first..<20_000 { peer.send(notification(3, number)) }
        peer.close()
      }
      var next = 0
      var error: AttoError?
      do {
        for try await value in values {
          #expect(value.missed == 0)
          if number(value.value) != next { Issue.record("\(value) is not \(next)") }
          next += 1
          if next % 100 == 0 { _ = try await connection.mtu }
        }
      } catch let thrown as AttoError {
        error = thrown
      }
      #expect(next == 20_000)
      #expect(isDisconnected(error))
    }
  }

  /// Limits of eight counted values: a number, and octets with 17 for each value.
  static let limits = [(8, 1 << 20), (1024, 8 * 20)]

  /// While a response is awaited the peer cannot be held back: lost values are counted.
  @Test(arguments: limits) func overflowIsCounted(values limit: Int, octets: Int) async throws {
    try await withDeadline {
      let peer = try RawPeer()
      let connection = try await peer.connect {
        $0.valueLimit = limit
        $0.valueOctetLimit = octets
      }
      let values = try await connection.values()
      async let read = connection.readOnce(9)
      await peer.expect([0x0A, 9, 0])
      for number in 0..<100 { peer.send(notification(3, number)) }
      peer.send([0x0B, 1])
      #expect(try await read == [1])
      var iterator = values.makeAsyncIterator()
      for expected in 0..<32 {
        let value = try #require(try await iterator.next())
        #expect(number(value.value) == expected)
        #expect(value.missed == 0)
      }
      peer.send(notification(3, 100))
      let value = try #require(try await iterator.next())
      #expect(value.value == counted(100))
      #expect(value.missed == 68)
    }
  }

  @Test func twoSequencesGetAll() async throws {
    try await withDeadline {
      let peer = try RawPeer()
      let connection = try await peer.connect()
      let all = try await connection.values()
      let some = try await connection.values(of: 3)
      for number in 0..<50 { peer.send(notification(number % 2 == 0 ? 3 : 5, number)) }
      var iterator = all.makeAsyncIterator()
      for expected in 0..<50 {
        #expect(try await iterator.next()?.value == counted(expected))
      }
      iterator = some.makeAsyncIterator()
      for expected in stride(from: 0, to: 50, by: 2) {
        #expect(try await iterator.next()?.value == counted(expected))
      }
    }
  }

  /// Two tasks with one sequence: each value goes to one of them, and both end.
  @Test func twoTasksAtOneSequenceBothEnd() async throws {
    try await withDeadline {
      let peer = try RawPeer()
      let connection = try await peer.connect()
      let values = try await connection.values()
      let taken = Log<Int>()
      let ended = Log<Bool>()
      for _ in 0..<2 {
        Task {
          do {
            for try await value in values { taken.append(number(value.value)) }
            ended.append(true)
          } catch {
            ended.append(false)
          }
        }
      }
      for number in 0..<20 { peer.send(notification(3, number)) }
      await taken.wait(count: 20)
      #expect(Set(taken.all) == Set(0..<20))
      connection.close()
      await ended.wait(count: 2)
      #expect(ended.all == [true, true])
    }
  }

  @Test func unclaimedValuesAreCounted() async throws {
    try await withDeadline {
      let peer = try RawPeer()
      let connection = try await peer.connect()
      let values = try await connection.values(of: 5)
      for number in 0..<10 { peer.send(notification(3, number)) }
      // An indication without a consumer is confirmed too.
      peer.send([0x1D, 3, 0, 1])
      await peer.expect([0x1E])
      #expect(try await connection.counters.unclaimedValues == 11)
      _ = values
    }
  }

  @Test func multipleValuesArriveInOrder() async throws {
    try await withDeadline {
      let peer = try RawPeer()
      let connection = try await peer.connect()
      let values = try await connection.values()
      peer.send([0x23, 3, 0, 1, 0, 0xAA, 5, 0, 0, 0])
      var iterator = values.makeAsyncIterator()
      let first = try #require(try await iterator.next())
      let second = try #require(try await iterator.next())
      #expect((first.handle, first.value) == (3, [0xAA]))
      #expect((second.handle, second.value) == (5, []))
    }
  }

  /// A consumer that is released no longer holds the peer back.
  @Test(arguments: limits) func releasedSequenceHoldsBackNoPeer(
    values limit: Int, octets: Int
  ) async throws {
    try await withDeadline {
      let peer = try RawPeer()
      let connection = try await peer.connect {
        $0.valueLimit = limit
        $0.valueOctetLimit = octets
      }
      var values: ReceivedValues? = try await connection.values()
      for number in 0..<100 { peer.send(notification(3, number)) }
      try await until { try await connection.counters.received == 8 }
      withExtendedLifetime(values) {}
      values = nil
      try await until { try await connection.counters.received == 100 }
    }
  }

  /// Cancelled at any time, the creation of a sequence leaves no queue behind.
  @Test func cancelledSequenceHoldsBackNoPeer() async throws {
    try await withDeadline {
      let peer = try RawPeer()
      let connection = try await peer.connect { $0.valueLimit = 8 }
      for _ in 0..<500 {
        let task = Task { _ = try await connection.values() }
        await Task.yield()
        task.cancel()
        _ = await task.result
      }
      try await until { try await connection.onLoop { $0.values.queues.isEmpty } }
      for number in 0..<100 { peer.send(notification(3, number)) }
      try await until { try await connection.counters.received == 100 }
    }
  }

  /// The response comes after values that are not consumed, and the peer has stopped.
  @Test func responseIsReadBehindUnconsumedValues() async throws {
    try await withDeadline {
      let bench = try await Bench()
      let connection = try await bench.connect { $0.valueLimit = 8 }
      let values = try await bench.subscribe(connection)
      let sender = Task {
        while !Task.isCancelled { try await bench.server.notify(counted(1), of: bench.values) }
      }
      // The server is blocked: it reads no requests.
      try await until {
        try await bench.server.onLoop { $0.connections.first?.session.bearer.isCongested == true }
      }
      #expect(try await connection.readOnce(bench.greeting) == Bench.hello)
      sender.cancel()
      withExtendedLifetime(values) {}
    }
  }

  /// A notification or indication carries ATT_MTU - 3 octets at most: 20 without an exchange.
  @Test(arguments: [20, 21, 512])
  func tellsWhatWasCut(count: Int) async throws {
    try await withDeadline {
      let bench = try await Bench()
      let short = try await bench.connect()
      let long = try await bench.connect {
        $0.receiveMTU = 517
        $0.exchangesMTU = true
      }
      let values = (try await bench.subscribe(short), try await bench.subscribe(long))
      let value = [UInt8](repeating: 7, count: count)
      let cut = count > 20 ? 1 : 0
      let handle = bench.values
      let expected = Delivered(count: 2, cut: cut)
      #expect(try await bench.server.notify(value, of: handle) == expected)
      #expect(try await bench.server.notifyIfRoom(value, of: handle) == expected)
      #expect(
        try await bench.server.onLoop { _ in
          bench.server.notifyNow(value.span.bytes, of: handle)
        } == expected)
      let onTheLoop = Task(executorPreference: bench.server.loop.tasks) {
        try await bench.server.notify(value, of: handle)
      }
      #expect(try await onTheLoop.value == expected)
      var iterator = values.0.makeAsyncIterator()
      #expect(try await iterator.next()?.value == Array(value.prefix(20)))
      withExtendedLifetime(values) {}
    }
  }

  /// The confirmation comes after values that are not consumed.
  @Test func confirmationIsReadBehindUnconsumedValues() async throws {
    try await withDeadline {
      let peer = try RawPeer()
      let server = LocalServer(Database())
      let layout = try await server.add(Bench.service)
      let connection = try await peer.connect(server: server) { $0.valueLimit = 8 }
      let configuration = try #require(layout.characteristics[2].configurationHandle)
      peer.send([0x12, UInt8(configuration.rawValue), 0, 2, 0])
      await peer.expect([0x13])
      let values = try await connection.values()
      for number in 0..<20 { peer.send(notification(3, number)) }
      try await until { try await connection.counters.received >= 9 }
      let handle = layout.characteristics[2].valueHandle
      async let delivered = server.indicate([1], of: handle)
      await peer.expect([0x1D, UInt8(handle.rawValue), 0, 1])
      peer.send([0x1E])
      #expect(try await delivered == Delivered(count: 1))
      withExtendedLifetime(values) {}
    }
  }

  /// The end is detected although values wait that are not consumed, and they can still be received.
  @Test func endIsReadBehindUnconsumedValues() async throws {
    try await withDeadline {
      let peer = try RawPeer()
      let connection = try await peer.connect { $0.valueLimit = 8 }
      let values = try await connection.values()
      for number in 0..<100 { peer.send(notification(3, number)) }
      try await until { try await connection.counters.received >= 8 }
      peer.close()
      try await connection.waitUntilClosed()
      #expect(isDisconnected(await connection.endReason))
      var iterator = values.makeAsyncIterator()
      for expected in 0..<100 {
        let value = try #require(try await iterator.next())
        #expect(number(value.value) == expected)
        #expect(value.missed == 0)
      }
      #expect(isDisconnected(await failure { try await iterator.next() }))
    }
  }

  /// A peer that disconnects while this end writes: what it sent before is not lost.
  @Test func valuesAreReceivedThoughWritingFails() async throws {
    try await withDeadline {
      let peer = try RawPeer()
      let connection = try await peer.connect { $0.valueLimit = 8 }
      let values = try await connection.values()
      for number in 0..<100 { peer.send(notification(3, number)) }
      try await until { try await connection.counters.received >= 8 }
      // In one step of the loop: the peer disconnects, and this end writes before it is told.
      let result = try await connection.onLoop { core in
        peer.close()
        return core.writeWithoutResponse(3, ([1] as [UInt8]).span.bytes)
      }
      _ = result
      try await connection.waitUntilClosed()
      #expect(isDisconnected(await connection.endReason))
      var iterator = values.makeAsyncIterator()
      for expected in 0..<100 {
        #expect(try await iterator.next()?.value == counted(expected))
      }
    }
  }

  /// A link with delays is polled by time alone.
  @Test func delayedPDUsAreReceived() async throws {
    try await withDeadline {
      let peer = try RawPeer()
      let descriptor = peer.other
      let connection = try await Connection.adopt({ () throws(LinkError) in
        FaultyLink(
          try SocketLink.adopt(descriptor), seed: 1,
          incoming: Faults(delay: 1, delays: .milliseconds(5)...(.milliseconds(20))))
      })
      let values = try await connection.values()
      for number in 0..<20 { peer.send(notification(3, number)) }
      var seen = Set<Int>()
      for try await value in values {
        seen.insert(number(value.value))
        if seen.count == 20 { break }
      }
    }
  }
}
