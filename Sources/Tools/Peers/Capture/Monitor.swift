import Atto
import AttoCommandLine
import Synchronization

/// The observer of a link's PDUs, for `--trace` and `--capture`.
package enum Monitor {
  /// Adds what the arguments ask for to the options of connections with these ends.
  ///
  /// - Throws: `FileError` if the file cannot be written.
  package static func add(
    to options: inout ConnectionOptions, _ arguments: Arguments, _ ends: CaptureEnds
  ) throws {
    let isTraced = arguments[CommonOptions.trace]
    let file = try arguments[CommonOptions.capture].map { try CaptureFile(path: $0) }
    guard isTraced || file != nil else { return }
    options.linkMonitor = { link in
      let connection = file?.open { ends.connection($0, link.radioAddresses) }
      let trace = isTraced ? tracer() : nil
      return { event in
        switch event {
        case .pdu(let pdu):
          if let connection { file?.write(pdu, on: connection) }
          trace?(pdu)
        case .ended(let error):
          if let connection { file?.close(connection, isByPeer: error.isDisconnection) }
        }
      }
    }
  }

  /// Prints the PDUs of a connection, decoded, on standard error. `>2` is a PDU that was sent on the
  /// enhanced bearer 2.
  package static func tracer() -> @Sendable (MonitoredPDU) -> Void {
    let exchanges = Mutex<[Int: ExchangeText]>([:])
    return { pdu in
      let isSent = pdu.direction == .sent
      let time = TimeOfDay.text(TimeOfDay.microseconds(of: pdu.time))
      let text = exchanges.withLock {
        $0[pdu.bearer, default: ExchangeText()].text(pdu.octets, mtu: pdu.mtu, isSent: isSent)
      }
      let mark = (isSent ? ">" : "<") + (pdu.bearer > 0 ? "\(pdu.bearer)" : "")
      Terminal.note("\(time) \(mark) \(Shown.pdu(pdu.octets))  \(text)")
    }
  }
}

extension AttoError {
  fileprivate var isDisconnection: Bool { if case .disconnected = self { true } else { false } }
}
