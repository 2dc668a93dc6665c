import Atto
import AttoGATT

/// `atto descriptors`: Discover All Characteristic Descriptors. Vol 3, Part G, 4.7.1.
enum DescriptorsCommand: Command {
  static let description = CommandDescription(
    "descriptors", "List attributes in a range of handles with their types.",
    synopsis: ["ENDPOINT RANGE [OPTIONS]"], arguments: [.endpoint, .range],
    details: """
      The descriptors of a characteristic follow its value. Other attributes in the range are listed
      too. The command performs this one GATT procedure and sends nothing else.
      """,
    groups: Connecting.options, examples: ["atto descriptors air:Strap 0x0013-0x0013"])

  static func run(_ arguments: Arguments, on loop: Loop) async throws {
    let connecting = try Connecting(arguments)
    let range = try HandleRange(argument: arguments.word(1, "RANGE"))
    let descriptors = try await connecting.use(on: loop) {
      try await $0.perform(DiscoverDescriptors(in: range))
    }
    let results = Results(arguments)
    for descriptor in descriptors {
      results.print(
        "\(descriptor.handle)  \(Shown.named(attribute: descriptor.uuid))", json: descriptor.json)
    }
  }
}
