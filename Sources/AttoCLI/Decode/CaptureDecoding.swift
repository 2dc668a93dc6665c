import Atto
import Files

/// `decode FILE`: a capture, record by record.
struct CaptureDecoding {
  private let choice: ConnectionChoice?
  private let mtu: Int?
  private var decoder: CaptureDecoder
  private var reader = CaptureReader()
  private var transcript: CaptureTranscript?
  private var begin: Int64?

  init(_ arguments: Arguments) throws {
    choice = try arguments.value("connection").map { try ConnectionChoice(argument: $0) }
    mtu = try DecodeCommand.mtu(arguments)
    decoder = CaptureDecoder(channels: try Self.channels(arguments))
    if arguments.has("transcript") {
      transcript = CaptureTranscript(profile: arguments.value("profile"))
    }
  }

  /// Shows what a capture holds.
  ///
  /// - Parameter beginning: what was read of it.
  /// - Throws: `CaptureError` if the file is wrong or ends too early, after all before that was
  ///   shown.
  mutating func run(
    _ input: borrowing DecodeInput, _ beginning: [UInt8], _ output: inout DecodeOutput
  ) throws {
    var piece = beginning
    var fault: CaptureFault?
    reading: do {
      while !piece.isEmpty {
        reader.append(piece)
        do throws(CaptureFault) {
          while let record = try reader.next() {
            begin = begin ?? record.time
            guard let pdu = decoder.take(record) else { continue }
            guard choice?.includes(pdu.connection) ?? true else { continue }
            if let refusal = take(pdu, &output) { throw refusal }
            if Terminal.outputFailure != nil { break reading }
          }
        } catch {
          fault = error
          break reading
        }
        piece = try input.read()
      }
      do throws(CaptureFault) { try reader.finish() } catch { fault = error }
    }
    decoder.finish()
    // Who reads no results wants no summary of them.
    guard Terminal.outputFailure == nil else { return }
    try end(input.name, fault, output)
  }

  /// Why the transcript takes no more, if it does not.
  private mutating func take(_ pdu: CapturedPDU, _ output: inout DecodeOutput) -> CaptureFault? {
    let decoded = DecodedPDU(pdu.octets, mtu: mtu ?? pdu.mtu)
    guard transcript == nil else {
      output.take(decoded)
      do throws(CaptureFault) { try transcript?.take(pdu) } catch { return error }
      return nil
    }
    let time = pdu.time.map { Double($0 &- (begin ?? 0)) / 1e9 }
    // Encoding a line fails for no value that a capture can hold.
    try? output.show(decoded, prefix: prefix(pdu, time)) { line in
      line.record = pdu.record
      line.time = time?.rounded(places: 9)
      line.adapter = pdu.connection.isOnAir ? nil : Int(pdu.connection.adapter)
      line.connection = Int(pdu.connection.handle)
      line.incarnation = pdu.connection.incarnation
      line.channel = Int(pdu.channel)
      line.direction =
        pdu.connection.isOnAir
        ? pdu.isSent ? "fromCentral" : "fromPeripheral" : pdu.isSent ? "sent" : "received"
    }
    return nil
  }

  private func prefix(_ pdu: CapturedPDU, _ time: Double?) -> String {
    let number = String(pdu.record)
    let seconds = time.map { Decimal.text($0, places: 6) } ?? "-"
    let channel = pdu.channel == 4 ? "" : " channel \(pdu.channel)"
    return String(repeating: " ", count: max(0, 5 - number.count)) + number
      + String(repeating: " ", count: max(1, 13 - seconds.count)) + seconds
      + "  \(pdu.connection)\(channel) \(pdu.isSent ? ">" : "<") "
  }

  private func end(_ name: String, _ fault: CaptureFault?, _ output: DecodeOutput) throws {
    if let transcript {
      Terminal.print(Self.withoutLineEnd(transcript.transcript.description))
      for name in transcript.casesBegunByServers where transcript.transcript.profile == nil {
        Terminal.note(
          "\(name) begins with what its server sends: atto play takes it for a case for clients,"
            + " unless --profile names what that serves")
      }
    }
    if let format = reader.format {
      for line in CaptureSummary.lines(decoder.counts, format) { Terminal.note(line) }
    }
    if let fault {
      let shown = fault.isTruncation && decoder.counts.records > 0
      throw CaptureError(
        message: "\(name): \(fault)" + (shown ? "; what is before that has been decoded" : ""))
    }
    if let choice, output.count == 0 {
      _ = choice
      Terminal.note("no attribute PDU of that connection is there")
    }
  }

  /// Which prints add.
  private static func withoutLineEnd(_ text: String) -> String {
    text.hasSuffix("\n") ? String(text.dropLast()) : text
  }

  private static func channels(_ arguments: Arguments) throws -> Set<UInt16> {
    var channels: Set<UInt16> = []
    for text in arguments.all("channel") {
      let isHex = text.lowercased().hasPrefix("0x")
      let digits = isHex ? String(text.dropFirst(2)) : text
      guard digits.first != "+", let number = UInt16(digits, radix: isHex ? 16 : 10), number > 0
      else {
        throw UsageError("--channel wants a channel of L2CAP, 1 to 0xFFFF, not \"\(text)\"")
      }
      channels.insert(number)
    }
    return channels.isEmpty ? [4] : channels
  }
}
