import AttoMQTT
import AttoText

/// What the command line asks for.
enum Arguments: Equatable {
  case help
  case version
  case check(String)
  case run(String, control: String?)
  case status(control: String?, isJSON: Bool)
  /// The process that holds a connection to a broker; the gateway starts it.
  case brokerConnection
  case wrong(String)

  static let usage = """
    Hold links to Bluetooth LE devices, and serve them to networks.

    usage: atto-gateway FILE [--control PATH]
           atto-gateway --check FILE
           atto-gateway status [--control PATH] [--json]

      FILE            the configuration (JSON); read again at SIGHUP
      --check         check a configuration, and end
      status          show what a running gateway does
      --control PATH  the gateway's status socket. Default: $RUNTIME_DIRECTORY/control, else
                      $XDG_RUNTIME_DIR/atto-gateway/control; status also looks at
                      /run/atto-gateway/control
      --json          print one JSON object
      --version       print the version
      --help          print this help

    exit status: 0 done, 2 wrong arguments or configuration, 3 the gateway cannot start or be asked
    """

  static func parse(_ words: [String]) -> Arguments {
    var positional: [String] = []
    var control: String?
    var isJSON = false
    var isCheck = false
    var index = 0
    while index < words.count {
      let word = words[index]
      index += 1
      switch word {
      case "--help", "-h": return .help
      case "--version": return .version
      case BrokerConnectionProcess.option where words.count == 1: return .brokerConnection
      case "--check": isCheck = true
      case "--json": isJSON = true
      case "--control":
        guard index < words.count else { return .wrong("--control needs a path") }
        control = words[index]
        index += 1
      default:
        guard !word.hasPrefix("-") || word == "-" else {
          let near = NearestWord.of(
            word, among: ["--help", "--version", "--check", "--json", "--control"])
          return .wrong(
            "unknown option \"\(word.printable)\""
              + (near.map { " (did you mean \"\($0)\"?)" } ?? ""))
        }
        positional.append(word)
      }
    }
    guard let first = positional.first else { return .wrong("no configuration given") }
    if positional.count > 1 { return .wrong("unexpected argument \"\(positional[1].printable)\"") }
    if first == "status", !isCheck { return .status(control: control, isJSON: isJSON) }
    if isJSON { return .wrong("--json is for status") }
    if isCheck {
      return control == nil ? .check(first) : .wrong("--control cannot be combined with --check")
    }
    return .run(first, control: control)
  }
}
