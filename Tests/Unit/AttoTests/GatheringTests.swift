import AttoATT
import AttoEventLoop
import AttoLinks
import Glibc
import TestSupport
import Testing

@testable import Atto

/// Commands and notifications from code on the loop are sent together. The only visible effect is
/// fewer system calls.
@Suite(.oneByOne) struct GatheringTests {
  private func command(_ number: Int) -> [UInt8] { [0x52, 9, 0] + counted(number) }

  /// What has arrived at a raw peer by now.
  private func arrived(_ peer: RawPeer) -> [[UInt8]] {
    var all: [[UInt8]] = []
    while true {
      var octets = [UInt8](repeating: 0, count: 1024)
      let count = recv(peer.descriptor, &octets, octets.count, Int32(MSG_DONTWAIT))
      guard count > 0 else { return all }
      all.append(Array(octets[..<count]))
    }
  }

  @Test func commandsGoByTheBatchInOrder() async throws {
    let peer = try RawPeer()
    let connection = try await peer.connect()
    try await Task(executorPreference: connection.loop.tasks) {
      let limit = ConnectionCore.gatheredPDUs
      for number in 0..<(limit - 1) {
        try await connection.writeWithoutResponse(counted(number), to: 9)
      }
      #expect(arrived(peer) == [])
      try await connection.writeWithoutResponse(counted(limit - 1), to: 9)
      #expect(arrived(peer) == (0..<limit).map(command))
    }.value
  }

  @Test func theTurnsEndSendsWhatIsLeft() async throws {
    let peer = try RawPeer()
    let connection = try await peer.connect()
    try await Task(executorPreference: connection.loop.tasks) {
      for number in 0..<3 { try await connection.writeWithoutResponse(counted(number), to: 9) }
    }.value
    for number in 0..<3 { await peer.expect(command(number)) }
  }

  @Test func aRequestTakesThemAlong() async throws {
    let peer = try RawPeer()
    // A busy machine may keep the peer waiting.
    let connection = try await peer.connect { $0.transactionTimeout = .seconds(300) }
    let reading = Task(executorPreference: connection.loop.tasks) {
      try await connection.writeWithoutResponse(counted(0), to: 9)
      return try await connection.readOnce(3)
    }
    await peer.expect(command(0))
    await peer.expect([0x0A, 3, 0])
    peer.send([0x0B, 7])
    #expect(try await reading.value == [7])
  }

  @Test func closingSendsThemFirst() async throws {
    let peer = try RawPeer()
    let connection = try await peer.connect()
    try await Task(executorPreference: connection.loop.tasks) {
      for number in 0..<3 { try await connection.writeWithoutResponse(counted(number), to: 9) }
      connection.close()
      #expect(arrived(peer) == (0..<3).map(command))
    }.value
  }

  @Test func notificationsGoTogetherAndBehindWhatWasSentBefore() async throws {
    let peer = try RawPeer()
    let bench = try await Bench()
    let connection = try await bench.serve(subscribed: peer)
    let (server, values, limit) = (bench.server, bench.values, ConnectionCore.gatheredPDUs)
    try await Task(executorPreference: serverLoop.tasks) {
      for number in 0..<(limit + 8) {
        let delivered = try await server.notify(counted(number), of: values)
        #expect(delivered.count == 1)
      }
      #expect(arrived(peer) == (0..<limit).map { notification(values.rawValue, $0) })
    }.value
    for number in limit..<(limit + 8) { await peer.expect(notification(values.rawValue, number)) }
    connection.close()
  }
}
