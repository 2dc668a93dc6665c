import Atto
import AttoCommandLine
import AttoConformance
import AttoFormats
import AttoPeers
import Glibc

/// `atto decode`: PDUs from the command line, a capture or a transcript.
package enum DecodeCommand: Command {
  private static let mtu = Option.integer(
    "mtu", "N", in: 23...65535, "The ATT_MTU: longer PDUs are wrong (23 to 65535).")
  private static let connection = Option.value(
    "connection", "HANDLE", "Of a capture: only this connection, written as in the output.",
    expected: "a handle such as 0x0040, 0x0040.2 or hci1/0x0040"
  ) { ConnectionChoice(argument: $0) }
  private static let channels = Option.list(
    "channel", "CID", "Of a capture: the L2CAP channel of ATT (default: 4).",
    expected: "an L2CAP channel, 1 to 0xFFFF"
  ) { text in UInt16(argument: text).flatMap { $0 > 0 ? $0 : nil } }
  private static let transcript = Option.flag(
    "transcript", "Of a capture: print a transcript for atto play.")
  private static let profile = Option.text(
    "profile", "NAME", "With --transcript: the server's profile, such as strap.json.")
  private static let type = Option.uuid(
    "as", .characteristic, .descriptor,
    summary: "HEX are values of this characteristic or descriptor.")
  private static let advertisement = Option.flag(
    "advertisement",
    "HEX are advertising data of sensors, each perhaps after the device's address and a space.")
  private static let check = Option.flag("check", "Exit with status 4 if a PDU breaks a rule.")

  package static let description = CommandDescription(
    "decode", "Decode PDUs and capture files.",
    synopsis: [
      "HEX... [OPTIONS]", "--as UUID HEX... [OPTIONS]", "--advertisement HEX... [OPTIONS]",
      "FILE [OPTIONS]", "- [OPTIONS]",
    ],
    arguments: [
      ArgumentDescription(
        name: "HEX...",
        summary:
          "PDUs, with or without spaces, colons and 0x; \"\" is the empty PDU. Words of two digits"
          + " each are one PDU together.", isRepeatable: true, kind: .file),
      ArgumentDescription(
        name: "FILE", summary: "A capture or a transcript. Write ./0a for a file named 0a."),
      ArgumentDescription(
        name: "-",
        summary:
          "Standard input: a capture, or lines of hex, each with > or < before it or without."),
    ],
    details: """
      The content of FILE tells its format: btsnoop (btmon -w, Android's btsnoop_hci.log, --capture),
      pcap and pcapng (Wireshark, tcpdump, nRF Sniffer; link types 187, 201, 254, 256 and 272), hcidump
      -w, or a transcript (.att).

      For each PDU of a capture the command prints the number of its last record, the seconds since the
      first record, the connection handle (0x0040.2 is the second connection with this handle), the
      direction (> sent, < received by this host), the octets and their meaning. In a sniffer's capture
      the handle is the access address, and > is from the central. Fragments are reassembled. The
      other contents of the capture are counted on standard error.

      The errors of a PDU are printed below it, with the offset from the opcode. The ATT_MTU is known if
      the capture has the beginning of the connection or the exchange, or from --mtu.

      In a transcript > is from the client to the server: requests, commands and confirmations come from
      a client, responses, notifications and indications from a server. Each connection makes one case
      per side that acts as a client.
      """,
    options: [
      type, advertisement, SensorOptions.keys, SensorOptions.keyFile, mtu, connection, channels,
      transcript, profile,
      check,
      CommonOptions.json,
    ],
    timeLimit: .unlimited,
    examples: [
      "atto decode 0a1500 \"01 0a 15 00 0a\"", "atto decode --as 2A37 0048 --json",
      "atto decode --advertisement 0a16d2fc4002ca0903bf13",
      "atto decode btsnoop_hci.log --connection 0x0040",
      "atto decode capture.pcapng --json", "sudo btmon -w /dev/stdout | atto decode -",
      "atto decode capture.btsnoop --transcript > again.att",
    ])

  package static func run(_ arguments: Arguments, on loop: Loop) async throws {
    guard let first = arguments.words.first else {
      throw UsageError("nothing to decode: give PDUs in hex, a file, or - for standard input")
    }
    var output = DecodeOutput(isJSON: arguments[CommonOptions.json], isChecked: arguments[check])
    if !arguments[transcript] { try arguments.forbid([profile], "requires --transcript") }
    if arguments[transcript], output.isJSON {
      throw UsageError("--transcript cannot be combined with --json")
    }
    let mtu = arguments[mtu]
    if !arguments[advertisement] {
      try arguments.forbid(SensorOptions.all, "requires --advertisement")
    }
    if arguments[advertisement] {
      try await showAdvertisements(arguments, &output, on: loop)
    } else if let type = arguments[type] {
      try showValues(arguments, of: type)
    } else if let pdus = try pdus(arguments.words) {
      try forbidCaptureOptions(arguments, "PDUs in hex")
      var exchange = ExchangeText()
      for pdu in pdus { output.show(DecodedPDU(pdu, mtu: mtu, of: &exchange)) }
    } else if first == "-" {
      let input = InputFile(on: loop)
      let beginning = try await input.beginning(CaptureReader.tellingLength)
      if CaptureReader.format(of: beginning) == nil, isText(beginning) {
        try forbidCaptureOptions(arguments, "lines of hex")
        var lines = LineDecoding(mtu: mtu)
        try await lines.run(input, beginning, &output)
      } else {
        var capture = capture(arguments)
        try await capture.run(input, beginning, &output, progress(arguments))
      }
    } else {
      try await file(first, arguments, mtu, &output, on: loop)
    }
    try output.finish()
  }

  private static func showValues(_ arguments: Arguments, of type: BluetoothUUID) throws {
    try forbidCaptureOptions(arguments, "values")
    try arguments.forbid([mtu, profile, check], "cannot be combined with --as")
    guard ValueFormat(of: type) != nil else {
      throw UsageError(
        "no format known for \(Shown.named(attribute: type))",
        hint: "atto decode --as 2A37 0048 decodes a heart rate")
    }
    let results = Results(arguments)
    for word in arguments.words {
      let value = ShownValue(try octets(argument: word), of: type)
      results.print(value.text, json: value.json)
    }
  }

  private static func showAdvertisements(
    _ arguments: Arguments, _ output: inout DecodeOutput, on loop: Loop
  ) async throws {
    try forbidCaptureOptions(arguments, "advertisements")
    try arguments.forbid([type, mtu, profile, check], "cannot be combined with --advertisement")
    let decoding = try AdvertisementDecoding(arguments)
    guard arguments.words != ["-"] else {
      let input = InputFile(on: loop)
      var lines = LineDecoding(mtu: nil, advertisements: decoding)
      return try await lines.run(input, try await input.next(), &output)
    }
    for word in arguments.words { try decoding.show(word[...]) }
  }

  private static func progress(_ arguments: Arguments) -> ProgressLine {
    // A transcript is printed at the end.
    ProgressLine(arguments, isBesideResults: !arguments[transcript])
  }

  private static func capture(_ arguments: Arguments) -> CaptureDecoding {
    let channels = Set(arguments[channels])
    return CaptureDecoding(
      choice: arguments[connection], mtu: arguments[mtu],
      channels: channels.isEmpty ? [4] : channels,
      transcript: arguments[transcript] ? CaptureTranscript(profile: arguments[profile]) : nil)
  }

  private static func file(
    _ path: String, _ arguments: Arguments, _ mtu: Int?, _ output: inout DecodeOutput,
    on loop: Loop
  ) async throws {
    let input = try InputFile(path: path, on: loop)
    let beginning = try await input.beginning(CaptureReader.tellingLength)
    guard !beginning.isEmpty else {
      throw FileError(message: "cannot decode \(path): empty file")
    }
    guard CaptureReader.format(of: beginning) == nil, isText(beginning) else {
      var capture = capture(arguments)
      return try await capture.run(input, beginning, &output, progress(arguments))
    }
    try forbidCaptureOptions(arguments, "transcripts")
    let text = try await input.rest(after: beginning)
    let transcript: Transcript
    do throws(TranscriptError) {
      transcript = try Transcript(text: text, file: path)
    } catch {
      throw FileError(
        message: "\(error)",
        hint: "\(path) is not a capture, so it was read as a transcript; for lines of hex, run"
          + " atto decode - < \(path)")
    }
    TranscriptDecoding.run(transcript, mtu: mtu, &output)
  }

  /// The PDUs given as words; nil for a file or standard input.
  private static func pdus(_ words: [String]) throws -> [[UInt8]]? {
    if words == ["-"] { return nil }
    if words.count > 1, words.allSatisfy({ $0.utf8.count == 2 && !$0.contains(" ") }) {
      return [try octets(argument: words.joined())]
    }
    var pdus: [[UInt8]] = []
    for word in words {
      do {
        pdus.append(try octets(argument: word))
      } catch {
        let isFile = access(word, F_OK) == 0
        if words.count == 1, isFile || looksLikePath(word) { return nil }
        if isFile || word == "-" {
          throw UsageError("a file cannot be combined with other arguments")
        }
        throw UsageError("\(error.message), or the name of a file")
      }
    }
    return pdus
  }

  /// Whether a word can only be the name of a file.
  private static func looksLikePath(_ word: String) -> Bool {
    word.contains("/") || word.contains(".")
  }

  /// Whether this can be the beginning of a text file.
  private static func isText(_ octets: [UInt8]) -> Bool {
    octets.allSatisfy { $0 >= 0x20 && $0 != 0x7F || (0x09...0x0D).contains($0) }
  }

  private static func forbidCaptureOptions(
    _ arguments: Arguments, _ input: String
  ) throws(UsageError) {
    try arguments.forbid([connection, channels, transcript], "requires a capture, not \(input)")
  }
}
