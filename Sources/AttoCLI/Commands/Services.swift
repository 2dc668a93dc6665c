import Atto

/// `atto services`: Discover All Primary Services, or by UUID. Vol 3, Part G, 4.4.
enum ServicesCommand: Command {
  static let name = "services"
  static let examples = [
    "atto services air:Strap",
    "atto services air:Strap --uuid 180D",
  ]
  static let summary = "Primary services, and nothing more on the wire."
  static let usage = "ENDPOINT [--uuid UUID] [OPTIONS]"
  static let options =
    [
      OptionSpec("uuid", "UUID", "only those of this type"),
      OptionSpec("secondary", nil, "secondary services instead"),
    ] + OptionSpec.connecting

  private struct Line: Encodable {
    let handle: Int
    let endHandle: Int
    let uuid: String
    let primary: Bool
  }

  static func run(_ arguments: Arguments, on loop: Loop) async throws {
    let connecting = try Connecting(arguments)
    try arguments.allow(words: 1)
    let uuid = try arguments.uuid("uuid")
    let isSecondary = arguments.has("secondary")
    if isSecondary, uuid != nil { throw UsageError("--secondary goes without --uuid") }
    let services = try await connecting.use(on: loop) { connection in
      if let uuid { return try await connection.perform(DiscoverPrimaryServicesByUUID(uuid)) }
      if isSecondary { return try await connection.perform(DiscoverSecondaryServices()) }
      return try await connection.perform(DiscoverPrimaryServices())
    }
    for service in services {
      if arguments.has("json") {
        try Terminal.print(
          json: Line(
            handle: Shown.json(service.handle), endHandle: Shown.json(service.endGroupHandle),
            uuid: Shown.json(service.uuid), primary: service.isPrimary))
      } else {
        Terminal.print(
          "\(service.handle)-\(service.endGroupHandle)  \(Shown.named(service.uuid, .service))")
      }
    }
  }
}
