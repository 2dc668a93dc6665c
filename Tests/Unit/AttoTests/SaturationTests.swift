import AttoATT
import AttoEventLoop
import AttoLinks
import TestSupport
import Testing

@testable import Atto

/// A link that counts the PDUs it is offered, and has room when the test says so.
private final class CountingLink: Link {
  weak var observer: (any LinkObserver)?
  var hasRoom = false
  private(set) var offers = 0
  private(set) var sent: [[UInt8]] = []

  var descriptor: Int32? { nil }
  var peerName: String { "counting" }
  var security: LinkSecurity { .low }
  func send(_ pdu: RawSpan) throws(LinkError) -> SendOutcome {
    offers += 1
    guard hasRoom else { return .wouldBlock }
    sent.append(pdu.owned)
    return .sent
  }
  func receive(into buffer: inout OutputRawSpan) throws(LinkError) -> ReceiveOutcome { .wouldBlock }
  func close() {}
  func raiseSecurity(to level: SecurityLevel) throws(LinkError) {}
}

/// A server that sends as much as its links accept.
@Suite(.oneByOne) struct SaturationTests {
  /// One loop has both ends, so that the link is full at each poll: when room is made, more is sent in
  /// the same turn. The client's requests must be received nevertheless.
  @Test(arguments: [nil, 4096]) func clientOfAnEndlessSenderIsServed(_ buffer: Int?) async throws {
    try await withDeadline(seconds: 60) {
      let loop = try Loop(name: "both ends")
      try loop.start()
      defer { loop.stop() }
      var options = ListenOptions()
      options.connection.sendBuffer = buffer
      let bench = try await Bench(loop: loop, options: options)
      let connection = try await bench.connect(loop: loop)
      let seen = Log<Void>()
      connection.observeValues { _, _ in if seen.count < 1000 { seen.append(()) } }
      try await connection.write([1, 0], to: bench.configuration)
      let (server, values) = (bench.server, bench.values)
      let sending = Task(executorPreference: loop.tasks) {
        let value = [UInt8](repeating: 0x34, count: 20)
        while !Task.isCancelled { try await server.notify(value, of: values) }
      }
      defer { sending.cancel() }
      await seen.wait(count: 1000)
      for _ in 0..<10 { #expect(try await connection.readOnce(bench.greeting) == Bench.hello) }
      try await connection.write([0, 0], to: bench.configuration)
    }
  }

  /// The link has room for all values, so that the sender never waits. A request that is there when it
  /// begins is answered nevertheless before many are sent.
  @Test func aRequestIsAnsweredWhileASenderNeverWaits() async throws {
    let peer = try RawPeer()
    let bench = try await Bench()
    let connection = try await bench.serve(subscribed: peer)
    let (server, values) = (bench.server, bench.values)
    let greeting = bench.greeting.rawValue
    try await Task(executorPreference: serverLoop.tasks) {
      peer.send([0x0A, UInt8(greeting), UInt8(greeting >> 8)])
      for number in 0..<200 { try await server.notify(counted(number), of: values) }
    }.value
    var before = 0
    while await peer.receive().first == 0x1B { before += 1 }
    #expect(before <= Int(UnwaitedCalls.callsBetweenYields))
    connection.close()
  }

  /// A link that has refused a PDU is not offered another until it reports room.
  @Test func aFullLinkIsNotOfferedEachPDU() async throws {
    try await withDeadline(seconds: 60) {
      let loop = Loop.shared
      let link = try await loop.withWaiter {
        (waiter: Waiter<LoopBound<CountingLink>, AttoError>) in
        waiter.resume(.success(LoopBound(CountingLink(), loop)))
      }
      let connection = try await loop.withWaiter {
        (waiter: Waiter<Connection, AttoError>) in
        waiter.resume(Connection.make(link.value, ConnectionOptions(), nil, loop))
      }
      try await Task(executorPreference: loop.tasks) {
        for number in 0..<300 { try await connection.writeWithoutResponse(counted(number), to: 9) }
        let offers = link.value.offers
        #expect(offers == 1)
        link.value.hasRoom = true
        link.value.observer?.linkReady(.writable)
        try await until { link.value.sent.count == 300 }
        let (sent, all) = (link.value.sent, link.value.offers)
        #expect(sent == (0..<300).map { [0x52, 9, 0] + counted($0) })
        #expect(all == 301)
      }.value
      connection.close()
    }
  }
}
