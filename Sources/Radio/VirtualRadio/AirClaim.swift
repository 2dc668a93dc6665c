import CAttoLinux
import Glibc
import AttoLinks
import AttoRadio
import Synchronization

/// An address of the virtual air that belongs to this process until the claim is released: the FIFO
/// that shows that the process is alive, and the socket to which centrals connect.
final class AirClaim {
  let folder: AirFolder
  let address: BluetoothAddress
  /// nil after it was removed.
  private var listener: OwnedDescriptor?
  private var life: OwnedDescriptor?

  /// Centrals that can wait to be accepted.
  static let backlog: Int32 = 4096
  /// Attempts to get the name while other processes sweep or release it.
  private static let attemptLimit = 1000
  /// The claims of this process, each with its folder. The lock also covers the files, so that a claim of
  /// this process is never reported as another process's.
  private static let held = Mutex<Set<String>>([])

  /// Claims the address.
  ///
  /// - Throws: `addressInUse` if another radio has it, `system` if a file cannot be created.
  init(_ address: BluetoothAddress, in folder: AirFolder) throws(RadioError) {
    self.folder = folder
    self.address = address
    life = try Self.claimLife(address, folder)
    let path = folder.entry(address, .socket)
    // They remain if a FIFO was removed by hand.
    unlink(folder.entry(address, .advertisement))
    unlink(path)
    var result = clinux_seqpacket_socket(AF_UNIX, 0)
    if result >= 0 {
      let socket = OwnedDescriptor(owning: result)
      // The file gets this mode less the umask.
      _ = fchmod(socket.rawValue, 0o600)
      result = clinux_unix_bind(socket.rawValue, path, path.utf8.count)
      if result >= 0 { result = clinux_listen(socket.rawValue, Self.backlog) }
      listener = consume socket
    }
    guard result >= 0 else {
      release()
      throw .system("listen at \(folder.path)", errno: -result)
    }
  }

  deinit { release() }

  /// Releases the address and removes its files, last the FIFO, which guards the others.
  func release() {
    guard life != nil else { return }
    Self.held.withLock { held in
      for part in AirFolder.Part.allCases { unlink(folder.entry(address, part)) }
      held.remove(Self.name(address, folder))
    }
    listener = nil
    life = nil
  }

  /// Returns the listening socket, which the caller closes. Traps the second time.
  func removeListener() -> Int32 {
    guard let listener = listener.take() else { preconditionFailure("the listener was removed") }
    return listener.release()
  }

  /// Writes the advertisement. Readers see either the old or the new one.
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

  func endAdvertising() { unlink(folder.entry(address, .advertisement)) }

  private static func name(_ address: BluetoothAddress, _ folder: AirFolder) -> String {
    folder.path + "/" + address.digits
  }

  private static func claimLife(
    _ address: BluetoothAddress, _ folder: AirFolder
  ) throws(RadioError) -> OwnedDescriptor {
    func failure(_ errno: Int32) -> RadioError {
      .system("create a radio in \(folder.path)", errno: errno)
    }
    let name = folder.entry(address, .life)
    let key = Self.name(address, folder)
    let temporary = folder.temporaryEntry(address)
    guard mkfifo(temporary, 0o600) == 0 else { throw failure(errno) }
    defer { unlink(temporary) }
    let opened = clinux_open(temporary, O_RDWR | O_NONBLOCK | O_NOFOLLOW, 0)
    guard opened >= 0 else { throw failure(-opened) }
    let life = OwnedDescriptor(owning: opened)
    for _ in 0..<attemptLimit {
      let (result, isOwn) = held.withLock { held in
        guard link(temporary, name) == 0 else { return (errno, held.contains(key)) }
        held.insert(key)
        return (0, true)
      }
      if result == 0 { return life }
      guard result == EEXIST else { throw failure(result) }
      switch AirLife.state(at: name) {
      case .alive:
        let record = AirRecord.read(address, in: folder)
        throw .addressInUse(
          address, name: record?.name ?? "", process: isOwn ? getpid() : record?.process)
      case .dead(let other):
        if !AirLife.sweep(address, in: folder, dead: other) { sched_yield() }
      case .failed(let number): throw failure(number)
      case .absent:
        // It has just been removed, or is not a FIFO.
        var status = stat()
        if clinux_lstat(name, &status) == 0, !status.isFIFO { unlink(name) }
        sched_yield()
      }
    }
    throw .addressInUse(address, name: "", process: nil)
  }
}
