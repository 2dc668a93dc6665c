import Atto
import AttoCommandLine
import AttoGATT
import AttoPeers

/// `atto services`: Discover All Primary Services, or by UUID. Vol 3, Part G, 4.4.
package struct ServicesCommand: ConnectionCommand {
  private static let uuid = Option.sentUUID(
    "uuid", .service, summary: "List only the services with this UUID.")
  private static let secondary = Option.flag("secondary", "List secondary services instead.")

  package static let description = CommandDescription(
    "services", "List primary services.",
    synopsis: ["ENDPOINT [--uuid UUID | --secondary] [OPTIONS]"], arguments: [.endpoint],
    details: "The command performs this one GATT procedure and sends nothing else.",
    options: [uuid, GivenUUID.asIs, secondary], groups: Connecting.options,
    examples: ["atto services air:Strap", "atto services air:Strap --uuid 180D"])

  private let uuid: GivenUUID?
  private let isSecondary: Bool

  package init(_ arguments: Arguments, for endpoint: Endpoint) throws {
    (uuid, isSecondary) = (try GivenUUID(arguments, Self.uuid), arguments[Self.secondary])
    if isSecondary, uuid != nil {
      throw UsageError("--secondary cannot be combined with --uuid")
    }
  }

  package static func access(_ arguments: Arguments) -> CommandAccess? { CommandAccess.none }

  package func run(on peer: ConnectedPeer) async throws {
    for service in try await services(of: peer.connection) {
      peer.results.print(service.line, json: service.json)
    }
  }

  private func services(of connection: Connection) async throws -> [Service] {
    if let uuid {
      return try await connection.perform(
        DiscoverPrimaryServicesByUUID(uuid.uuid, inFull: uuid.isLong))
    }
    if isSecondary { return try await connection.perform(DiscoverSecondaryServices()) }
    return try await connection.perform(DiscoverPrimaryServices())
  }
}
