import Atto

/// `atto descriptors`: Discover All Characteristic Descriptors. Vol 3, Part G, 4.7.1.
enum DescriptorsCommand: Command {
  static let name = "descriptors"
  static let examples = [
    "atto descriptors air:Strap 0x0013-0x0013"
  ]
  static let summary = "Attributes in a range with their types, and nothing more on the wire."
  static let usage = "ENDPOINT RANGE [OPTIONS]"
  static let options = OptionSpec.connecting
  static let notes =
    "RANGE is 0x0001-0xFFFF. Descriptors follow a characteristic's value; other attributes in\n"
    + "the range are listed too."

  static func run(_ arguments: Arguments, on loop: Loop) async throws {
    let connecting = try Connecting(arguments)
    let range = try HandleRange(argument: arguments.word(1, "RANGE"))
    try arguments.allow(words: 2)
    let descriptors = try await connecting.use(on: loop) {
      try await $0.perform(DiscoverDescriptors(in: range))
    }
    for descriptor in descriptors {
      if arguments.has("json") {
        try Terminal.print(json: DescriptorJSON(descriptor))
      } else {
        Terminal.print("\(descriptor.handle)  \(Shown.named(attribute: descriptor.uuid))")
      }
    }
  }
}
