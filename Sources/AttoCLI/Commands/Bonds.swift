import Atto
import Glibc
import Store

/// `atto bonds`: what is kept.
enum BondsCommand: Command {
  static let name = "bonds"
  static let examples = [
    "atto bonds",
    "atto bonds --remove AA:BB:CC:DD:EE:FF",
  ]
  static let summary = "The bonds that are kept."
  static let usage = "[OPTIONS]"
  static let notes =
    "They are kept in $ATTO_STORE or --store FILE; else, for root, in /var/lib/atto, and for\n"
    + "others in atto under $XDG_STATE_HOME (~/.local/state). An adapter is named by its address.\n"
    + "--remove leaves alone what the kernel has loaded: atto unpair ends a bond in both."
  static let options = [
    OptionSpec("remove", "ADDRESS", "forget this peer, written as it is listed"),
    OptionSpec("adapter", "ADDRESS", "of this adapter only"),
    OptionSpec("show-keys", nil, "the keys too: whoever has them has the bond"),
    OptionSpec("store", "FILE", "where bonds and databases are kept ($ATTO_STORE)"),
    .json,
  ]

  static func run(_ arguments: Arguments, on loop: Loop) async throws {
    try arguments.allow(words: 0)
    let adapter = try address(arguments, "adapter")
    let removed = try address(arguments, "remove")
    let store: StoreFile
    do {
      store = try StoreOptions(arguments).open(creates: false)
    } catch let error as StoreError {
      // Nothing was ever kept: that is an answer, unless a file was named.
      guard case .missing = error, arguments.value("store") == nil, removed == nil else {
        throw error
      }
      Terminal.note("\(error)")
      if geteuid() != 0, access("/var/lib/atto", F_OK) == 0 {
        Terminal.note("what root has paired is in /var/lib/atto: sudo atto bonds")
      }
      return
    }
    if let removed {
      guard try store.removeBond(adapter: adapter, peer: removed) else {
        throw CheckFailure(message: "no bond with \(removed) is kept in \(store.path)")
      }
      return Terminal.note("removed the bond with \(removed)")
    }
    let bonds = try store.bonds(of: adapter)
    if arguments.has("json") {
      for bond in bonds {
        try Terminal.print(json: BondJSON(bond, showsKeys: arguments.has("show-keys")))
      }
      return
    }
    show(bonds, showsKeys: arguments.has("show-keys"))
    Terminal.note("\(Shown.count(bonds.count, "bond")) in \(store.path)")
  }

  private static func address(_ arguments: Arguments, _ name: String) throws -> BluetoothAddress? {
    guard let text = arguments.value(name) else { return nil }
    guard let address = BluetoothAddress(text) else {
      throw UsageError(
        "--\(name) wants an address such as AA:BB:CC:DD:EE:FF or AA:BB:CC:DD:EE:FF/random, not"
          + " \"\(text)\"")
    }
    return address
  }

  private static func show(_ bonds: [Bond], showsKeys: Bool) {
    guard !bonds.isEmpty else { return }
    let rows =
      [["ADAPTER", "PEER", "LINK KEY", "SINCE", "KEPT"]]
      + bonds.map { bond in
        ["\(bond.adapter)", "\(bond.peer)", bond.strength, bond.date, bond.contents]
      }
    let widths = (0..<4).map { column in rows.map { $0[column].count }.max() ?? 0 }
    for (index, row) in rows.enumerated() {
      let cells = row.enumerated().map { column, cell in
        column < 4 ? cell + String(repeating: " ", count: widths[column] - cell.count) : cell
      }
      Terminal.print(cells.joined(separator: "  "))
      guard showsKeys, index > 0 else { continue }
      for (name, octets) in bonds[index - 1].keys {
        Terminal.print("  \(name): \(Shown.hex(octets))")
      }
    }
  }
}

extension Bond {
  /// How good the key of the link is.
  fileprivate var strength: String {
    guard let key = longTermKeys.first else { return "none" }
    let size = longTermKeys.map(\.keySize).min() ?? 0
    return (key.isAuthenticated ? "authenticated" : "unauthenticated")
      + (key.kind >= 2 ? ", secure connections" : ", legacy")
      + (size < 16 ? ", \(size) octets" : "")
  }

  /// Day and minute, in UTC.
  fileprivate var date: String {
    var seconds = time_t(since)
    var parts = tm()
    gmtime_r(&seconds, &parts)
    func two(_ number: Int32) -> String { number < 10 ? "0\(number)" : "\(number)" }
    return "\(parts.tm_year + 1900)-\(two(parts.tm_mon + 1))-\(two(parts.tm_mday))"
      + " \(two(parts.tm_hour)):\(two(parts.tm_min))Z"
  }

  fileprivate var contents: String {
    var parts: [String] = []
    if identityKey != nil { parts.append("identity") }
    if let ownSignature { parts.append("signs (next \(ownSignature.counter))") }
    if let peerSignature { parts.append("is verified (from \(peerSignature.counter))") }
    if let client {
      parts.append(Shown.count(client.configurations.count, "subscription"))
    }
    return parts.isEmpty ? "-" : parts.joined(separator: ", ")
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
  var isAuthenticated: Bool { kind == 1 || kind == 3 }
}

/// The form of `bonds --json`.
private struct BondJSON: Encodable {
  let adapter: String
  let peer: String
  let since: Int64
  let authenticated: Bool
  let secureConnections: Bool
  let keySize: Int?
  let hasIdentity: Bool
  let ownSignCounter: UInt32?
  let peerSignCounter: UInt32?
  let features: Int?
  let subscriptions: [Subscription]?
  let keys: [Key]?

  struct Subscription: Encodable {
    let handle: Int
    let notify: Bool
    let indicate: Bool
  }

  struct Key: Encodable {
    let name: String
    let value: String
  }

  init(_ bond: Bond, showsKeys: Bool) {
    adapter = bond.adapter.description
    peer = bond.peer.description
    since = bond.since
    authenticated = bond.longTermKeys.contains(where: \.isAuthenticated)
    secureConnections = bond.longTermKeys.contains { $0.kind >= 2 }
    keySize = bond.longTermKeys.map { Int($0.keySize) }.min()
    hasIdentity = bond.identityKey != nil
    ownSignCounter = bond.ownSignature?.counter
    peerSignCounter = bond.peerSignature?.counter
    features = bond.client.map { Int($0.features.rawValue) }
    subscriptions = bond.client.map { client in
      client.configurations.sorted { $0.key < $1.key }.map { handle, value in
        Subscription(
          handle: Shown.json(handle), notify: value.contains(.notification),
          indicate: value.contains(.indication))
      }
    }
    keys = showsKeys ? bond.keys.map { Key(name: $0.0, value: Shown.hex($0.1)) } : nil
  }
}
