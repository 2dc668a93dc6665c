import AttoFormats
import AttoRelay
import TestSupport
import Testing

@testable import Atto

/// The events of a relay, in order.
private typealias Events = Log<RelayEvent>

extension Log where Element == RelayEvent {
  /// Each reported PDU.
  fileprivate var pdus: [(isSent: Bool, octets: [UInt8])] {
    all.compactMap { event in
      guard case .pdu(_, let pdu) = event else { return nil }
      return (pdu.direction == .sent, pdu.octets)
    }
  }

  fileprivate var ends: [RelayEnd] {
    all.compactMap { if case .ended(_, let end, _) = $0 { end } else { nil } }
  }

  fileprivate var undelivered: Int {
    all.reduce(0) { if case .ended(_, _, let count) = $1 { $0 + count } else { $0 } }
  }
}

/// PDUs between two links.
@Suite(.oneByOne) struct RawRelayTests {
  /// A relay between two sockets of the test.
  private func between(
    _ client: RawPeer, _ server: RawPeer, _ events: Events
  ) async throws -> RawRelay {
    try await RawRelay.listen(on: client.endpoint, to: server.endpoint) { events.append($0) }
  }

  @Test func passesPDUsUnchanged() async throws {
    try await withDeadline {
      let (client, server, events) = (try RawPeer(), try RawPeer(), Events())
      let relay = try await between(client, server, events)
      let sent: [[UInt8]] = [
        [0x0A, 0x03, 0x00], [0xFF], [0x0A], [UInt8](repeating: 7, count: 600),
      ]
      for pdu in sent {
        client.send(pdu)
        await server.expect(pdu)
        server.send(pdu)
        await client.expect(pdu)
      }
      #expect(events.pdus.map(\.octets) == sent.flatMap { [$0, $0] })
      #expect(events.pdus.map(\.isSent) == sent.flatMap { _ in [true, false] })
      #expect(relay.endpoint == client.endpoint.description)
    }
  }

  /// Rules drop, replace, repeat and answer; the order of each direction stays.
  @Test func changesWhatItPasses() async throws {
    try await withDeadline {
      let (client, server, events) = (try RawPeer(), try RawPeer(), Events())
      let rules = """
        > 52 01 : drop
        > 0a ... : error 05
        > 12 ... : answer 13
        > 52 02 : repeat 3
        < 1b ... : replace 1b ...
        < 1d 01 : delay 20ms
        mtu 23
        """
      let relay = try await RawRelay.listen(
        on: client.endpoint, to: server.endpoint, changes: PDUChanges(text: Array(rules.utf8))
      ) { events.append($0) }
      client.send([0x52, 1])
      client.send([0x52, 2])
      client.send([0x02, 0xF7, 1])
      for _ in 0..<3 { await server.expect([0x52, 2]) }
      await server.expect([0x02, 23, 0])
      // None of many answers is lost.
      for _ in 0..<80 {
        client.send([0x0A, 3, 0])
        client.send([0x12, 3, 0, 1])
      }
      for _ in 0..<80 {
        await client.expect([1, 0x0A, 3, 0, 5])
        await client.expect([0x13])
      }
      server.send([0x1D, 1])
      server.send([0x1B, 7])
      await client.expect([0x1D, 1])
      await client.expect([0x1B, 7])
      let changed = events.all.compactMap { event in
        if case .changed(_, let changed) = event { changed.line } else { nil }
      }
      #expect(changed == [1, 4, 7] + (0..<80).flatMap { _ in [2, 3] } + [6])
      relay.stop()
    }
  }

  @Test func theLongestPDUPassesAndALongerOneEndsBoth() async throws {
    try await withDeadline {
      let (client, server, events) = (try RawPeer(), try RawPeer(), Events())
      let relay = try await between(client, server, events)
      let longest = [UInt8](repeating: 0x52, count: RawRelay.longestPDU)
      client.send(longest)
      await server.expect(longest)
      server.send(longest + [0])
      await client.expect([])
      await server.expect([])
      await events.wait { $0.contains { if case .ended = $0 { true } else { false } } }
      guard case .notPassed(.peer, RawRelay.longestPDU + 1, let error) = events.ends.first else {
        Issue.record("\(events.ends)")
        return
      }
      #expect(error.description.contains("the limit is 65535"))
      #expect(events.pdus.count == 1)
      relay.stop()
    }
  }

