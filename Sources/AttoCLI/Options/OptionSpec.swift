/// One long option of a command.
struct OptionSpec: Sendable {
  let name: String
  /// What follows it, as the help shows it; nil for a flag.
  let argument: String?
  let help: String

  init(_ name: String, _ argument: String? = nil, _ help: String) {
    self.name = name
    self.argument = argument
    self.help = help
  }
}

extension OptionSpec {
  static let json = OptionSpec("json", nil, "one JSON object per line on standard output")
  static let timeout = OptionSpec("timeout", "SECONDS", "for connecting and for each response")

  static let trace = OptionSpec("trace", nil, "each PDU, decoded, on standard error")
  static let capture = OptionSpec("capture", "FILE", "keep the PDUs in FILE.btsnoop or FILE.pcapng")

  static let sendBuffer = OptionSpec(
    "send-buffer", "N", "octets that may wait in the kernel; few: less delay")

  /// What every command that connects understands.
  static let connecting: [OptionSpec] =
    [
      OptionSpec("mtu", "N", "exchange the MTU first, offering N (23 to 65535)"),
      timeout,
      OptionSpec(
        "security", "LEVEL",
        "low, medium, high or fips; auto: what the peer asks for when it refuses"),
      sendBuffer,
      OptionSpec("link", nil, "what the kernel knows of the link, on standard error (le:)"),
      json,
      capture,
      trace,
    ] + PairingOptions.specs + StoreOptions.specs
}
