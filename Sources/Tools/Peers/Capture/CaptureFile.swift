import Atto
import AttoCommandLine
import AttoDiagnosis
import AttoFormats
import Glibc
import Synchronization

/// The file of `--capture`.
///
/// Each connection has the lowest connection handle that is free, and begins and ends with the events of
/// a controller, so that Wireshark shows addresses.
///
/// A thread writes each PDU as soon as it can. While more than ``OutputQueue/capacity`` bytes are
/// pending, because nobody reads a FIFO or a disk is slow, PDUs are dropped whole and counted. The first
/// PDU replaces an existing file, so that a command that fails to connect leaves it unchanged.
/// PDUs may carry keys, so an existing file is closed to others first.
package final class CaptureFile: Sendable {
  private let writer: CaptureWriter
  private let queue: OutputQueue
  private let isBegun = Atomic<Bool>(false)
  private let state = Mutex(State())

  private struct State {
    var dropped = CaptureWriter.Dropped()
    /// The address of this end in the file.
    var own: WrittenConnection.Address?
    /// The connections that are open, by number, and whether their start is in the file.
    var isStarted: [Int: Bool] = [:]
    /// Their enhanced bearers that are open in the file, with the MTU of each.
    var bearers: [Int: [Int: Int]] = [:]
  }

  package convenience init(path: String, _ content: CaptureWriter.Content = .pdus) throws(FileError)
  {
    guard let writer = CaptureWriter(path: path, content) else {
      throw FileError(
        message: "invalid value \"\(path)\" for --capture: expected a name that ends in "
          + CaptureWriter.extensions)
    }
    try self.init(writer, path: path, onReaderGone: nil)
  }

  /// - Parameter onReaderGone: for a FIFO: called on a thread when nobody reads it any more.
  package init(
    _ writer: CaptureWriter, path: String, onReaderGone: (@Sendable () -> Void)?
  ) throws(FileError) {
    var writer = writer
    writer.application = "atto \(Version.number)"
    self.writer = writer
    let descriptor = try WrittenFile.open(path)
    if descriptor == nil, onReaderGone == nil { WrittenFile.noteWaiting(path) }
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
        if $0 == EPIPE, let onReaderGone { return onReaderGone() }
        let reason = String(cString: strerror($0))
        let message = "capture stopped: cannot write \(path): \(reason)"
        // A reader of a FIFO may leave.
        if $0 == EPIPE { Terminal.note(message) } else { Terminal.failed(message) }
        onReaderGone?()
      }, watchesReader: onReaderGone != nil)
  }

  /// Replaces an existing file now, before the first PDU. Has an effect once.
  package func begin() {
    guard !isBegun.exchange(true, ordering: .relaxed) else { return }
    queue.append(writer.header, mayDrop: false)
  }

  /// Gives a connection the lowest number that is free. Its start is written with its first PDU, or
  /// with its end.
  ///
  /// - Parameter ends: the two ends, for the number of the connection.
  package func open(_ ends: (_ number: Int) -> WrittenConnection) -> WrittenConnection {
    state.withLock { state in
      let number = (0...).first { state.isStarted[$0] == nil }!
      state.isStarted[number] = false
      return ends(number)
    }
  }

  /// Writes the end of a connection. Its number may be used again.
  package func close(_ connection: WrittenConnection, isByPeer: Bool) {
    let time = TimeOfDay.now
    write(at: time, on: connection) {
      writer.end(
        ofConnection: connection.number, reason: isByPeer ? 0x13 : 0x16, microseconds: time,
        dropped: $0)
    }
    state.withLock {
      $0.isStarted[connection.number] = nil
      $0.bearers[connection.number] = nil
    }
  }

  package func write(_ pdu: MonitoredPDU, on connection: WrittenConnection) {
    let time = TimeOfDay.microseconds(of: pdu.time)
    write(at: time, on: connection, bearer: pdu.bearer, mtu: pdu.mtu) {
      writer.record(
        pdu: pdu.octets, isSent: pdu.direction == .sent, connection: connection.number,
        bearer: pdu.bearer, microseconds: time, dropped: $0)
    }
  }

  package func write(_ record: MonitorRecord) {
    write(at: record.time, on: nil) {
      writer.record(
        monitor: record.kind, adapter: record.adapter, record.octets, missing: record.missing,
        microseconds: record.time, dropped: $0)
    }
  }

  /// Writes a record, after the start of its connection and of its enhanced bearer if they are not in
  /// the file. A bearer with another MTU than before is opened again.
  private func write(
    at time: Int64, on connection: WrittenConnection?, bearer: Int = 0, mtu: Int = 0,
    _ record: (CaptureWriter.Dropped) -> [UInt8]
  ) {
    begin()
    state.withLock { state in
      var octets = record(state.dropped)
      if let connection, bearer > 0,
        state.bearers[connection.number]?[bearer] != mtu
      {
        octets =
          writer.open(
            bearer: bearer, mtu: mtu, connection: connection.number, microseconds: time,
            dropped: state.dropped) + octets
      }
      if let connection, state.isStarted[connection.number] == false {
        octets =
          writer.start(
            of: connection, statesOwn: state.own != connection.own, microseconds: time,
            dropped: state.dropped) + octets
      }
      let isWritten = queue.append(octets, mayDrop: true)
      state.dropped.count(isWritten: isWritten)
      guard isWritten, let connection else { return }
      state.own = connection.own
      state.isStarted[connection.number] = true
      if bearer > 0 { state.bearers[connection.number, default: [:]][bearer] = mtu }
    }
  }
}
