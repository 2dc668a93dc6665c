import Atto

/// `atto adapters`: the kernel's Bluetooth adapters.
enum AdaptersCommand: Command {
  static let name = "adapters"
  static let examples = [
    "atto adapters",
    "atto adapters hci0 --power on",
  ]
  static let summary = "The kernel's Bluetooth adapters and their state."
  static let usage = "[hciN] [OPTIONS]"
  static let options = [
    OptionSpec("power", "on|off", "switch an adapter on (LE too) or off"),
    OptionSpec("watch", nil, "go on, and tell what changes, until Ctrl-C"),
    OptionSpec("for", "SECONDS", "watch for so long"),
    .json,
  ]

  private struct Line: Encodable {
    var event: String?
    var adapter: String
    var address: String?
    var version: String?
    var manufacturer: Int?
    var name: String?
    var settings: [String]?
    var supported: [String]?
  }

  static func run(_ arguments: Arguments, on loop: Loop) async throws {
    try arguments.allow(words: 1)
    let wanted = try arguments.words.first.map(Self.index)
    let isJSON = arguments.has("json")
    if let word = arguments.value("power") { try await switchPower(word, wanted, on: loop) }
    let adapters = KernelAdapters(loop: loop)
    guard arguments.has("watch") || arguments.has("for") else {
      let list = try await adapters.list().filter { wanted == nil || $0.index == wanted }
      guard !list.isEmpty else { throw RadioError.noAdapter(wanted.map { "hci\($0)" } ?? "") }
      for information in list { try show(information, nil, isJSON) }
      return
    }
    let watching = Task(executorPreference: loop.tasks) {
      for await change in try await adapters.changes() { try tell(change, isJSON, wanted) }
    }
    let end = try arguments.duration("for") ?? .seconds(1_000_000_000)
    // Ctrl-C ends the sleep, and that the command.
    try? await loop.sleep(for: end)
    watching.cancel()
    try await watching.value
  }

  private static func tell(_ change: AdapterChange, _ isJSON: Bool, _ wanted: UInt16?) throws {
    switch change {
    case .added(let information): try show(information, "added", isJSON, wanted)
    case .changed(let information): try show(information, "changed", isJSON, wanted)
    case .removed(let index): try tellRemoved(index, isJSON, wanted)
    }
  }

  /// The number of an adapter, which is written hciN.
  static func index(_ word: String) throws -> UInt16 {
    guard word.hasPrefix("hci"), let index = UInt16(word.dropFirst(3)) else {
      throw UsageError("an adapter is written hci0, not \"\(word)\"")
    }
    return index
  }

  private static func switchPower(
    _ word: String, _ index: UInt16?, on loop: Loop
  ) async throws {
    let adapter = try await KernelAdapter.open(index.map { .adapter($0) } ?? .any, loop: loop)
    switch word {
    case "on": try await adapter.powerOn()
    case "off": try await adapter.powerOff()
    default: throw UsageError("--power wants on or off, not \"\(word)\"")
    }
    await adapter.close()
  }

  private static func tellRemoved(_ index: UInt16, _ isJSON: Bool, _ wanted: UInt16?) throws {
    guard wanted == nil || wanted == index else { return }
    if isJSON {
      try Terminal.print(json: Line(event: "removed", adapter: "hci\(index)"))
    } else {
      Terminal.print("hci\(index)  removed")
    }
  }

  private static func show(
    _ information: AdapterInformation, _ event: String?, _ isJSON: Bool, _ wanted: UInt16? = nil
  ) throws {
    guard wanted == nil || wanted == information.index else { return }
    if isJSON {
      return try Terminal.print(
        json: Line(
          event: event, adapter: information.label, address: information.address.description,
          version: information.versionText, manufacturer: Int(information.manufacturer),
          name: information.name, settings: information.settings.words,
          supported: information.supported.words))
    }
    let version = information.versionText ?? "HCI version \(information.version)"
    let isOn = information.settings.contains(.powered)
    Terminal.print(
      "\(information.label)  \(information.address)  Bluetooth \(version)  "
        + (information.name.isEmpty ? "(no name)" : "\"\(information.name)\"")
        + "  \(isOn ? "on" : "off")  [\(information.settings.words.joined(separator: " "))]"
        + (event.map { "  \($0)" } ?? ""))
  }
}
