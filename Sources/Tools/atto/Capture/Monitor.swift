import Atto
import AttoATT

/// The observer of a link's PDUs, for `--trace` and `--capture`.
enum Monitor {
  /// Adds what the arguments ask for to the options of connections with these ends.
  ///
  /// - Throws: `FileError` if the file cannot be written.
  static func add(
    to options: inout ConnectionOptions, _ arguments: Arguments, _ ends: CaptureEnds
  ) throws {
    if arguments[CommonOptions.trace] { options.monitor = trace }
    guard let path = arguments[CommonOptions.capture] else { return }
    let file = try CaptureFile(path: path)
    options.linkMonitor = { link in
      let connection = file.open { ends.connection($0, link.radioAddresses) }
      return { event in
        switch event {
        case .pdu(let pdu): file.write(pdu, on: connection)
        case .ended(let error): file.close(connection, isByPeer: error.isDisconnection)
        }
      }
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

extension AttoError {
  fileprivate var isDisconnection: Bool { if case .disconnected = self { true } else { false } }
}
