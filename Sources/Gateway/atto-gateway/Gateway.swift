import Atto
import AttoEventLoop
import AttoGateway
import AttoMQTT
import CAttoLinux
import Glibc

/// The command `atto-gateway`.
@main struct Gateway {
  static func main() {
    signal(SIGPIPE, SIG_IGN)
    switch Arguments.parse(CommandLine.words) {
    case .help: print(Arguments.usage)
    case .version: print("atto-gateway \(Version.number)")
    case .check(let file): check(file)
    case .brokerConnection: BrokerConnectionProcess.serve()
    case .status(let control, let isJSON): StatusCommand.run(control, isJSON: isJSON)
    case .wrong(let text):
      complain("\(text)\nhint: atto-gateway --help")
      exit(2)
    case .run(let file, let control): run(file, control)
    }
  }

  /// Writes to standard error. Only before the loop runs, because it may block.
  static func complain(_ text: String) { writeError("atto-gateway: \(text)\n") }

  private static func read(_ file: String) -> Configuration {
    do throws(ConfigurationError) {
      return try Configuration(contentsOfFile: file)
    } catch {
      complain("\(error)")
      exit(2)
    }
  }

  private static func check(_ file: String) {
    let configuration = read(file)
    for warning in configuration.warnings(file: file) { complain("warning: \(warning)") }
    if let state = configuration.state, access("\(state)/.", W_OK) != 0 {
      let reason = String(cString: strerror(errno))
      complain("warning: state: cannot write to the folder \(state): \(reason)")
    }
    print(
      "\(file): name: \(configuration.name), devices: \(configuration.devices.count), adapters: "
        + configuration.adapters.map(\.description).joined(separator: ", "))
  }

  private static func run(_ file: String, _ control: String?) {
    // Before any thread starts, because threads inherit both.
    let signals = clinux_signalfd_interrupt()
    _ = clinux_keep_privileges()
    let configuration = read(file)
    if let (message, hint) = CommandLine.missingProc {
      complain("\(message)\nhint: \(hint)")
      exit(3)
    }
    do {
      let loop = try Loop(name: "gateway")
      let log = try Log(configuration.log)
      let service = Service(file, configuration, control: control, signals, loop, log)
      let status = loop.runBlocking { await service.run() }
      log.flush()
      exit(status)
    } catch {
      complain("\(error)")
      exit(3)
    }
  }
}
