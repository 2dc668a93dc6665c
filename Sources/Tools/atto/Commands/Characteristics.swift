import Atto
import AttoGATT

/// `atto characteristics`: Discover All Characteristics of a Service, or by UUID. Vol 3, Part
/// G, 4.6.
enum CharacteristicsCommand: Command {
  private static let uuid = Option.uuid("uuid", "List only the characteristics with this UUID.")

  static let description = CommandDescription(
    "characteristics", "List characteristics in a range of handles.",
    synopsis: ["ENDPOINT RANGE [--uuid UUID] [OPTIONS]"], arguments: [.endpoint, .range],
    details: "The command performs this one GATT procedure and sends nothing else.",
    options: [uuid], groups: Connecting.options,
    examples: ["atto characteristics air:Strap 0x0010-0x0017"])

  static func run(_ arguments: Arguments, on loop: Loop) async throws {
    let connecting = try Connecting(arguments)
    let range = try HandleRange(argument: arguments.word(1, "RANGE"))
    let uuid = arguments[uuid]
    let characteristics = try await connecting.use(on: loop) { connection in
      if let uuid {
        return try await connection.perform(DiscoverCharacteristicsByUUID(uuid, in: range))
      }
      return try await connection.perform(DiscoverCharacteristics(in: range))
    }
    let results = Results(arguments)
    for characteristic in characteristics {
      results.print(
        "\(characteristic.declarationHandle)  value \(characteristic.valueHandle)"
          + "  \(Shown.named(characteristic.uuid, .characteristic))  \(characteristic.propertyList)",
        json: characteristic.json)
    }
  }
}