  @Test func eachEndIsPassedOn() async throws {
    for side in [RelaySide.client, .peer] {
      try await withDeadline {
        let (client, server, events) = (try RawPeer(), try RawPeer(), Events())
        let relay = try await between(client, server, events)
        let (leaving, staying) = side == .client ? (client, server) : (server, client)
        for number: UInt8 in 0..<50 { leaving.send([0x52, number]) }
        leaving.close()
        for number: UInt8 in 0..<50 { await staying.expect([0x52, number]) }
        await staying.expect([])
        await events.wait { $0.contains { if case .ended = $0 { true } else { false } } }
        #expect(events.ends == [.closed(by: side)] && events.undelivered == 0)
        relay.stop()
        #expect(events.ends.count == 1)
      }
    }
  }

  @Test func holdsBackASenderWhosePeerDoesNotRead() async throws {
    try await withDeadline {
      let (client, server, events) = (try RawPeer(), try RawPeer(), Events())
      let relay = try await between(client, server, events)
      // Until two sockets are full and nothing has moved for a while.
      var sent: UInt16 = 0
      var still = 0
      while still < 50, sent < 5000 {
        if server.send([0x1B, UInt8(sent & 0xFF), UInt8(sent >> 8)], waits: false) {
          sent += 1
          still = 0
        } else {
          still += 1
          try await Loop.shared.sleep(for: .milliseconds(2))
        }
      }
      #expect(sent < 5000)
      // One is held; the rest is in the sockets.
      #expect(events.pdus.count < Int(sent))
      for number in 0..<sent {
        await client.expect([0x1B, UInt8(number & 0xFF), UInt8(number >> 8)])
      }
      #expect(events.pdus.count == Int(sent))
      relay.stop()
    }
  }

  @Test func stopsInTheMiddle() async throws {
    try await withDeadline {
      let (client, server, events) = (try RawPeer(), try RawPeer(), Events())
      let relay = try await between(client, server, events)
      while server.send([0x1B, 0, 0], waits: false) || events.pdus.isEmpty {
        await Task.yield()
      }
      relay.stop()
      // The client gets what had been passed, and then the end.
      while await client.receive() != [] {}
      await events.wait { $0.contains { if case .ended = $0 { true } else { false } } }
      #expect(events.ends == [.stopped])
    }
  }

  @Test func limitsTheNumberOfClients() async throws {
    try await withDeadline {
      let (folder, events) = (TemporaryFolder(), Events())
      let (place, peer) = (
        try Endpoint("unix:" + folder.socket("a")), try Endpoint("unix:" + folder.socket("b"))
      )
      let server = try await RawListener.listen(on: peer)
      let relay = try await RawRelay.listen(on: place, to: peer) { events.append($0) }
      var clients: [RawConnection] = []
      for _ in 0...RawRelay.clientLimit {
        clients.append(try await RawConnection.connect(to: place))
      }
      await events.wait { $0.contains { if case .refused = $0 { true } else { false } } }
      await #expect(throws: AttoError.self) {
        try await clients[RawRelay.clientLimit].receive(within: .seconds(10))
      }
      let first = try #require(try await server.accept(within: .seconds(10)))
      try await clients[0].send([1])
      #expect(try await first.receive(within: .seconds(10)) == [1])
      // A client that disconnects makes room.
      clients[0].close()
      await events.wait { $0.contains { if case .ended = $0 { true } else { false } } }
      let next = try await RawConnection.connect(to: place)
      try await next.send([2])
      await events.wait { $0.contains { if case .pdu(65, _) = $0 { true } else { false } } }
      relay.stop()
      await #expect(throws: AttoError.self) { try await next.receive(within: .seconds(10)) }
    }
  }

  @Test func anAbsentPeerEndsTheClient() async throws {
    try await withDeadline {
      let (folder, events) = (TemporaryFolder(), Events())
      let place = try Endpoint("unix:" + folder.socket("a"))
      let relay = try await RawRelay.listen(
        on: place, to: try Endpoint("unix:" + folder.socket("none"))
      ) { events.append($0) }
      let client = try await RawConnection.connect(to: place)
      await #expect(throws: AttoError.self) { try await client.receive(within: .seconds(10)) }
      guard case .unreachable(.link) = events.ends.first else {
        Issue.record("\(events.ends)")
        return
      }
      relay.stop()
    }
  }

  @Test func aReleasedRelayEnds() async throws {
    try await withDeadline {
      let (client, server, events) = (try RawPeer(), try RawPeer(), Events())
      var relay: RawRelay? = try await between(client, server, events)
      client.send([1])
      await server.expect([1])
      relay = nil
      _ = relay
      await client.expect([])
      await server.expect([])
      await events.wait { $0.contains { if case .ended = $0 { true } else { false } } }
      #expect(events.ends == [.stopped])
    }
  }
}
