import CLinux
import EventLoop
import Glibc
import Links

/// Watches who is on the virtual air. The loop's thread only.
///
/// # Theory
/// Advertising files get their names by rename(2) and lose them by unlink(2), so inotify on the
/// folder tells of every advertisement that begins, changes or is stopped in good order. For
/// each radio that is shown, its FIFO is held open (see `AirLife`): its hang-up tells of the
/// death of a process. Nothing is polled, and nothing happens while nothing changes.
///
///     unknown --file appears, FIFO alive--> shown --file goes, or FIFO hangs up--> unknown
///
/// A file whose FIFO is dead is swept by whoever sees it first. A FIFO of another inode under the
/// same name is another life of the radio: it left, then appeared.
///
/// # Limits
/// At most ``radioLimit`` radios are shown; further ones wait until others left and they change.
final class AirObserver {
  enum Change {
    case appeared(BluetoothAddress, AirRecord)
    case changed(BluetoothAddress, AirRecord)
    case left(BluetoothAddress)
    /// Nothing more will come: the folder is gone, or the process has no descriptors left.
    case failed(RadioError)
  }

  private struct Radio {
    var record: AirRecord
    let life: WatchedDescriptor
    let inode: ino_t
  }

  static let radioLimit = 1024
  private static let folderCheckDelay: Duration = .milliseconds(100)

  /// Lower in tests.
  private let limit: Int
  private let folder: AirFolder
  private let loop: Loop
  private let report: (Change) -> Void
  private var notices: WatchedDescriptor?
  private var radios: [BluetoothAddress: Radio] = [:]
  private var isEnded = false
  private var folderCheck: OneTimer?

  init(
    _ folder: AirFolder, on loop: Loop, limit: Int = AirObserver.radioLimit,
    _ report: @escaping (Change) -> Void
  ) {
    self.limit = limit
    self.folder = folder
    self.loop = loop
    self.report = report
  }

  /// Who is on the air.
  var records: [BluetoothAddress: AirRecord] { radios.mapValues(\.record) }

  private var addresses: [BluetoothAddress] { radios.keys.sorted { $0.value < $1.value } }

  /// Begins; reports the radios that are there before it returns.
  ///
  /// - Throws: `system` if there is no inotify instance to be had, `folder` if the folder is gone.
  func start() throws(RadioError) {
    let descriptor = inotify_init1(Int32(IN_NONBLOCK | IN_CLOEXEC))
    guard descriptor >= 0 else {
      throw .system(
        "watch \(folder.path) (see sysctl fs.inotify.max_user_instances)", errno: errno)
    }
    let mask =
      IN_MOVED_TO | IN_MOVED_FROM | IN_DELETE | IN_DELETE_SELF | IN_MOVE_SELF | IN_ONLYDIR
    guard inotify_add_watch(descriptor, folder.entry("."), UInt32(mask)) >= 0 else {
      let number = errno
      _ = close(descriptor)
      guard folder.exists else { throw .folder(path: folder.path, .vanished) }
      throw .system("watch \(folder.path)", errno: number)
    }
    notices = try WatchedDescriptor(descriptor, on: loop) { [unowned self] _ in readNotices() }
    folder.sweepTemporaries()
    // Listed after the watch began, so that nothing falls between.
    list()
  }

  /// Ends; reports nothing more.
  func end() {
    isEnded = true
    folderCheck?.cancel()
    folderCheck = nil
    notices?.end()
    notices = nil
    for radio in radios.values { radio.life.end() }
    radios = [:]
  }

  private func list() {
    for name in folder.entries().sorted() where !isEnded {
      if case (let address, .advertisement)? = AirFolder.parse(name) { look(at: address) }
    }
  }

  private func fail(_ error: RadioError) {
    guard !isEnded else { return }
    end()
    report(.failed(error))
  }

