import Atto
import AttoGATT

/// `atto services`: Discover All Primary Services, or by UUID. Vol 3, Part G, 4.4.
enum ServicesCommand: Command {
  private static let uuid = Option.uuid("uuid", "List only the services with this UUID.")
  private static let secondary = Option.flag("secondary", "List secondary services instead.")

  static let description = CommandDescription(
    "services", "List primary services.",
    synopsis: ["ENDPOINT [--uuid UUID | --secondary] [OPTIONS]"], arguments: [.endpoint],
    details: "The command performs this one GATT procedure and sends nothing else.",
    options: [uuid, secondary], groups: Connecting.options,
    examples: ["atto services air:Strap", "atto services air:Strap --uuid 180D"])

  static func run(_ arguments: Arguments, on loop: Loop) async throws {
    let connecting = try Connecting(arguments)
    let (uuid, isSecondary) = (arguments[uuid], arguments[secondary])
    if isSecondary, uuid != nil {
      throw UsageError("--secondary cannot be combined with --uuid")
    }
    let services = try await connecting.use(on: loop) { connection in
      if let uuid { return try await connection.perform(DiscoverPrimaryServicesByUUID(uuid)) }
      if isSecondary { return try await connection.perform(DiscoverSecondaryServices()) }
      return try await connection.perform(DiscoverPrimaryServices())
    }
    let results = Results(arguments)
    for service in services { results.print(service.line, json: service.json) }
  }
}
