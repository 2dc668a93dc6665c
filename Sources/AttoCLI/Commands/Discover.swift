import Atto
import Glibc
import Store

/// `atto discover`: everything, as a tree.
enum DiscoverCommand: Command {
  static let name = "discover"
  static let examples = [
    "atto discover air:Strap",
    "atto discover le:AA:BB:CC:DD:EE:FF@hci0 --cache --json",
  ]
  static let summary = "Everything that a server has, as a tree."
  static let usage = "ENDPOINT [OPTIONS]"
  static let options =
    [
      OptionSpec("cache", nil, "keep what is found; ask no more if the Database Hash is the same")
    ] + OptionSpec.connecting
  static let notes =
    "With --cache the peer's Database Hash is read first. If what is kept of the peer has the\n"
    + "same, that one request is all. An LE peer is known by its address, others by the endpoint."

  static func run(_ arguments: Arguments, on loop: Loop) async throws {
    let connecting = try Connecting(arguments)
    try arguments.allow(words: 1)
    let database =
      arguments.has("cache")
      ? try await discoverAnew(connecting, on: loop)
      : try await connecting.use(on: loop) { try await $0.discover() }
    if arguments.has("json") { return try Terminal.print(json: DatabaseJSON(database)) }
    for service in database.services { show(service) }
    let characteristics = database.services.reduce(0) { $0 + $1.characteristics.count }
    Terminal.note(
      Shown.count(database.services.count, "service") + ", "
        + Shown.count(characteristics, "characteristic"))
  }

  /// Discovers what is not kept, or not as it is now.
  private static func discoverAnew(
    _ connecting: Connecting, on loop: Loop
  ) async throws -> RemoteDatabase {
    try await connecting.use(on: loop, needsStore: true) { connection, store in
      guard let store else { return try await connection.discover() }
      let found = try await connection.discover(keptIn: store, as: name(connecting.endpoint))
      if found.isKept {
        Terminal.note("nothing has changed since it was kept")
      } else if found.database.databaseHash == nil {
        Terminal.note("not kept: the peer has no Database Hash to tell whether it has changed")
      } else if !found.isNowKept {
        Terminal.note("not kept: the peer changes its address, or its database is too long")
      }
      return found.database
    }
  }

  /// What an endpoint's database is kept as; nil for what the link will name.
  private static func name(_ endpoint: Endpoint) -> PeerName? {
    switch endpoint {
    case .le, .leAny, .descriptor: return nil
    case .air: return PeerName(endpoint: endpoint.description)
    case .unix(let path):
      guard let whole = realpath(path, nil) else { return PeerName(endpoint: "unix:\(path)") }
      defer { free(whole) }
      return PeerName(endpoint: "unix:\(String(cString: whole))")
    }
  }

  private static func show(_ service: Service) {
    let kind = service.isPrimary ? "" : "  (secondary)"
    Terminal.print(
      "\(service.handle)-\(service.endGroupHandle)  \(Shown.named(service.uuid, .service))\(kind)")
    for include in service.includes {
      Terminal.print(
        "  \(include.handle)  includes \(include.startHandle)-\(include.endGroupHandle)"
          + "  \(Shown.named(include.uuid, .service))")
    }
    for characteristic in service.characteristics {
      let properties = Shown.properties(characteristic.properties).joined(separator: ", ")
      Terminal.print(
        "  \(characteristic.handle)  \(Shown.named(characteristic.uuid, .characteristic))"
          + "  value \(characteristic.valueHandle)  [\(properties)]")
      for descriptor in characteristic.descriptors {
        Terminal.print("    \(descriptor.handle)  \(Shown.named(descriptor.uuid, .descriptor))")
      }
    }
  }
}