  /// Compares what is shown of a radio with what its files say.
  private func look(at address: BluetoothAddress) {
    guard let record = AirRecord.read(address, in: folder) else { return forget(address) }
    switch AirLife.look(at: folder.entry(address, .life)) {
    case .absent: forget(address)
    case .failed(let number): fail(.system("watch a radio in \(folder.path)", errno: number))
    case .dead(let descriptor):
      AirLife.sweep(address, in: folder, dead: descriptor)
      _ = close(descriptor)
      forget(address)
    case .alive(let descriptor): show(address, record, life: descriptor)
    }
  }

  private func show(_ address: BluetoothAddress, _ record: AirRecord, life: Int32) {
    var status = stat()
    _ = clinux_fstat(life, &status)
    if let known = radios[address], known.inode == status.st_ino {
      _ = close(life)
      guard known.record != record else { return }
      radios[address]?.record = record
      report(.changed(address, record))
      return
    }
    forget(address)
    guard !isEnded, radios.count < limit else {
      _ = close(life)
      return
    }
    do {
      let watched = try WatchedDescriptor(life, on: loop) { [unowned self] readiness in
        if !readiness.isDisjoint(with: [.hangup, .error]) { died(address) }
      }
      radios[address] = Radio(record: record, life: watched, inode: status.st_ino)
      report(.appeared(address, record))
    } catch {
      fail(error)
    }
  }

  private func forget(_ address: BluetoothAddress) {
    guard let radio = radios.removeValue(forKey: address) else { return }
    radio.life.end()
    report(.left(address))
  }

  /// The process is gone: sweeps after it, unless its successor is there already.
  private func died(_ address: BluetoothAddress) {
    forget(address)
    if !isEnded { look(at: address) }
  }

  private func readNotices() {
    var octets = [UInt8](repeating: 0, count: 16_384)
    for _ in 0..<16 {
      guard let notices else { return }
      let count = read(notices.descriptor, &octets, octets.count)
      guard count > 0 else { return }
      for notice in InotifyNotice.parse(octets[..<count]) where !isEnded { take(notice) }
    }
    notices?.again()
  }

  /// The kernel does not tell of the removal of a folder that is held open. It is emptied first,
  /// so when a radio's last file goes, the folder is looked at once, a little later.
  private func checkFolderSoon() {
    guard folderCheck == nil, !isEnded else { return }
    folderCheck = OneTimer(after: Self.folderCheckDelay, on: loop) { [unowned self] in
      folderCheck = nil
      if !folder.exists { fail(.folder(path: folder.path, .vanished)) }
    }
  }

  private func take(_ notice: InotifyNotice) {
    if notice.mask & UInt32(IN_Q_OVERFLOW) != 0 {
      for address in addresses where !isEnded { look(at: address) }
      return list()
    }
    if notice.mask & UInt32(IN_DELETE_SELF | IN_MOVE_SELF | IN_IGNORED | IN_UNMOUNT) != 0 {
      // Renamed, or the file system is gone.
      for address in addresses { forget(address) }
      return fail(.folder(path: folder.path, .vanished))
    }
    guard let (address, part) = AirFolder.parse(notice.name) else { return }
    switch part {
    case .advertisement: look(at: address)
    case .life:
      if radios[address] != nil { look(at: address) }
      if notice.mask & UInt32(IN_DELETE) != 0 { checkFolderSoon() }
    case .socket: break
    }
  }
}

/// One `struct inotify_event`.
struct InotifyNotice: Equatable {
  let mask: UInt32
  let name: String

  /// What read(2) gave: whole events, in the machine's byte order.
  static func parse(_ octets: ArraySlice<UInt8>) -> [InotifyNotice] {
    var notices: [InotifyNotice] = []
    var rest = octets
    while rest.count >= 16 {
      let base = rest.startIndex
      let word = { (offset: Int) in
        let octets = rest[base + offset..<base + offset + 4]
        return octets.withUnsafeBytes { $0.loadUnaligned(as: UInt32.self) }
      }
      let length = Int(word(12))
      guard length <= rest.count - 16 else { break }
      let name = rest[base + 16..<base + 16 + length].prefix { $0 != 0 }
      notices.append(InotifyNotice(mask: word(4), name: String(decoding: name, as: UTF8.self)))
      rest = rest.dropFirst(16 + length)
    }
    return notices
  }
}
