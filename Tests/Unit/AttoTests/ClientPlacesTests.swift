import AttoATT
import AttoLinks
import TestSupport
import Testing

@testable import Atto

/// Attackers beside an honest client, in virtual time. Each test would fail with the rule that a full
/// server refuses.
@Suite(.oneByOne) struct ClientPlacesTests {
  /// A server that has nothing but places.
  private final class Crowd {
    struct Client {
      let id: Int
      let process: PeerProcess
      var isSilent = true
      var lastHeard: Instant
      var isSubscribed = false
    }
    let limit: Int
    var places = ClientPlaces()
    var clients: [Client] = []
    var now: Int64 = 0
    var last = 0

    init(limit: Int) { self.limit = limit }

    /// Returns the client's number; nil if it was refused.
    func connect(_ process: PeerProcess) -> Int? {
      if clients.count == limit {
        let silent = places.silent(of: clients, { $0.process }, { $0.isSilent })
        let entries = clients.map {
          ClientPlaces.Client(
            process: $0.process, isSilent: $0.isSilent, lastHeard: $0.lastHeard,
            isSubscribed: $0.isSubscribed)
        }
        let replaced =
          silent.map(\.id)
          ?? places.replaced(
            among: entries, by: process, limit: limit, at: Instant(nanoseconds: now)
          ).map { clients[$0].id }
        guard let replaced else { return nil }
        disconnect(replaced)
      }
      last += 1
      places.enter(process)
      clients.append(Client(id: last, process: process, lastHeard: Instant(nanoseconds: now)))
      return last
    }

    /// False if the client has lost its place.
    func speak(_ id: Int) -> Bool {
      guard let index = clients.firstIndex(where: { $0.id == id }) else { return false }
      clients[index].isSilent = false
      clients[index].lastHeard = Instant(nanoseconds: now)
      return true
    }

    func disconnect(_ id: Int) {
      guard let index = clients.firstIndex(where: { $0.id == id }) else { return }
      places.leave(clients.remove(at: index).process)
    }
  }

  /// An honest client reconnects, and speaks after `delay` connections of the attacker, which makes one
  /// each `interval`, in nanoseconds. Returns how many of 20 reconnects succeeded.
  private func succeeded(
    limit: Int = 64, delay: Int, interval: Int64 = 10_000,
    honest: PeerProcess = PeerProcess(user: 1, number: 1),
    speaks: Bool, _ attacker: (Int) -> PeerProcess
  ) -> Int {
    let crowd = Crowd(limit: limit)
    var count = 0
    func attack(_ times: Int) {
      for _ in 0..<times {
        count += 1
        crowd.now += interval
        if let id = crowd.connect(attacker(count)), speaks { _ = crowd.speak(id) }
      }
    }
    attack(3 * limit)
    return (0..<20).count { _ in
      attack(7)
      guard let id = crowd.connect(honest) else { return false }
      attack(delay)
      defer { crowd.disconnect(id) }
      return crowd.speak(id)
    }
  }

  @Test func aSilentAttackerKeepsNobodyOut() {
    #expect(
      succeeded(delay: 300, speaks: false) { _ in PeerProcess(user: 1, number: 2) } == 20)
  }

  @Test func anAttackerThatSpeaksKeepsNobodyOut() {
    #expect(
      succeeded(delay: 300, speaks: true) { _ in PeerProcess(user: 1, number: 2) } == 20)
    // Nor one with three processes.
    #expect(
      succeeded(delay: 300, speaks: true) { PeerProcess(user: 1, number: 2 + Int32($0 % 3)) }
        == 20)
  }

  /// A process for each connection: the honest client has to speak before all places change hands.
  @Test func anAttackerWithAProcessForEachConnection() {
    let attacker = { (count: Int) in PeerProcess(user: 1, number: Int32(count + 1)) }
    // At a process each ms a place is 256 ms old before another process gets it.
    #expect(succeeded(limit: 256, delay: 50, interval: 1_000_000, speaks: false, attacker) == 20)
  }

  /// Another user, of many processes that speak, leaves a reserve.
  @Test func anotherUserLeavesAReserve() {
    #expect(
      succeeded(limit: 1024, delay: 100, speaks: true) {
        PeerProcess(user: 2, number: Int32($0 % 8 + 1))
      } == 20)
  }

  private static let one = PeerProcess(user: 1, number: 1)
  private static let two = PeerProcess(user: 1, number: 2)

  /// Clients that have spoken keep their places for a while, those with a subscription longer.
  @Test func theLongestSilentLeaves() {
    let crowd = Crowd(limit: 3)
    let ids = (0..<3).map { _ in crowd.connect(Self.one) ?? 0 }
    for id in ids { _ = crowd.speak(id) }
    crowd.clients[0].isSubscribed = true
    #expect(crowd.connect(Self.two) == nil)
    crowd.now += ClientPlaces.longSilence / 2
    #expect(crowd.speak(ids[1]))
    crowd.now += ClientPlaces.longSilence / 2
    #expect(crowd.connect(Self.two) != nil)
    // The third: the first is subscribed, the second spoke later.
    #expect(crowd.clients.prefix(2).map(\.id) == Array(ids.prefix(2)))
    crowd.now += ClientPlaces.longSilence
    #expect(crowd.connect(Self.two) != nil)
    #expect(crowd.clients.map(\.id).contains(ids[0]))
  }

  /// A new client has some time to speak before another process takes its place.
  @Test func oneSilentClientHasTime() {
    let crowd = Crowd(limit: 1)
    let first = crowd.connect(Self.one)
    #expect(crowd.connect(Self.two) == nil)
    crowd.now += ClientPlaces.shortSilence
    #expect(crowd.connect(Self.two) != nil)
    #expect(!crowd.speak(first ?? 0))
  }

  @Test func whoHasLeftIsForgotten() {
    var places = ClientPlaces()
    for _ in 0..<100 { places.enter(Self.one) }
    for _ in 0..<100 { places.leave(Self.one) }
    #expect(places.counts.isEmpty)
  }
}
