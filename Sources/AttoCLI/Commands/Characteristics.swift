import Atto

/// `atto characteristics`: Discover All Characteristics of a Service, or by UUID. Vol 3, Part
/// G, 4.6.
enum CharacteristicsCommand: Command {
  static let name = "characteristics"
  static let examples = [
    "atto characteristics air:Strap 0x0010-0x0017"
  ]
  static let summary = "Characteristics in a range, and nothing more on the wire."
  static let usage = "ENDPOINT RANGE [--uuid UUID] [OPTIONS]"
  static let options =
    [OptionSpec("uuid", "UUID", "only those of this type")] + OptionSpec.connecting
  static let notes = "RANGE is 0x0001-0xFFFF."

  private struct Line: Encodable {
    let handle: Int
    let valueHandle: Int
    let properties: [String]
    let uuid: String
  }

  static func run(_ arguments: Arguments, on loop: Loop) async throws {
    let connecting = try Connecting(arguments)
    let range = try HandleRange(argument: arguments.word(1, "RANGE"))
    try arguments.allow(words: 2)
    let uuid = try arguments.uuid("uuid")
    let characteristics = try await connecting.use(on: loop) { connection in
      if let uuid {
        return try await connection.perform(DiscoverCharacteristicsByUUID(uuid, in: range))
      }
      return try await connection.perform(DiscoverCharacteristics(in: range))
    }
    for characteristic in characteristics {
      let properties = Shown.properties(characteristic.properties)
      if arguments.has("json") {
        try Terminal.print(
          json: Line(
            handle: Shown.json(characteristic.handle),
            valueHandle: Shown.json(characteristic.valueHandle), properties: properties,
            uuid: Shown.json(characteristic.uuid)))
      } else {
        Terminal.print(
          "\(characteristic.handle)  value \(characteristic.valueHandle)"
            + "  \(Shown.named(characteristic.uuid, .characteristic))"
            + "  [\(properties.joined(separator: ", "))]")
      }
    }
  }
}
