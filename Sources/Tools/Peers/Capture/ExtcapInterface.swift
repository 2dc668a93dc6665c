import Atto
import AttoCommandLine
import AttoFormats

/// An interface that Wireshark lists among its own, and the options that it asks for.
///
/// Wireshark reads sentences such as `interface {value=NAME}{display=TEXT}`. They have no way to
/// escape braces.
package enum ExtcapInterface: String, CaseIterable {
  case monitor = "atto-monitor"
  case relay = "atto-relay"

  package static let adapter = Option.text(
    "adapter", "hciN", "atto-monitor: only this adapter, such as hci0.")
  package static let listen = Option.text(
    "listen", "ENDPOINT", "atto-relay: where clients connect, such as air:Between.")
  package static let peer = Option.text(
    "peer", "ENDPOINT", "atto-relay: the server, such as air:Strap or le:AA:BB:CC:DD:EE:FF.")
  package static let security = Option.choice(
    "security", "LEVEL", SecurityRequest.levels,
    "atto-relay: raise the link to the server to this security level.")

  /// The line in Wireshark's list.
  private var title: String {
    switch self {
    case .monitor: "Bluetooth of this machine (Atto)"
    case .relay: "Relay between ATT clients and a server (Atto)"
    }
  }

  package var content: CaptureWriter.Content {
    switch self {
    case .monitor: .monitor
    case .relay: .pdus
    }
  }

  /// Its own options.
  package var options: [any CommandOption] {
    switch self {
    case .monitor: [Self.adapter]
    case .relay: [Self.listen, Self.peer, Self.security]
    }
  }

  /// The sentences of `--extcap-interfaces`.
  package static var list: [String] {
    ["extcap {version=\(Version.number)}"]
      + allCases.map { "interface {value=\($0.rawValue)}{display=\($0.title)}" }
  }

  /// The sentence of `--extcap-dlts`.
  package var linkType: String {
    switch content {
    case .monitor:
      "dlt {number=254}{name=BLUETOOTH_LINUX_MONITOR}{display=Bluetooth Linux Monitor}"
    case .pdus: "dlt {number=201}{name=BLUETOOTH_HCI_H4_WITH_PHDR}{display=Bluetooth HCI UART}"
    }
  }

  /// The sentences of `--extcap-config`: the fields of a dialog.
  package var fields: [String] {
    options.map(\.description).enumerated().flatMap { number, option -> [String] in
      let isRequired = self == .relay && option.allowedValues.isEmpty
      let title = option.name.prefix(1).uppercased() + option.name.dropFirst()
      let kind = option.allowedValues.isEmpty ? "string" : "selector"
      let field =
        "arg {number=\(number)}{call=--\(option.name)}{display=\(title)}{type=\(kind)}"
        + "{required=\(isRequired)}{tooltip=\(option.summary)}"
      return [field]
        + option.allowedValues.enumerated().map { index, value in
          "value {arg=\(number)}{value=\(value)}{display=\(value)}{default=\(index == 0)}"
        }
    }
  }
}
