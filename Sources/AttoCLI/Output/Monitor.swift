import Atto

/// What looks on while PDUs go over a link: `--trace`, `--capture`, both or none.
enum Monitor {
  /// - Throws: `CaptureError` if the file cannot be written.
  static func make(_ arguments: Arguments) throws -> (@Sendable (MonitoredPDU) -> Void)? {
    let trace = arguments.has("trace") ? Trace.monitor() : nil
    guard let path = arguments.value("capture") else { return trace }
    let file = try CaptureFile(path: path)
    return { pdu in
      file.take(pdu)
      trace?(pdu)
    }
  }
}
