import Atto
import AttoATT

/// The observer of a link's PDUs, for `--trace` and `--capture`.
enum Monitor {
  /// - Throws: `FileError` if the file cannot be written.
  static func make(_ arguments: Arguments) throws -> (@Sendable (MonitoredPDU) -> Void)? {
    let trace = arguments[CommonOptions.trace] ? trace : nil
    guard let path = arguments[CommonOptions.capture] else { return trace }
    let file = try CaptureFile(path: path)
    return { pdu in
      file.write(pdu)
      trace?(pdu)
    }
  }

  /// Prints a PDU, decoded, on standard error.
  @Sendable static func trace(_ pdu: MonitoredPDU) {
    let arrow = pdu.direction == .sent ? ">" : "<"
    let octets = pdu.octets.span.bytes
    let time = Decimal.text(Double(pdu.time.nanoseconds) / 1e9, places: 6)
    Terminal.note("\(time) \(arrow) \(octets.hexText)  \(PDU(octets, mtu: pdu.mtu).summary)")
  }
}
