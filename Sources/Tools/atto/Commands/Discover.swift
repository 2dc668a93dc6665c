import Atto
import AttoGATT
import AttoStore
import Glibc

/// `atto discover`: all services, characteristics and descriptors.
struct DiscoverCommand: ConnectionCommand {
  private static let cache = Option.flag(
    "cache", "Save the database, and do not discover it again while its hash is the same.")

  static let description = CommandDescription(
    "discover", "Discover a server's whole database and print it as a tree.",
    synopsis: ["ENDPOINT [OPTIONS]"], arguments: [.endpoint],
    details: """
      With --cache the command first reads the peer's Database Hash. If the saved database has the same
      hash, this is the only request. An LE peer is identified by its address, other peers by the
      endpoint.

      With --json the command prints one object for the whole database.
      """,
    options: [cache], groups: Connecting.options,
    examples: ["atto discover air:Strap", "atto discover le:AA:BB:CC:DD:EE:FF@hci0 --cache --json"])

  private let usesCache: Bool
  var needsStore: Bool { usesCache }

  init(_ arguments: Arguments, for endpoint: Endpoint) throws {
    usesCache = arguments[Self.cache]
  }

  func run(on peer: ConnectedPeer) async throws {
    let database =
      usesCache ? try await discoverCached(peer) : try await peer.connection.discover()
    if peer.results.isJSON {
      return peer.results.print(json: ["services": database.services.map(\.wholeJSON)])
    }
    for service in database.services { show(service) }
    let characteristics = database.services.reduce(0) { $0 + $1.characteristics.count }
    Terminal.note(
      Shown.count(database.services.count, "service") + ", "
        + Shown.count(characteristics, "characteristic"))
  }

  private func discoverCached(_ peer: ConnectedPeer) async throws -> RemoteDatabase {
    guard let store = peer.store else { return try await peer.connection.discover() }
    let found = try await peer.connection.discover(keptIn: store, as: name(peer.endpoint))
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
    case .air: return PeerName(endpoint: endpoint.description)
    case .unix(let path):
      guard let whole = realpath(path, nil) else { return PeerName(endpoint: "unix:\(path)") }
      defer { free(whole) }
      return PeerName(endpoint: "unix:\(String(cString: whole))")
    }
  }

  private func show(_ service: Service) {
    Terminal.print(service.line + (service.isPrimary ? "" : "  (secondary)"))
    for include in service.includes {
      Terminal.print("  \(include.handle)  includes \(include.range)")
    }
    for characteristic in service.characteristics {
      Terminal.print(
        "  \(characteristic.declarationHandle)  \(Shown.named(characteristic.uuid, .characteristic))"
          + "  value \(characteristic.valueHandle)  \(characteristic.propertyList)")
      for descriptor in characteristic.descriptors {
        Terminal.print("    \(descriptor.handle)  \(Shown.named(descriptor.uuid, .descriptor))")
      }
    }
  }
}
