import Atto
import Conformance
import Files
import Glibc

/// `atto decode`: what octets say, from the command line, a capture or a transcript.
enum DecodeCommand: Command {
  static let name = "decode"
  static let examples = [
    "atto decode 0a1500 \"01 0a 15 00 0a\"",
    "atto decode btsnoop_hci.log --connection 0x0040",
    "atto decode capture.pcapng --json",
    "sudo btmon -w /dev/stdout | atto decode -",
    "atto decode capture.btsnoop --transcript > again.att && atto play air:Strap again.att",
  ]
  static let summary = "Decodes PDUs: octets in hex, captures of btmon, Android, Wireshark or atto."
  static let usage = "HEX... [OPTIONS], or FILE [OPTIONS], or - [OPTIONS]"
  static let options = [
    OptionSpec("mtu", "N", "ATT_MTU, which no PDU may be longer than (23 to 65535)"),
    OptionSpec("connection", "HANDLE", "of a capture: only this connection, as it is shown"),
    OptionSpec("channel", "CID", "of a capture: the L2CAP channel of ATT (4); may be repeated"),
    OptionSpec("transcript", nil, "of a capture: print a transcript, which atto play takes"),
    OptionSpec("profile", "NAME", "with --transcript: what the server serves, such as strap.json"),
    OptionSpec("check", nil, "end with 4 if a PDU breaks a rule"),
    .json,
  ]
  static let notes =
    "Each HEX is one PDU, with or without spaces and colons; \"\" is the empty one. Words of two\n"
    + "digits each are the octets of one PDU together. What is no hex is a FILE; ./0a is one, too.\n"
    + "- is standard input: a capture, or lines of hex, each with > or < before it or without.\n"
    + "\n"
    + "FILE is told by its content: btsnoop (btmon -w, Android's btsnoop_hci.log, --capture), pcap and\n"
    + "pcapng (Wireshark, tcpdump, nRF Sniffer; link types 187, 201, 254, 256 and 272), hcidump -w, or\n"
    + "a transcript (.att). Each PDU of a capture is shown with the number of the record that it ended\n"
    + "in, seconds since the first record, connection handle (.2 is the second connection with that\n"
    + "handle), > for what this host sent or < for what it received, octets and meaning. At a sniffer\n"
    + "the handle is the access address, and > is from the central. What else the file holds is\n"
    + "counted on standard error.\n"
    + "\n"
    + "Under a PDU stands what is wrong with it by itself; octets are counted from 0, the opcode.\n"
    + "ATT_MTU is known from a connection's beginning or from an exchange, unless --mtu states it.\n"
    + "\n"
    + "In a transcript > is from client to server, whoever sent it: requests, commands and\n"
    + "confirmations are a client's, responses, notifications and indications a server's. Each\n"
    + "connection makes a case for each side that was a client."

  static func run(_ arguments: Arguments, on loop: Loop) async throws {
    guard let first = arguments.words.first else {
      throw UsageError("what shall be decoded? PDUs in hex, a file, or - for standard input")
    }
    var output = DecodeOutput(arguments)
    if arguments.has("profile"), !arguments.has("transcript") {
      throw UsageError("--profile goes with --transcript")
    }
    if arguments.has("transcript"), output.isJSON {
      throw UsageError("--transcript is a form of its own: it goes without --json")
    }
    let mtu = try mtu(arguments)
    let pdus = try pdus(arguments.words)
    if let pdus {
      try refuseCaptureOptions(arguments, "PDUs in hex")
      for pdu in pdus { try output.show(DecodedPDU(pdu, mtu: mtu)) }
    } else if first == "-" {
      let input = DecodeInput()
      let beginning = try input.beginning(CaptureReader.tellingLength)
      if CaptureReader.format(of: beginning) == nil, isText(beginning) {
        try refuseCaptureOptions(arguments, "lines of hex")
        var lines = LineDecoding(mtu: mtu)
        try lines.run(input, beginning, &output)
      } else {
        var capture = try CaptureDecoding(arguments)
        try capture.run(input, beginning, &output)
      }
    } else {
      try file(first, arguments, mtu, &output)
    }
    try output.finish()
  }

  private static func file(
    _ path: String, _ arguments: Arguments, _ mtu: Int?, _ output: inout DecodeOutput
  ) throws {
    let input = try DecodeInput(path: path)
    let beginning = try input.beginning(CaptureReader.tellingLength)
    guard !beginning.isEmpty else { throw CaptureError(message: "\(path) is empty") }
    guard CaptureReader.format(of: beginning) == nil, isText(beginning) else {
      var capture = try CaptureDecoding(arguments)
      return try capture.run(input, beginning, &output)
    }
    try refuseCaptureOptions(arguments, "a transcript")
    let transcript: Transcript
    do throws(TranscriptError) {
      transcript = try Transcript(contentsOfFile: path)
    } catch {
      throw CaptureError(
        message: "\(error) (\(path) is no capture, and so was read as a transcript; lines of hex go"
          + " to standard input: atto decode - < \(path))")
    }
    try TranscriptDecoding.run(transcript, mtu: mtu, &output)
  }

  /// The PDUs that the words are; nil if they are a file, or standard input.
  private static func pdus(_ words: [String]) throws -> [[UInt8]]? {
    if words == ["-"] { return nil }
    if words.count > 1, words.allSatisfy({ $0.utf8.count == 2 && !$0.contains(" ") }) {
      return [try octets(argument: words.joined())]
    }
    var pdus: [[UInt8]] = []
    for word in words {
      do {
        pdus.append(try octets(argument: digits(word[...])))
      } catch {
        let isFile = access(word, F_OK) == 0
        if words.count == 1, isFile || looksLikePath(word) { return nil }
        if isFile || word == "-" {
          throw UsageError(
            "one file at a time, and nothing beside it: \(words.joined(separator: " "))")
        }
        throw UsageError("\((error as? UsageError)?.message ?? "\(error)"); nor is it a file")
      }
    }
    return pdus
  }

  /// What nobody can have meant as hex: then the file is missing.
  private static func looksLikePath(_ word: String) -> Bool {
    word.contains("/") || word.contains(".")
  }

  /// Without `0x` before them, as some write octets.
  static func digits(_ text: Substring) -> String {
    String(text.hasPrefix("0x") || text.hasPrefix("0X") ? text.dropFirst(2) : text)
  }

  static func mtu(_ arguments: Arguments) throws -> Int? {
    try arguments.integer("mtu", in: 23...65535)
  }

  /// Whether this can be the beginning of a text.
  private static func isText(_ octets: [UInt8]) -> Bool {
    octets.allSatisfy { $0 >= 0x20 && $0 != 0x7F || (0x09...0x0D).contains($0) }
  }

  private static func refuseCaptureOptions(_ arguments: Arguments, _ what: String) throws {
    for name in ["connection", "channel", "transcript"] where arguments.has(name) {
      throw UsageError("--\(name) is for captures, and this is \(what)")
    }
  }
}
