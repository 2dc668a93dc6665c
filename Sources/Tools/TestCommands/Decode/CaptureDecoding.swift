import Atto
import AttoCommandLine
import AttoFormats

/// `decode FILE`: a capture, record by record.
struct CaptureDecoding {
  private let choice: ConnectionChoice?
  private let mtu: Int?
  private var decoder: CaptureDecoder
  private var exchanges = Exchanges()
  private var reader = CaptureReader()
  private var transcript: CaptureTranscript?
  private var begin: Int64?
  private var hint: String?

  init(
    choice: ConnectionChoice?, mtu: Int?, channels: Set<UInt16>, transcript: CaptureTranscript?
  ) {
    self.choice = choice
    self.mtu = mtu
    decoder = CaptureDecoder(channels: channels)
    self.transcript = transcript
  }

  /// Shows what a capture holds.
  ///
  /// - Parameters:
  ///   - beginning: what was read of it.
  ///   - progress: shows how much is read.
  /// - Throws: `FileError` if the file is wrong or ends too early, after all before that was
  ///   shown.
  mutating func run(
    _ input: InputFile, _ beginning: [UInt8], _ output: inout DecodeOutput,
    _ progress: ProgressLine
  ) async throws {
    var piece = beginning
    var fault: CaptureFault?
    reading: do {
      while !piece.isEmpty {
        reader.append(piece)
        do throws(CaptureFault) {
          while let record = try reader.next() {
            begin = begin ?? record.time
            guard let pdu = decoder.decode(record) else { continue }
            guard choice?.includes(pdu.connection) ?? true else { continue }
            if let refusal = take(pdu, &output) {
              if choice == nil { hint = "decode one connection with --connection HANDLE" }
              throw refusal
            }
            if Terminal.outputFailure != nil { break reading }
          }
        } catch {
          fault = error
          break reading
        }
        progress.show(input)
        await Terminal.room()
        piece = try await input.next()
      }
      do throws(CaptureFault) { try reader.finish() } catch { fault = error }
    }
    progress.clear()
    decoder.finish()
    // No summary without a reader.
    guard Terminal.outputFailure == nil else { return }
    try end(input.name, fault, output)
  }

  /// Shows a PDU, or adds it to the transcript. Returns an error of the transcript.
  private mutating func take(_ pdu: CapturedPDU, _ output: inout DecodeOutput) -> CaptureFault? {
    let decoded = DecodedPDU(
      pdu.octets, mtu: mtu ?? pdu.mtu, of: &exchanges[pdu], isSent: pdu.isSent)
    guard transcript == nil else {
      output.add(decoded)
      do throws(CaptureFault) { try transcript?.append(pdu) } catch { return error }
      return nil
    }
    let time = pdu.time.map { Double($0 &- (begin ?? 0)) / 1e9 }
    let connection = pdu.connection
    output.show(
      decoded, prefix: prefix(pdu, time),
      json: [
        "record": pdu.record, "time": time?.rounded(places: 9),
        "adapter": connection.isOnAir ? nil : Int(connection.adapter),
        "connection": Int(connection.handle), "incarnation": connection.incarnation,
        "channel": Int(pdu.channel), "bearer": pdu.bearer > 0 ? pdu.bearer : nil,
        "direction": connection.isOnAir
          ? pdu.isSent ? "fromCentral" : "fromPeripheral" : pdu.isSent ? "sent" : "received",
      ])
    return nil
  }

  private func prefix(_ pdu: CapturedPDU, _ time: Double?) -> String {
    let seconds = time.map { Decimal.text($0, places: 6) } ?? "-"
    let channel = pdu.channel == 4 || pdu.bearer > 0 ? "" : " channel \(pdu.channel)"
    let bearer = pdu.bearer > 0 ? "\(pdu.bearer)" : ""
    return String(pdu.record).padded(left: 5) + " " + seconds.padded(left: 12)
      + "  \(pdu.connection)\(channel) \(pdu.isSent ? ">" : "<")\(bearer) "
  }

  private func end(_ name: String, _ fault: CaptureFault?, _ output: DecodeOutput) throws {
    if let transcript {
      // Printing adds the line end.
      let text = transcript.transcript.description
      Terminal.print(ownText: text.hasSuffix("\n") ? String(text.dropLast()) : text)
      for name in transcript.casesBegunByServers where transcript.transcript.profile == nil {
        Terminal.note(
          "warning: \(name) begins with a PDU of the server, so atto play will use it as a case for"
            + " clients", "hint: name the server's profile with --profile")
      }
    }
    if let format = reader.format {
      for line in CaptureSummary.lines(decoder.counts, format) { Terminal.note(line) }
    }
    if let fault {
      let shown = fault.isTruncation && decoder.counts.records > 0
      throw FileError(
        message: "\(name): \(fault)" + (shown ? "; the records before were decoded" : ""),
        hint: hint)
    }
    if choice != nil, output.count == 0 {
      throw FileError(
        message: "\(name): no attribute PDU of this connection",
        hint: "without --connection, all connections are shown")
    }
  }
}
