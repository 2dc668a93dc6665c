import Atto
import AttoCommandLine
import AttoKernelRadio
import AttoPeers
import AttoStore
import Glibc

/// `atto bonds`: the saved bonds.
package enum BondsCommand: Command {
  private static let remove = Option.address(
    "remove", "Remove the bond with this peer, written as in the list.")
  private static let adapter = Option.address("adapter", "Only bonds of this adapter.")
  private static let showKeys = Option.flag(
    "show-keys", "Show the keys too. Anyone who has them can use the bond.")

  package static let description = CommandDescription(
    "bonds", "List the saved bonds, or remove one.", synopsis: ["[OPTIONS]"],
    details: """
      Bonds, the subscriptions of bonded clients and the databases of peers are saved in one file, which
      only its owner can read: --store FILE, or $ATTO_STORE, or /var/lib/atto/store.sqlite for root and
      atto/store.sqlite under $XDG_STATE_HOME (~/.local/state) for other users. This requires SQLite's
      library (libsqlite3-0) at run time. A file in a directory that others may write to is refused.
      Adapters are listed by their addresses.

      --remove does not change the keys that the kernel has loaded; atto unpair ends a bond in both.
      While bluetoothd runs, atto does not load saved keys into the kernel, because that would remove
      bluetoothd's keys.
      """,
    options: [remove, adapter, showKeys, StoreOptions.store, CommonOptions.json],
    examples: ["atto bonds", "atto bonds --remove AA:BB:CC:DD:EE:FF"])

  package static func run(_ arguments: Arguments, on loop: Loop) async throws {
    let store: StoreFile
    do {
      store = try await StoreOptions(arguments).open(creates: false)
    } catch let error as StoreError {
      // Nothing was ever saved: an empty list, unless a file was named.
      guard case .missing = error, !arguments.has(StoreOptions.store), !arguments.has(remove)
      else { throw error }
      Terminal.note("\(error)")
      if geteuid() != 0, access("/var/lib/atto", F_OK) == 0 {
        Terminal.note("hint: root's bonds are in /var/lib/atto: sudo atto bonds")
      }
      return
    }
    if let peer = arguments[remove] {
      guard try await store.removeBond(adapter: arguments[adapter], peer: peer) else {
        throw CheckFailure(message: "no bond with \(peer) in \(store.path)")
      }
      return Terminal.note("removed the bond with \(peer)")
    }
    let bonds = try await store.bonds(of: arguments[adapter])
    if arguments[CommonOptions.json] {
      for bond in bonds { Terminal.print(json: bond.json(showsKeys: arguments[showKeys])) }
      return
    }
    show(bonds, showsKeys: arguments[showKeys])
    Terminal.note("\(Shown.count(bonds.count, "bond")) in \(store.path)")
  }

  private static func show(_ bonds: [Bond], showsKeys: Bool) {
    guard !bonds.isEmpty else { return }
    let lines = Columns.lines(
      ["ADAPTER", "PEER", "LINK KEY", "SINCE", "CONTENTS"],
      bonds.map {
        ["\($0.adapter)", "\($0.peer)", $0.strength, Shown.date($0.since), $0.contents]
      },
      isNumeric: false)
    for (index, line) in lines.enumerated() {
      Terminal.print(line)
      guard showsKeys, index > 0 else { continue }
      for (name, octets) in bonds[index - 1].keys {
        Terminal.print("  \(name): \(Shown.hex(octets))")
      }
    }
  }
}

extension Bond {
  fileprivate var strength: String {
    guard let key = longTermKeys.first else { return "none" }
    let size = longTermKeys.map(\.keySize).min() ?? 0
    return (key.isAuthenticated ? "authenticated" : "unauthenticated")
      + (key.kind >= 2 ? ", secure connections" : ", legacy")
      + (size < 16 ? ", \(size) octets" : "")
  }

  fileprivate var contents: String {
    var parts: [String] = []
    if identityKey != nil { parts.append("identity") }
    if let ownSignature { parts.append("can sign (next counter \(ownSignature.counter))") }
    if let peerSignature {
      parts.append("can verify (from counter \(peerSignature.counter))")
    }
    if let client {
      parts.append(Shown.count(client.configurations.count, "subscription"))
    }
    return parts.isEmpty ? "-" : parts.joined(separator: ", ")
  }

  fileprivate func json(showsKeys: Bool) -> JSONObject {
    [
      "adapter": adapter.description, "peer": peer.description, "since": since,
      "authenticated": longTermKeys.contains(where: \.isAuthenticated),
      "secureConnections": longTermKeys.contains { $0.kind >= 2 },
      "keySize": longTermKeys.map { Int($0.keySize) }.min(), "hasIdentity": identityKey != nil,
      "ownSignCounter": ownSignature?.counter, "peerSignCounter": peerSignature?.counter,
      "features": client.map { Int($0.features.rawValue) },
      "subscriptions": client.map { client in
        client.configurations.sorted { $0.key < $1.key }.map { handle, value -> JSONObject in
          [
            "handle": Shown.json(handle), "notify": value.contains(.notification),
            "indicate": value.contains(.indication),
          ]
        }
      },
      "keys": showsKeys ? keys.map { ["name": $0.0, "value": Shown.hex($0.1)] } : nil,
    ]
  }

  /// Most significant octet first.
  fileprivate var keys: [(String, [UInt8])] {
    var keys = longTermKeys.map { key -> (String, [UInt8]) in
      (
        key.kind >= 2 ? "LTK" : key.isCentral ? "LTK as central" : "LTK as peripheral",
        key.value.reversed()
      )
    }
    if let identityKey { keys.append(("IRK", identityKey.value.reversed())) }
    if let ownSignature { keys.append(("CSRK, ours", ownSignature.key.mostSignificantFirst)) }
    if let peerSignature { keys.append(("CSRK, theirs", peerSignature.key.mostSignificantFirst)) }
    return keys
  }
}

extension LongTermKey {
  /// MGMT_LTK_AUTHENTICATED and MGMT_LTK_P256_AUTH.
  fileprivate var isAuthenticated: Bool { kind == 1 || kind == 3 }
}
