import Atto

/// `atto discover`: everything, as a tree.
enum DiscoverCommand: Command {
  static let name = "discover"
  static let summary = "Everything that a server has, as a tree."
  static let usage = "ENDPOINT [OPTIONS]"
  static let options = OptionSpec.connecting

  static func run(_ arguments: Arguments, on loop: Loop) async throws {
    let connecting = try Connecting(arguments)
    try arguments.allow(words: 1)
    let database = try await connecting.use(on: loop) { try await $0.discover() }
    if arguments.has("json") { return try Terminal.print(json: DatabaseJSON(database)) }
    for service in database.services { show(service) }
    let characteristics = database.services.reduce(0) { $0 + $1.characteristics.count }
    Terminal.note(
      Shown.count(database.services.count, "service") + ", "
        + Shown.count(characteristics, "characteristic"))
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
