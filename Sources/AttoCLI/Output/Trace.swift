import Atto

/// `--trace`: each PDU, decoded, on standard error.
enum Trace {
  static func monitor(_ label: String = "") -> @Sendable (MonitoredPDU) -> Void {
    { pdu in
      let arrow = pdu.direction == .sent ? ">" : "<"
      let octets = pdu.octets.span.bytes
      let time = Decimal.text(Double(pdu.time.nanoseconds) / 1e9, places: 6)
      Terminal.note(
        "\(time) \(label)\(arrow) \(octets.hexText)  \(PDU(octets, mtu: pdu.mtu).summary)")
    }
  }
}

/// Numbers with a fixed count of decimals; Foundation's formatting is a large thing to load.
enum Decimal {
  static func text(_ value: Double, places: Int) -> String {
    var scale = 1.0
    for _ in 0..<places { scale *= 10 }
    let scaled = Int64((value * scale).rounded())
    guard places > 0 else { return String(scaled) }
    let digits = String(scaled.magnitude)
    let padded = String(repeating: "0", count: max(0, places + 1 - digits.count)) + digits
    let split = padded.index(padded.endIndex, offsetBy: -places)
    return (scaled < 0 ? "-" : "") + padded[..<split] + "." + padded[split...]
  }
}
