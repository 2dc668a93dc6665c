import Atto
import AttoGATT

/// `atto includes`: Find Included Services. Vol 3, Part G, 4.5.1.
enum IncludesCommand: Command {
  static let description = CommandDescription(
    "includes", "List included services in a range of handles.",
    synopsis: ["ENDPOINT RANGE [OPTIONS]"], arguments: [.endpoint, .range],
    details: "The command performs this one GATT procedure and sends nothing else.",
    groups: Connecting.options, examples: ["atto includes air:Strap 0x0001-0xFFFF"])

  static func run(_ arguments: Arguments, on loop: Loop) async throws {
    let connecting = try Connecting(arguments)
    let range = try HandleRange(argument: arguments.word(1, "RANGE"))
    let includes = try await connecting.use(on: loop) {
      try await $0.perform(FindIncludedServices(in: range))
    }
    let results = Results(arguments)
    for include in includes {
      results.print("\(include.handle)  \(include.range)", json: include.json)
    }
  }
}
