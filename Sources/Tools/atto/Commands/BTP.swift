import Atto
import AttoBTP
import AttoCommandLine
import AttoPeers
import AttoStore

/// `atto btp`: the Bluetooth Test Protocol, for auto-pts and other testers.
enum BTPCommand: Command {
  private static let socket: Option<String?> = {
    var option = Option.file(
      "socket", "PATH", "The Unix socket on which the tester listens.")
    option.description.short = "s"
    return option
  }()
  private static let index = Option.integer(
    "index", "N", in: 0...254, default: 0,
    "The controller index that the tester has for the radio: auto-pts takes 0 whatever it is called."
  )
  private static let mtu = Option.integer(
    "mtu", "N", in: 23...65535, default: 517, "The MTU to offer, 23 to 65535.")
  private static let verbose = Option.flag(
    "verbose", "Print each frame of the protocol on standard error.")
  private static let list = Option.flag(
    "list", "Print which commands of the protocol are supported.")

  static let description = CommandDescription(
    "btp", "Let a tester drive a radio with the Bluetooth Test Protocol.",
    synopsis: ["[RADIO] -s PATH [OPTIONS]", "--list [--json]"],
    arguments: [.radio],
    details: """
      The tester, such as auto-pts, listens on a Unix socket (SOCK_STREAM). The command connects to it,
      reports IUT Ready, and carries out commands until the tester closes the socket: the services
      Core, GAP, GATT, GATT Client, GATT Server and L2CAP.

      auto-pts takes the command in place of BlueZ's btpclient:

        autoptsclient-bluez.py --btpclient_path "atto btp le:@hci0" ...

      What fails for a reason that the protocol has no word for is explained on standard error.
      """ + "\n\n" + Radios.details,
    options: [
      socket, index, mtu, verbose, list, CommonOptions.json, CommonOptions.capture,
      CommonOptions.trace,
    ], groups: [StoreOptions.group], timeLimit: .open, delivery: .log,
    examples: ["atto btp air:IUT -s /tmp/bt-stack-tester", "atto btp --list"])

  static func run(_ arguments: Arguments, on loop: Loop) async throws {
    if arguments[list] { return show(Results(arguments)) }
    guard let path = arguments[socket] else {
      throw UsageError("--socket is missing", hint: "the tester listens there: -s PATH")
    }
    let endpoint = try await Radios.endpoint(arguments.words.first, on: loop)
    var options = ConnectionOptions()
    options.receiveMTU = arguments[mtu]
    options.enhancedBearers = ConnectionOptions.maximumEnhancedBearers
    try Monitor.add(to: &options, arguments, CaptureEnds(of: endpoint, isCentral: false))
    let radio = try await Radios.open(endpoint, on: loop)
    var bonds = SavedBonds()
    if let number = radio.index {
      bonds = try await SavedBonds.begin(
        try StoreOptions(arguments), .adapter(number), peer: nil, mayPair: true, on: loop)
    }
    let tester = BTPTester(
      radio, index: UInt8(arguments[index]), options: options, store: bonds.store,
      isVerbose: arguments[verbose])
    let result: Result<Void, any Error>
    do {
      result = .success(try await tester.run(path))
    } catch {
      // Testers end the program by a signal, which is no failure.
      result = ExitStatus(error).isInterruption ? .success(()) : .failure(error)
    }
    await bonds.end(on: loop)
    await radio.close()
    try result.get()
  }

  private static func show(_ results: Results) {
    for service in BTPService.allCases {
      if !results.isJSON { Terminal.print("\(service.name) (\(service.rawValue))") }
      for command in service.commands {
        let note = command.note
        results.print(
          "  0x\(Shown.hex([command.opcode]))  \(command.support.padded(to: 6))  \(command.name)"
            + (note.isEmpty ? "" : ": \(note)"),
          json: [
            "service": Int(service.rawValue), "serviceName": service.name,
            "opcode": Int(command.opcode), "command": command.name, "supported": command.support,
            "note": note.isEmpty ? nil : note,
          ])
      }
    }
  }
}
