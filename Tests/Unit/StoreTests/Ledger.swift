import Atto
import AttoKernelRadio

@testable import AttoStore
@testable import StoreWorker

/// What a store must contain after steps, the last of which may not have been acknowledged.
struct Ledger {
  static let peers = 0..<4

  private var contents = [Contents](repeating: Contents(), count: peers.count)
  /// The step in progress.
  private var open: Step?
  private(set) var acknowledged = 0

  mutating func begin(_ step: Step) { open = step }

  /// The step in progress was acknowledged.
  mutating func end() {
    guard let step = open else { return }
    contents[step.peer].apply(step)
    open = nil
    acknowledged += 1
  }

  /// Compares each value with the store's, and learns what became of the step in progress.
  ///
  /// - Returns: what is wrong.
  mutating func check(_ store: StoreFile) async -> [String] {
    var wrong: [String] = []
    if let step = open {
      var after = contents[step.peer]
      after.apply(step)
      if await Self.holds(store, step.peer, after) == nil { contents[step.peer] = after }
      open = nil
    }
    for peer in Self.peers {
      if let difference = await Self.holds(store, peer, contents[peer]) { wrong.append(difference) }
    }
    return wrong
  }

  /// Returns what differs from the expected contents; nil if nothing does.
  private static func holds(
    _ store: StoreFile, _ peer: Int, _ expected: Contents
  ) async -> String? {
    do throws(StoreError) {
      var bond = try await store.bond(adapter: Record.adapter, peer: Record.peer(peer))
      bond?.since = 0
      guard bond == expected.bond(peer) else {
        return "peer \(peer): \(bond as Any) instead of \(expected)"
      }
      let database = try await store.database(of: PeerName(Record.peer(peer)))
      guard database == expected.database.map({ Record.database($0) }) else {
        return "peer \(peer): another database than \(expected.database as Any)"
      }
      return nil
    } catch {
      return "peer \(peer): \(error)"
    }
  }
}

extension Contents {
  /// The bond with a peer, but for the time at which it was made.
  func bond(_ peer: Int) -> Bond? {
    guard isBonded else { return nil }
    var bond = Bond(adapter: Record.adapter, peer: Record.peer(peer), since: 0)
    bond.longTermKeys = longTermKey.map { [Record.longTermKey(peer, $0)] } ?? []
    bond.identityKey = identity.map {
      IdentityResolvingKey(peer: Record.peer(peer), value: Record.key($0))
    }
    if isSigning {
      bond.ownSignature = .init(key: Record.signatureKey(peer, 0), counter: counter)
      bond.peerSignature = .init(key: Record.signatureKey(peer, 1), counter: accepted)
    }
    bond.client = client.map { Record.client($0) }
    return bond
  }
}
