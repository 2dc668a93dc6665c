import AttoATT
import AttoGATT
import AttoLinks

/// Who leaves a server that has no place for a new client.
///
/// # Theory
/// An attacker connects faster than an honest client, and can hold as many connections. What it cannot
/// have is another user, and, without much effort, many processes. So a new client replaces another
/// one: the first of these that exists. The user with most places is considered first, and its
/// process with most places.
///
/// 1. The oldest client of that process that has sent nothing, if the process has several places.
/// 2. If that user has more than half of the places and the new client's user fewer than a
///    sixteenth, or that process has more than ``crowd`` places and the new client's fewer: the
///    client of that process that has been silent for longest, one without a subscription if there
///    is one.
/// 3. The oldest client of all that has sent nothing for ``shortSilence`` since it connected.
/// 4. The client that has been silent for longest, and for ``longSilence``, and has no subscription.
///
/// Otherwise the new client is refused. An honest client is the only one of its process, so while an
/// attacker's process holds two places that have sent nothing, or more than ``crowd``, each attempt
/// of the honest client to connect succeeds, however fast the attacker is. Against an attacker that
/// makes a process for each connection, it succeeds if the honest client sends its first PDU before
/// all places have changed hands, and within ``shortSilence``.
///
/// Only clients of Unix sockets and of the virtual air are replaced, whose processes the kernel tells.
/// Links of real radios never are: a controller has few, and they cost an attacker a radio each.
struct ClientPlaces {
  /// Places that a process may have without giving any up to others.
  static let crowd = 16
  /// Time in which a new client may be silent without losing its place to another process.
  static let shortSilence: Int64 = 100_000_000
  /// Time in which a client that has sent something may be silent without losing its place.
  static let longSilence: Int64 = 60_000_000_000

  /// What is known about a client that may lose its place.
  struct Client {
    let process: PeerProcess
    /// Whether it has sent nothing.
    let isSilent: Bool
    /// When it sent something last, or else when it connected.
    let lastHeard: Instant
    let isSubscribed: Bool
  }

  /// The places of each process, by user.
  private(set) var counts: [UInt32: (sum: Int, processes: [Int32: Int])] = [:]

  mutating func enter(_ process: PeerProcess) { change(process, by: 1) }
  mutating func leave(_ process: PeerProcess) { change(process, by: -1) }

  private mutating func change(_ process: PeerProcess, by difference: Int) {
    var user = counts[process.user] ?? (0, [:])
    user.sum += difference
    let count = (user.processes[process.number] ?? 0) + difference
    user.processes[process.number] = count > 0 ? count : nil
    counts[process.user] = user.sum > 0 ? user : nil
  }

  private func count(_ process: PeerProcess) -> Int {
    counts[process.user]?.processes[process.number] ?? 0
  }

  /// The process that gives up a place first.
  private var largest: PeerProcess? {
    guard let (user, held) = counts.max(by: { ($0.value.sum, $1.key) < ($1.value.sum, $0.key) }),
      let number = held.processes.max(by: { ($0.value, $1.key) < ($1.value, $0.key) })?.key
    else { return nil }
    return PeerProcess(user: user, number: number)
  }

  /// The first that has sent nothing, if the process with most places has several: see rule 1.
  ///
  /// - Parameters:
  ///   - clients: in the order in which they connected; nil for one that keeps its place.
  ///   - isSilent: whether a client of a process has sent nothing that was received or waits.
  func silent<Clients: Sequence>(
    of clients: Clients, _ process: (Clients.Element) -> PeerProcess?,
    _ isSilent: (Clients.Element) -> Bool
  ) -> Clients.Element? {
    guard let largest, count(largest) > 1 else { return nil }
    return clients.first { process($0) == largest && isSilent($0) }
  }

  /// The index of the client that gives up its place by the rules 2 to 4; nil: none.
  ///
  /// - Parameters:
  ///   - clients: in the order in which they connected; nil for one that keeps its place.
  ///   - newcomer: the process of the new client; nil if it has none.
  ///   - limit: the places of the server.
  func replaced(
    among clients: [Client?], by newcomer: PeerProcess?, limit: Int, at now: Instant
  ) -> Int? {
    func longest(_ mayLeave: (Client) -> Bool) -> Int? {
      let found = clients.indices.filter { clients[$0].map(mayLeave) ?? false }
      return found.min {
        guard let a = clients[$0], let b = clients[$1] else { return false }
        return (a.isSubscribed ? 1 : 0, a.lastHeard) < (b.isSubscribed ? 1 : 0, b.lastHeard)
      }
    }
    if let largest, yields(largest, to: newcomer, limit),
      let index = longest({ $0.process == largest })
    {
      return index
    }
    func silence(_ client: Client) -> Int64 { now.nanoseconds - client.lastHeard.nanoseconds }
    return longest { $0.isSilent && silence($0) >= Self.shortSilence }
      ?? longest { !$0.isSubscribed && silence($0) >= Self.longSilence }
  }

  private func yields(_ largest: PeerProcess, to newcomer: PeerProcess?, _ limit: Int) -> Bool {
    guard let newcomer, count(largest) > Self.crowd else { return false }
    if largest.user != newcomer.user, counts[largest.user]?.sum ?? 0 > limit / 2,
      counts[newcomer.user]?.sum ?? 0 < max(1, limit / 16)
    {
      return true
    }
    return largest.user == newcomer.user && count(newcomer) < Self.crowd
  }
}
