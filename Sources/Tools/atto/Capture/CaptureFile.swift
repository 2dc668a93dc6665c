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
/// A thread writes each PDU as soon as it can. While more than ``OutputQueue/capacity`` bytes are
/// pending, because nobody reads a FIFO or a disk is slow, PDUs are dropped whole and counted. The first
/// PDU replaces an existing file, so that a command that fails to connect leaves it unchanged. PDUs may
/// carry keys, so an existing file is closed to others first.
final class CaptureFile: Sendable {
  private let writer: CaptureWriter
  private let queue: OutputQueue
  private let isBegun = Atomic<Bool>(false)
  private let dropped = Mutex(CaptureWriter.Dropped())

  init(path: String, _ content: CaptureWriter.Content = .pdus) throws(FileError) {
    guard var writer = CaptureWriter(path: path, content) else {
      throw FileError(
        message: "invalid value \"\(path)\" for --capture: expected a name that ends in "
          + CaptureWriter.extensions)
    }
    writer.application = "atto \(Version.number)"
    self.writer = writer
    let descriptor = try WrittenFile.open(path)
    if descriptor == nil { WrittenFile.noteWaiting(path) }
    queue = OutputQueue(
      open: {
        guard let descriptor else { return WrittenFile.openWhenRead(path) }
        if let errno = WrittenFile.closeToOthers(descriptor) { return -errno }
        // Fails on a device, which has no length.
        _ = ftruncate(descriptor, 0)
        return descriptor
      },
      onDropped: {
        Terminal.note(
          "\(Shown.count($0, "record")) of \(path) lost: nobody reads it, or it is slow")
      },
      onFailure: {
        let reason = String(cString: strerror($0))
        Terminal.note("capture stopped: cannot write \(path): \(reason)")
      })
  }

  /// Replaces an existing file now, before the first PDU. Has an effect once.
  func begin() {
    guard !isBegun.exchange(true, ordering: .relaxed) else { return }
    queue.append(writer.header, mayDrop: false)
  }

  /// - Parameter link: distinguishes links, from 0.
  func write(_ pdu: MonitoredPDU, link: Int = 0) {
    write { dropped in
      writer.record(
        pdu: pdu.octets, isSent: pdu.direction == .sent, connection: link,
        microseconds: TimeOfDay.microseconds(of: pdu.time), dropped: dropped)
    }
  }

  func write(_ record: MonitorRecord) {
    write { dropped in
      writer.record(
        monitor: record.kind, adapter: record.adapter, record.octets, missing: record.missing,
        microseconds: record.time, dropped: dropped)
    }
  }

  private func write(_ record: (CaptureWriter.Dropped) -> [UInt8]) {
    begin()
    dropped.withLock { $0.count(isWritten: queue.append(record($0), mayDrop: true)) }
  }
}
