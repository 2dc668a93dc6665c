import Atto
import AttoCommandLine
import AttoPeers

/// `atto adapters`: the kernel's Bluetooth adapters.
package enum AdaptersCommand: Command {
  private static let power = Option<Bool?>.choice(
    "power", "STATE", ["on": true, "off": false], "Switch the adapter, with LE.")
  private static let watch = Option.flag("watch", "Print changes until interrupted.")
  private static let time = Option.seconds("for", "Print changes for this time.")

  package static let description = CommandDescription(
    "adapters", "List Bluetooth adapters, and switch them on and off.",
    synopsis: ["[hciN] [OPTIONS]"],
    arguments: [
      ArgumentDescription(name: "hciN", summary: "One adapter instead of all.", kind: .adapter)
    ],
    options: [power, watch, time, CommonOptions.json],
    timeLimit: .open(unless: [time]), runsInSession: true,
    examples: ["atto adapters", "atto adapters hci0 --power on"])

  package static func run(_ arguments: Arguments, on loop: Loop) async throws {
    let wanted = try arguments.words.first.map { try Radios.index($0) }
    let results = Results(arguments)
    if let isOn = arguments[power] {
      let adapter = try await Adapter.kernel(wanted.map { .adapter($0) } ?? .any, loop: loop)
      let progress = ProgressLine(arguments).keep(on: loop) {
        "switching \(isOn ? "on" : "off") \(adapter.label)"
      }
      defer { progress?.cancel() }
      if isOn { try await adapter.powerOn() } else { try await adapter.powerOff() }
      await adapter.close()
    }
    let adapters = KernelAdapters(loop: loop)
    guard arguments[watch] || arguments.has(time) else {
      let list = try await adapters.list().filter { wanted == nil || $0.index == wanted }
      guard !list.isEmpty else { throw RadioError.noAdapter(wanted.map { "hci\($0)" } ?? "") }
      for information in list { show(information, nil, results) }
      return
    }
    let changes = try await adapters.changes()
    let waiting = WaitingNote(
      "waiting for changes: no adapter has appeared yet (Ctrl-C ends the command)", on: loop)
    defer { waiting.end() }
    let watching = Task(executorPreference: loop.tasks) {
      for await change in changes {
        waiting.end()
        switch change {
        case .added(let one) where wanted == nil || wanted == one.index:
          show(one, "added", results)
        case .changed(let one) where wanted == nil || wanted == one.index:
          show(one, "changed", results)
        case .removed(let index) where wanted == nil || wanted == index:
          let name = "hci\(index)"
          results.print("\(name)  removed", json: ["event": "removed", "adapter": name])
        default: break
        }
      }
    }
    // Ctrl-C ends the sleep and with it the command.
    try? await loop.sleep(for: arguments[time] ?? .seconds(1_000_000_000))
    watching.cancel()
    await watching.value
  }

  private static func show(_ one: AdapterInformation, _ event: String?, _ results: Results) {
    let version = one.versionText ?? "HCI version \(one.version)"
    let isOn = one.settings.contains(.powered)
    results.print(
      "\(one.label)  \(one.address)  Bluetooth \(version)  "
        + (one.name.isEmpty ? "(no name)" : "\"\(one.name)\"")
        + "  \(isOn ? "on" : "off")  [\(one.settings.words.joined(separator: " "))]"
        + (event.map { "  \($0)" } ?? ""),
      json: [
        "event": event, "adapter": one.label, "address": one.address.description,
        "version": one.versionText, "manufacturer": Int(one.manufacturer), "name": one.name,
        "settings": one.settings.words, "supported": one.supported.words,
      ])
  }
}
