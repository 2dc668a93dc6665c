import Atto
import AttoCommandLine

/// `decode -`: lines of hex on standard input, each a PDU or an advertisement.
struct LineDecoding {
  private let mtu: Int?
  private let advertisements: AdvertisementDecoding?
  private var line: [UInt8] = []
  private var number = 1
  private var isTooLong = false
  private var wrong = 0
  private var exchange = ExchangeText()

  /// Bytes in a line. A longer one is skipped as a whole.
  static let limit = 262_144

  /// - Parameter advertisements: how lines are decoded that are not PDUs.
  init(mtu: Int?, advertisements: AdvertisementDecoding? = nil) {
    self.mtu = mtu
    self.advertisements = advertisements
  }

  /// Decodes the lines as they arrive.
  ///
  /// - Throws: `FileError` at the end if lines were not hex.
  mutating func run(
    _ input: InputFile, _ beginning: [UInt8], _ output: inout DecodeOutput
  ) async throws {
    var piece = beginning
    while !piece.isEmpty {
      for octet in piece {
        if octet == UInt8(ascii: "\n") {
          try take(&output)
        } else if line.count < Self.limit {
          line.append(octet)
        } else {
          isTooLong = true
        }
      }
      await Terminal.room()
      if Terminal.outputFailure != nil { return }
      piece = try await input.next()
    }
    if !line.isEmpty { try take(&output) }
    guard wrong == 0 else {
      throw FileError(message: "cannot decode \(Shown.count(wrong, "line")) of standard input")
    }
  }

  private mutating func take(_ output: inout DecodeOutput) throws {
    defer {
      line.removeAll(keepingCapacity: true)
      isTooLong = false
      number += 1
    }
    do {
      guard !isTooLong else {
        throw UsageError("skipped: longer than \(Self.limit) bytes")
      }
      var text = String(decoding: line, as: UTF8.self)[...].drop { $0.isWhitespace }
      while text.last?.isWhitespace ?? false { text.removeLast() }
      guard !text.isEmpty, text.first != "#" else { return }
      if let advertisements { return try advertisements.show(text, line: number) }
      var mark = ""
      if let first = text.first, first == ">" || first == "<" {
        mark = "\(first) "
        text = text.dropFirst().drop { $0.isWhitespace }
      }
      let pdu = text == "(empty)" ? [] : try octets(argument: text)
      output.show(
        DecodedPDU(pdu, mtu: mtu, of: &exchange, isSent: mark.isEmpty ? nil : mark == "> "),
        prefix: mark, json: ["line": number])
    } catch let error as UsageError {
      wrong += 1
      Terminal.note("line \(number): \(error.message)")
    }
  }
}
