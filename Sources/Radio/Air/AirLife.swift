import CLinux
import Glibc
import Links

/// Whether a radio's process is alive, seen from another process.
///
/// # Theory
/// A radio holds its `.life` FIFO open for reading and writing. The kernel closes it with the
/// process, however that ends. One who opens the FIFO for reading only learns
/// - at once: read(2) says EAGAIN while there is a writer, and end of file when there is none;
/// - later: epoll reports a hang-up in the moment in which the last writer goes.
///
/// Nothing runs in the radio's process for this, nothing is polled, and looking has no effect on
/// anybody else. The FIFO gets its name by link(2) when it is open already, so a name without a
/// writer always belongs to the dead, and link(2) fails if the name is taken: that decides who of
/// two radios gets an address.
enum AirLife {
  enum Sight {
    /// The radio lives. The descriptor, to be closed by the caller, hangs up when it dies.
    case alive(Int32)
    /// The radio is dead. Whoever holds the descriptor may sweep.
    case dead(Int32)
    /// There is no such FIFO.
    case absent
    /// This process cannot look: the `errno`, such as EMFILE.
    case failed(Int32)
  }

  /// Looks at a radio's FIFO.
  static func look(at path: String) -> Sight {
    let descriptor = clinux_open(path, O_RDONLY | O_NONBLOCK | O_NOFOLLOW, 0)
    switch -descriptor {
    case EMFILE, ENFILE, ENOMEM: return .failed(-descriptor)
    default: if descriptor < 0 { return .absent }
    }
    var status = stat()
    guard clinux_fstat(descriptor, &status) == 0, status.isFIFO else {
      _ = close(descriptor)
      return .absent
    }
    // Nobody has a reason to write. What somebody wrote is thrown away, a pipe's worth at most.
    var octets = [UInt8](repeating: 0, count: 4096)
    for _ in 0..<256 {
      let count = read(descriptor, &octets, octets.count)
      if count == 0 { return .dead(descriptor) }
      if count < 0, errno == EAGAIN { return .alive(descriptor) }
    }
    return .alive(descriptor)
  }

  /// Removes everything of a dead radio. False if somebody else is about it at this moment.
  @discardableResult
  static func sweep(_ address: BluetoothAddress, in folder: AirFolder, dead: Int32) -> Bool {
    // One sweeper at a time, and only while the name still belongs to this FIFO: else the files
    // of a new radio could be removed. While the lock is held no new radio can take the name.
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
