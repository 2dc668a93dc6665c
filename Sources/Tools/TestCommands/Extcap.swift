import Atto
import AttoCommandLine
import AttoFormats
import AttoPeers

/// `atto extcap`: `atto capture` as Wireshark starts it.
package enum ExtcapCommand: Command {
  private static let interfaces = Option.flag(
    "extcap-interfaces", "Print the interfaces.")
  private static let version = Option.text(
    "extcap-version", "VERSION", "The version of Wireshark; ignored.")
  private static let linkTypes = Option.flag(
    "extcap-dlts", "Print the link type of the interface.")
  private static let fields = Option.flag(
    "extcap-config", "Print the options of the interface.")
  private static let interface = Option.value(
    "extcap-interface", "NAME", "The interface.",
    expected: ExtcapInterface.allCases.map(\.rawValue).alternatives
  ) { ExtcapInterface(rawValue: $0) }
  private static let capture = Option.flag("capture", "Capture on the interface.")
  private static let fifo = Option.file(
    "fifo", "FIFO", "Where to write the capture to, as pcapng.")
  private static let filter = Option.text(
    "extcap-capture-filter", "FILTER", "A capture filter. There are none: use a display filter.")

  package static let description = CommandDescription(
    "extcap", "Capture for Wireshark, as one of its interfaces.",
    synopsis: [
      "--extcap-interfaces", "--extcap-interface NAME --extcap-dlts",
      "--extcap-interface NAME --extcap-config",
      "--extcap-interface NAME --capture --fifo FIFO [OPTIONS]",
    ],
    details: """
      Wireshark runs the programs in its personal extcap folder, which About Wireshark shows under
      Folders. A symbolic link to this one is enough:

        mkdir -p ~/.config/wireshark/extcap
        ln -s "$(command -v atto)" ~/.config/wireshark/extcap/

      So is a script:

        #!/bin/sh
        exec atto extcap "$@"

      Then Wireshark and tshark -D list two interfaces. atto-monitor is the kernel's Bluetooth, all HCI
      traffic of this machine or of one adapter; it requires CAP_NET_RAW. atto-relay listens for clients
      and connects each of them to a server, on any endpoint of Atto. See atto help capture.

      The capture ends when Wireshark closes the FIFO, and at SIGTERM.
      """,
    options: [interfaces, version, interface, linkTypes, fields, capture, fifo, filter]
      + ExtcapInterface.allCases.flatMap(\.options),
    timeLimit: .open,
    examples: [
      "atto extcap --extcap-interfaces",
      "atto extcap --extcap-interface atto-relay --extcap-config",
    ])

  /// Whether a command line without a subcommand is Wireshark's, which starts a symbolic link to this
  /// program in its extcap folder.
  package static func isMeant(by words: [String]) -> Bool {
    words.first?.hasPrefix("-") == true && words.contains { $0.hasPrefix("--extcap-") }
  }

  package static func run(_ arguments: Arguments, on loop: Loop) async throws {
    if arguments[interfaces] { return show(ExtcapInterface.list) }
    guard let interface = arguments[interface] else {
      throw UsageError("--extcap-interface is missing", hint: "Wireshark runs this command")
    }
    for other in ExtcapInterface.allCases where other != interface {
      try arguments.forbid(other.options, "is not an option of \(interface.rawValue)")
    }
    if arguments[linkTypes] { return show([interface.linkType]) }
    if arguments[fields] { return show(interface.fields) }
    let noFilters = "capture filters are not supported: use a display filter"
    if let text = arguments[filter], !text.isEmpty {
      guard arguments[capture] else { return show([noFilters]) }
      throw UsageError(noFilters)
    }
    // Wireshark has a filter checked, and takes no output for a valid one.
    guard arguments[capture] else {
      if arguments.has(filter) { return }
      throw UsageError("nothing to do: give --capture, --extcap-dlts or --extcap-config")
    }
    guard let fifo = arguments[fifo] else { throw UsageError("--capture requires --fifo") }
    try await run(interface, arguments, fifo, on: loop)
  }

  private static func show(_ lines: [String]) { for line in lines { Terminal.print(line) } }

  private static func run(
    _ interface: ExtcapInterface, _ arguments: Arguments, _ fifo: String, on loop: Loop
  ) async throws {
    let readerGone = AsyncStream<Void>.makeStream()
    let file = try CaptureFile(CaptureWriter(.pcapng, interface.content), path: fifo) {
      readerGone.continuation.finish()
    }
    // Wireshark waits for a file to begin, even after this process has ended with an error.
    file.begin()
    let capturing: Task<Void, any Error>
    switch interface {
    case .monitor:
      let adapter = try arguments[ExtcapInterface.adapter].map { try Radios.index($0) }
      let capture = MonitorCapture(adapter: adapter, file: file)
      capturing = Task(executorPreference: loop.tasks) { try await capture.run(on: loop) }
    case .relay:
      guard let place = arguments[ExtcapInterface.listen],
        let peer = arguments[ExtcapInterface.peer]
      else {
        throw UsageError(
          "atto-relay needs an endpoint to listen at and the server",
          hint: "set both in Wireshark's interface options")
      }
      let level = arguments[ExtcapInterface.security].level
      let words = ["--listen=" + place, "--security=\(level)", "--", peer]
      let capture = try RelayCapture(
        Arguments(words, of: CaptureCommand.description), place: place, file: file, results: nil)
      capturing = Task(executorPreference: loop.tasks) { try await capture.run(on: loop) }
    }
    let watching = Task(executorPreference: loop.tasks) {
      for await _ in readerGone.stream {}
      capturing.cancel()
    }
    defer { watching.cancel() }
    do {
      try await capturing.valueOrCancel
    } catch  where ExitStatus(error).isInterruption {
      // The end that Wireshark asks for.
    }
  }
}
