import Atto
import AttoGATT
import Synchronization

/// What commands on one connection have subscribed to. The commands of a session share the Client
/// Characteristic Configurations of the peer.
package final class Subscriptions: Sendable {
  private let kinds = Mutex<[AttributeHandle: [ClientCharacteristicConfiguration]]>([:])

  package init() {}

  /// Returns the configuration to write: that of all commands.
  package func begin(
    _ handle: AttributeHandle, _ kind: ClientCharacteristicConfiguration
  ) -> ClientCharacteristicConfiguration {
    kinds.withLock {
      $0[handle, default: []].append(kind)
      return Self.union($0[handle])
    }
  }

  /// Returns the configuration to write; nil if the other commands leave it as it is.
  package func end(
    _ handle: AttributeHandle, _ kind: ClientCharacteristicConfiguration
  ) -> ClientCharacteristicConfiguration? {
    kinds.withLock {
      let before = Self.union($0[handle])
      if let index = $0[handle]?.firstIndex(of: kind) { $0[handle]?.remove(at: index) }
      let after = Self.union($0[handle])
      if $0[handle]?.isEmpty == true { $0[handle] = nil }
      return after == before ? nil : after
    }
  }

  private static func union(
    _ kinds: [ClientCharacteristicConfiguration]?
  ) -> ClientCharacteristicConfiguration {
    (kinds ?? []).reduce([]) { $0.union($1) }
  }
}
