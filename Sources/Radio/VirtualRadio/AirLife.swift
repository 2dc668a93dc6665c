import CAttoLinux
import Glibc
import AttoLinks
import AttoRadio

/// Whether the process of a radio is alive, as another process sees it.
///
/// # Theory
/// A radio holds its `.life` FIFO open for reading and writing. The kernel closes it when the process
/// ends, in whatever way. A process that opens the FIFO for reading learns
/// - at once: read(2) fails with EAGAIN if there is a writer, and returns 0 if there is none;
/// - later: epoll reports a hang-up when the last writer closes it.
///
/// This needs no code in the process of the radio and no polling, and has no side effects. The FIFO
/// gets its name by link(2) when it is open already. So a name without a writer always belongs to a
/// dead process. link(2) fails if the name is taken, which decides which of two radios gets an
/// address.
enum AirLife {
  enum State: ~Copyable {
    /// The radio is alive. The descriptor hangs up when it dies.
    case alive(OwnedDescriptor)
    /// The radio is dead. The holder of the descriptor may sweep.
    case dead(OwnedDescriptor)
    /// There is no such FIFO.
    case absent
    /// The FIFO could not be opened: the `errno`, such as EMFILE.
    case failed(Int32)
  }

  static func state(at path: String) -> State {
    let opened = clinux_open(path, O_RDONLY | O_NONBLOCK | O_NOFOLLOW, 0)
    switch -opened {
    case EMFILE, ENFILE, ENOMEM: return .failed(-opened)
    default: if opened < 0 { return .absent }
    }
    let descriptor = OwnedDescriptor(owning: opened)
    var status = stat()
    guard clinux_fstat(opened, &status) == 0, status.isFIFO else { return .absent }
    // Radios do not write. What other programs wrote is discarded, a full pipe at most.
    var octets = [UInt8](repeating: 0, count: 4096)
    for _ in 0..<256 {
      let count = read(opened, &octets, octets.count)
      if count == 0 { return .dead(descriptor) }
      if count < 0, errno == EAGAIN { return .alive(descriptor) }
    }
    return .alive(descriptor)
  }

  /// Removes the files of a dead radio. False if another process is doing so.
  @discardableResult
  static func sweep(
    _ address: BluetoothAddress, in folder: AirFolder, dead: borrowing OwnedDescriptor
  ) -> Bool {
    let dead = dead.rawValue
    // One sweeper at a time, and only while the name belongs to this FIFO. Otherwise the files of a new
    // radio could be removed. A new radio cannot get the name while the lock is held.
    guard clinux_flock(dead, LOCK_EX | LOCK_NB) == 0 else { return false }
    defer { _ = clinux_flock(dead, LOCK_UN) }
    var named = stat()
    var held = stat()
    let life = folder.entry(address, .life)
    guard clinux_lstat(life, &named) == 0, clinux_fstat(dead, &held) == 0,
      named.st_ino == held.st_ino, named.st_dev == held.st_dev
    else { return true }
    for part in AirFolder.Part.allCases { unlink(folder.entry(address, part)) }
    return true
  }
}
