import Atto

/// `atto includes`: Find Included Services. Vol 3, Part G, 4.5.1.
enum IncludesCommand: Command {
  static let name = "includes"
  static let examples = [
    "atto includes air:Strap 0x0001-0xFFFF"
  ]
  static let summary = "Included services in a range, and nothing more on the wire."
  static let usage = "ENDPOINT RANGE [OPTIONS]"
  static let options = OptionSpec.connecting
  static let notes = "RANGE is 0x0001-0xFFFF."

  static func run(_ arguments: Arguments, on loop: Loop) async throws {
    let connecting = try Connecting(arguments)
    let range = try HandleRange(argument: arguments.word(1, "RANGE"))
    try arguments.allow(words: 2)
    let includes = try await connecting.use(on: loop) {
      try await $0.perform(FindIncludedServices(in: range))
    }
    for include in includes {
      if arguments.has("json") {
        try Terminal.print(json: IncludeJSON(include))
      } else {
        Terminal.print(
          "\(include.handle)  \(include.startHandle)-\(include.endGroupHandle)"
            + "  \(Shown.named(include.uuid, .service))")
      }
    }
  }
}
