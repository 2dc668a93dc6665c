import Atto
import Glibc
import Synchronization

/// A capture that cannot be made: exit status 2.
struct CaptureError: Error {
  let message: String
}

/// `--capture`: PDUs in a file that Wireshark reads.
///
/// An attribute PDU is wrapped as a controller would see it: L2CAP on channel 4 (Vol 3, Part A,
/// 3.1), in ACL data (Vol 4, Part E, 5.4.2), with the H4 indicator before it (Vol 4, Part A, 2).
/// All connections of a server share one connection handle, for a monitor does not tell them
/// apart; a relay gives each client one of its own.
///
/// Each PDU is written at once: what was seen before a crash is kept. An earlier file of this name
/// is replaced by the first PDU, not before: a command that fails to connect does it no harm.
final class CaptureFile: Sendable {
  private let path: String
  private let format: CaptureFormat
  private let isOfMonitor: Bool
  private let descriptor: Int32
  private let isBegun = Atomic<Bool>(false)
  private let isBroken = Atomic<Bool>(false)

  /// What the lengths of L2CAP and ACL data, 16 bits each, leave room for; of a longer PDU the record
  /// says that it was cut.
  static let longest = 65531

  /// - Parameter isOfMonitor: whether it is for records of the kernel's monitor, instead of PDUs.
  init(path: String, isOfMonitor: Bool = false) throws(CaptureError) {
    self.isOfMonitor = isOfMonitor
    guard let format = CaptureFormat(path: path) else {
      throw CaptureError(
        message: "--capture wants a name that ends in \(CaptureFormat.endings), not \"\(path)\"")
    }
    descriptor = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0o644)
    guard descriptor >= 0 else {
      throw CaptureError(message: "cannot write \(path): \(String(cString: strerror(errno)))")
    }
    self.path = path
    self.format = format
  }

  deinit { close(descriptor) }

  /// Takes the place of an earlier file now, before there is a PDU; once.
  func begin() {
    guard !isBegun.exchange(true, ordering: .relaxed) else { return }
    // A device has no length to cut.
    _ = ftruncate(descriptor, 0)
    write(isOfMonitor ? format.monitorHeader : format.header)
  }

  /// - Parameter link: counted from 0, if there are several to be told apart.
  func take(_ pdu: MonitoredPDU, link: Int = 0) {
    begin()
    // Handles of connections go to 0x0EFF.
    let handle = 0x40 + link % 0x0E00
    let octets = pdu.octets.prefix(Self.longest)
    let isSent = pdu.direction == .sent
    // The packet boundary flag: 00, first and not flushable, from the host; 10, first, to it.
    let flags = isSent ? 0x0000 : 0x2000
    let hci =
      [0x02] + little(handle | flags) + little(octets.count + 4) + little(octets.count)
      + [0x04, 0x00] + octets
    let time = TimeOfDay.microseconds(of: pdu.time)
    let missing = pdu.octets.count - octets.count
    write(format.record(hci, isSent: isSent, microseconds: time, missing: missing))
  }

  func take(_ record: MonitorRecord) {
    begin()
    write(format.record(record))
  }

  private func write(_ octets: [UInt8]) {
    guard !isBroken.load(ordering: .relaxed) else { return }
    var rest = octets[...]
    while !rest.isEmpty {
      let count = rest.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
      if count > 0 {
        rest = rest.dropFirst(count)
      } else if errno != EINTR {
        isBroken.store(true, ordering: .relaxed)
        let why = String(cString: strerror(errno))
        return Terminal.note("the capture ends here: cannot write \(path): \(why)")
      }
    }
  }

  private func little(_ number: Int) -> [UInt8] {
    [UInt8(truncatingIfNeeded: number), UInt8(truncatingIfNeeded: number >> 8)]
  }
}
