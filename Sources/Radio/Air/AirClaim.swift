import CLinux
import Glibc
import Links

/// An address on the virtual air that belongs to this process until the claim is released: the
/// FIFO that shows its life, and the socket that centrals connect to.
final class AirClaim {
  let folder: AirFolder
  let address: BluetoothAddress
  /// Listens; -1 once it was taken.
  private var listener: Int32
  private let life: Int32
  private var isReleased = false

  /// Centrals that may wait to be accepted.
  static let backlog: Int32 = 128
  /// Attempts to get the name while others sweep or give it up.
  private static let attemptLimit = 1000

  /// Takes the address.
  ///
  /// - Throws: `addressInUse` if a living radio has it, `system` if a file cannot be made.
  init(_ address: BluetoothAddress, in folder: AirFolder) throws(RadioError) {
    self.folder = folder
    self.address = address
    life = try Self.takeLife(address, folder)
    let path = folder.entry(address, .socket)
    // Left by somebody whose FIFO was removed by hand; the name is ours now.
    unlink(folder.entry(address, .advertisement))
    unlink(path)
    let listener = clinux_seqpacket_socket(AF_UNIX, 0)
    var result = listener
    if listener >= 0 { result = clinux_unix_bind(listener, path, path.utf8.count) }
    if result >= 0 { result = clinux_listen(listener, Self.backlog) }
    self.listener = listener
    guard result >= 0 else {
      release()
      throw .system("listen at \(folder.path)", errno: -result)
    }
  }

  deinit { release() }

  /// Gives the address up and removes its files; the FIFO last, since it is what guards them.
  func release() {
    guard !isReleased else { return }
    isReleased = true
    for part in AirFolder.Part.allCases { unlink(folder.entry(address, part)) }
    if listener >= 0 { _ = close(listener) }
    _ = close(life)
  }

  /// Gives the listening socket to the caller, who closes it. Once only.
  func takeListener() -> Int32 {
    precondition(listener >= 0, "the listening socket was taken before")
    defer { listener = -1 }
    return listener
  }

  /// Writes what is in the air, in one step for those who look.
  func advertise(_ record: AirRecord) throws(RadioError) {
    let temporary = folder.temporaryEntry(address)
    let descriptor = clinux_open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0o600)
    guard descriptor >= 0 else { throw .system("write to \(folder.path)", errno: -descriptor) }
    let octets = Array(record.text.utf8)
    let written = write(descriptor, octets, octets.count)
    let failure = written < 0 ? errno : written < octets.count ? ENOSPC : 0
    _ = close(descriptor)
    guard failure == 0, rename(temporary, folder.entry(address, .advertisement)) == 0 else {
      let number = failure == 0 ? errno : failure
      unlink(temporary)
      throw .system("write to \(folder.path)", errno: number)
    }
  }

  /// Takes what is in the air away.
  func endAdvertising() { unlink(folder.entry(address, .advertisement)) }

  private static func takeLife(
    _ address: BluetoothAddress, _ folder: AirFolder
  ) throws(RadioError) -> Int32 {
    let name = folder.entry(address, .life)
    let temporary = folder.temporaryEntry(address)
    guard mkfifo(temporary, 0o600) == 0 else {
      throw .system("make a radio in \(folder.path)", errno: errno)
    }
    let life = clinux_open(temporary, O_RDWR | O_NONBLOCK | O_NOFOLLOW, 0)
    defer { unlink(temporary) }
    guard life >= 0 else { throw .system("make a radio in \(folder.path)", errno: -life) }
    for _ in 0..<attemptLimit {
      if link(temporary, name) == 0 { return life }
      guard errno == EEXIST else {
        let number = errno
        _ = close(life)
        throw .system("make a radio in \(folder.path)", errno: number)
      }
      switch AirLife.look(at: name) {
      case .alive(let other):
        _ = close(other)
        _ = close(life)
        let record = AirRecord.read(address, in: folder)
        throw .addressInUse(address, name: record?.name ?? "", process: record?.process)
      case .dead(let other):
        if !AirLife.sweep(address, in: folder, dead: other) { sched_yield() }
        _ = close(other)
      case .failed(let number):
        _ = close(life)
        throw .system("make a radio in \(folder.path)", errno: number)
      case .absent:
        // Gone in this moment, or something that no radio made.
        var status = stat()
        if clinux_lstat(name, &status) == 0, !status.isFIFO { unlink(name) }
        sched_yield()
      }
    }
    _ = close(life)
    throw .addressInUse(address, name: "", process: nil)
  }
}
