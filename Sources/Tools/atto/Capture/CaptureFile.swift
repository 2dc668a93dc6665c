import Atto
import AttoDiagnosis
import AttoFormats
import Glibc
import Synchronization

/// The file of `--capture`.
///
/// All connections of a server share one connection handle, because a monitor does not distinguish
/// them; a relay gives each client its own.
///
/// Each PDU is written at once, so that a crash loses nothing. The first PDU replaces an existing
/// file, so that a command that fails to connect leaves it unchanged. PDUs may carry keys, so an
/// existing file is closed to others first.
final class CaptureFile: Sendable {
  private let path: String
  private let writer: CaptureWriter
  private let descriptor: Int32
  private let isBegun = Atomic<Bool>(false)
  private let isBroken = Atomic<Bool>(false)

  init(path: String, _ content: CaptureWriter.Content = .pdus) throws(FileError) {
    guard let writer = CaptureWriter(path: path, content) else {
      throw FileError(
        message: "invalid value \"\(path)\" for --capture: expected a name that ends in "
          + CaptureWriter.extensions)
    }
    descriptor = try WrittenFile.open(path)
    self.path = path
    self.writer = writer
  }

  deinit { close(descriptor) }

  /// Replaces an existing file now, before the first PDU. Has an effect once.
  func begin() {
    guard !isBegun.exchange(true, ordering: .relaxed) else { return }
    if let errno = WrittenFile.closeToOthers(descriptor) { return stop(errno) }
    // Fails on a device, which has no length.
    _ = ftruncate(descriptor, 0)
    write(writer.header)
  }

  /// - Parameter link: distinguishes links, from 0.
  func write(_ pdu: MonitoredPDU, link: Int = 0) {
    begin()
    write(
      writer.record(
        pdu: pdu.octets, isSent: pdu.direction == .sent, connection: link,
        microseconds: TimeOfDay.microseconds(of: pdu.time)))
  }

  func write(_ record: MonitorRecord) {
    begin()
    write(
      writer.record(
        monitor: record.kind, adapter: record.adapter, record.octets, missing: record.missing,
        microseconds: record.time))
  }

  private func write(_ octets: [UInt8]) {
    guard !isBroken.load(ordering: .relaxed) else { return }
    var rest = octets[...]
    while !rest.isEmpty {
      let count = rest.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
      if count > 0 {
        rest = rest.dropFirst(count)
      } else if errno != EINTR {
        return stop(errno)
      }
    }
  }

  private func stop(_ errno: Int32) {
    isBroken.store(true, ordering: .relaxed)
    let reason = String(cString: strerror(errno))
    Terminal.note("capture stopped: cannot write \(path): \(reason)")
  }
}
