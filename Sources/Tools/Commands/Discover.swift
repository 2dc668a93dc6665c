import Atto
import AttoCommandLine
import AttoFormats
import AttoGATT
import AttoPeers
import AttoStore
import Glibc

/// `atto discover`: all services, characteristics and descriptors.
package struct DiscoverCommand: ConnectionCommand {
  private static let cache = Option.flag(
    "cache", "Save the database, and do not discover it again while its hash is the same.")

  private static let values = Option.flag(
    "values", "Read all values, long ones whole, and show them in the tree.")
  private static let profile = Option.file(
    "save-profile", "FILE",
    "Save the database and its values as a profile, with which atto serve is a clone of the peer.")

  package static let description = CommandDescription(
    "discover", "Discover a server's whole database and print it as a tree.",
    synopsis: ["ENDPOINT [OPTIONS]"], arguments: [.endpoint],
    details: """
      With --cache the command first reads the peer's Database Hash. If the saved database has the same
      hash, this is the only request. An LE peer is identified by its address, other peers by the
      endpoint.

      --values and --save-profile read the characteristics with the property read, and all descriptors,
      one after the other. An error takes the place of a value that the peer does not give. In the
      profile it becomes the permission or behaviour that causes the same error.

      With --json the command prints one object for the whole database.
      """,
    options: [cache, values, profile], groups: Connecting.options,
    examples: [
      "atto discover air:Strap --values", "atto discover le:AA:BB:CC:DD:EE:FF@hci0 --cache --json",
      "atto discover air:Strap --save-profile clone.json",
    ])

  private let usesCache: Bool
  private let showsValues: Bool
  private let profilePath: String?
  package var needsStore: Bool { usesCache }

  package init(_ arguments: Arguments, for endpoint: Endpoint) throws {
    usesCache = arguments[Self.cache]
    showsValues = arguments[Self.values]
    profilePath = arguments[Self.profile]
    if let profilePath { try WrittenFile.check(profilePath) }
  }

  package static func access(_ arguments: Arguments) -> CommandAccess? {
    arguments[values] || arguments.has(profile) ? .readsAll : CommandAccess.none
  }

  package func run(on peer: ConnectedPeer) async throws {
    let database =
      usesCache ? try await discoverCached(peer) : try await peer.connection.discover()
    var values: PeerValues?
    if showsValues || profilePath != nil {
      values = try await PeerValues(of: database, from: peer.connection)
    }
    if let profilePath, let values {
      try await save(database, values, peer.endpoint, to: profilePath)
    }
    if !showsValues { values = nil }
    await peer.place?.discovered(database)
    if peer.results.isJSON {
      return peer.results.print(json: ["services": database.services.map { $0.wholeJSON(values) }])
    }
    for service in database.services { show(service, values) }
    let characteristics = database.services.reduce(0) { $0 + $1.characteristics.count }
    Terminal.note(
      Shown.count(database.services.count, "service") + ", "
        + Shown.count(characteristics, "characteristic"))
  }

  private func save(
    _ database: RemoteDatabase, _ values: PeerValues, _ endpoint: Endpoint, to path: String
  ) async throws {
    let clone = ProfileClone(database, readings: values.readings)
    let text: String
    do {
      // Not on the loop: the database may be long.
      text = try await Task.detached {
        try clone.json(comment: "Written by atto discover --save-profile from \(endpoint).")
      }.value
    } catch let error as ProfileError {
      throw CheckFailure(
        message: "cannot save the peer as a profile: "
          + (error.path.isEmpty ? "" : error.path + ": ")
          + "expected \(error.expected), found \(error.found)")
    }
    try WrittenFile.write(text, to: path)
  }

  private func discoverCached(_ peer: ConnectedPeer) async throws -> RemoteDatabase {
    guard let store = peer.store else { return try await peer.connection.discover() }
    let found: (database: RemoteDatabase, isKept: Bool, isNowKept: Bool)
    do {
      found = try await peer.connection.discover(keptIn: store, as: name(peer.endpoint))
    } catch let error as StoreError {
      Terminal.note("warning: database not saved: \(error)")
      return try await peer.connection.discover()
    }
    if found.isKept {
      Terminal.note("using the saved database: the peer's hash is unchanged")
    } else if found.database.databaseHash == nil {
      Terminal.note("database not saved: the peer has no Database Hash")
    } else if !found.isNowKept {
      Terminal.note(
        "database not saved: the peer uses a changing address, or the database is too long")
    }
    return found.database
  }

  /// The name of an endpoint's database in the store; nil to use the address of the link.
  private func name(_ endpoint: Endpoint) -> PeerName? {
    switch endpoint {
    case .le, .leAny, .descriptor: return nil
    case .air(let name, _): return PeerName(endpoint: "air:\(name)")
    case .unix(let path):
      guard let whole = realpath(path, nil) else { return PeerName(endpoint: "unix:\(path)") }
      defer { free(whole) }
      return PeerName(endpoint: "unix:\(String(cString: whole))")
    }
  }

  private func show(_ service: Service, _ values: PeerValues?) {
    Terminal.print(service.line + (service.isPrimary ? "" : "  (secondary)"))
    for include in service.includes {
      Terminal.print("  \(include.handle)  includes \(include.range)")
    }
    for characteristic in service.characteristics {
      let (uuid, handle) = (characteristic.uuid, characteristic.valueHandle)
      let format = values?.presentation(of: characteristic)
      Terminal.print(
        "  \(characteristic.declarationHandle)  \(Shown.named(uuid, .characteristic))"
          + "  value \(handle)  \(characteristic.propertyList)"
          + (values?.text(handle, uuid, format) ?? ""))
      for descriptor in characteristic.descriptors {
        Terminal.print(
          "    \(descriptor.handle)  \(Shown.named(descriptor.uuid, .descriptor))"
            + (values?.text(descriptor.handle, descriptor.uuid, nil) ?? ""))
      }
    }
  }
}
