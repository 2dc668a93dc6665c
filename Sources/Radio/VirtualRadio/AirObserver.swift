import CAttoLinux
import AttoEventLoop
import Glibc
import AttoLinks
import AttoRadio

/// Watches the radios of the virtual air. The loop's thread only.
///
/// # Theory
/// Advertising files are renamed into place and unlinked, so inotify on the folder reports every
/// advertisement that starts, changes or stops in order. The FIFO of each radio that is shown is held
/// open (see `AirLife`): its hang-up reports the death of a process. Nothing is polled.
///
///     unknown --file appears, FIFO alive--> shown --file removed, or FIFO hangs up--> unknown
///
/// If the FIFO of a file is dead, the first observer sweeps its files. A FIFO with another inode
/// under the same name is a new radio: the old one left, and the new one appeared.
///
/// # Limits
/// At most ``radioLimit`` radios are shown. Further ones wait until others have left and they change.
final class AirObserver {
  enum Change {
    /// A radio has appeared, or its record has changed.
    case shown(BluetoothAddress, AirRecord)
    case left(BluetoothAddress)
    /// Observing has ended: the folder was removed, or the process has no descriptors left.
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
  private var folderCheck: LoopTimer?

  init(
    _ folder: AirFolder, on loop: Loop, limit: Int = AirObserver.radioLimit,
    _ report: @escaping (Change) -> Void
  ) {
    self.limit = limit
    self.folder = folder
    self.loop = loop
    self.report = report
  }

  var records: [BluetoothAddress: AirRecord] { radios.mapValues(\.record) }

  private var addresses: [BluetoothAddress] { radios.keys.sorted { $0.value < $1.value } }

  /// Starts. Reports the radios that are on the air before it returns.
  ///
  /// - Throws: `system` if there is no inotify instance left, `folder` if the folder was removed.
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
    // Listed after the watch was added, so that no change is lost.
    list()
  }

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
      if case (let address, .advertisement)? = AirFolder.parse(name) { update(address) }
    }
  }

  private func fail(_ error: RadioError) {
    guard !isEnded else { return }
    end()
    report(.failed(error))
  }

  private func update(_ address: BluetoothAddress) {
    guard let record = AirRecord.read(address, in: folder) else { return forget(address) }
    switch AirLife.state(at: folder.entry(address, .life)) {
    case .absent: forget(address)
    case .failed(let number): fail(.system("watch a radio in \(folder.path)", errno: number))
    case .dead(let descriptor):
      AirLife.sweep(address, in: folder, dead: descriptor)
      forget(address)
    case .alive(let descriptor): show(address, record, life: descriptor)
    }
  }

  private func show(
    _ address: BluetoothAddress, _ record: AirRecord, life: consuming OwnedDescriptor
  ) {
    var status = stat()
    _ = clinux_fstat(life.rawValue, &status)
    if let known = radios[address], known.inode == status.st_ino {
      guard known.record != record else { return }
      radios[address]?.record = record
      report(.shown(address, record))
      return
    }
    forget(address)
    guard !isEnded, radios.count < limit else { return }
    do {
      let watched = try WatchedDescriptor(life.release(), on: loop) { [unowned self] readiness in
        if !readiness.isDisjoint(with: [.hangup, .error]) { died(address) }
      }
      radios[address] = Radio(record: record, life: watched, inode: status.st_ino)
      report(.shown(address, record))
    } catch {
      fail(error)
    }
  }

  private func forget(_ address: BluetoothAddress) {
    guard let radio = radios.removeValue(forKey: address) else { return }
    radio.life.end()
    report(.left(address))
  }

  /// The process has died. Sweeps its files, unless a new radio has the address already.
  private func died(_ address: BluetoothAddress) {
    forget(address)
    if !isEnded { update(address) }
  }

  private func readNotices() {
    var octets = [UInt8](repeating: 0, count: 16_384)
    for _ in 0..<16 {
      guard let notices else { return }
      let count = read(notices.descriptor, &octets, octets.count)
      guard count > 0 else { return }
      for notice in InotifyNotice.parse(octets[..<count]) where !isEnded { handle(notice) }
    }
    notices?.again()
  }

  /// The kernel does not report the removal of a folder that is held open. It is emptied first, so the
  /// folder is checked a little after the last file of a radio was removed.
  private func checkFolderSoon() {
    guard folderCheck == nil, !isEnded else { return }
    folderCheck = LoopTimer(after: Self.folderCheckDelay, on: loop) { [unowned self] in
      folderCheck = nil
      if !folder.exists { fail(.folder(path: folder.path, .vanished)) }
    }
  }

  private func handle(_ notice: InotifyNotice) {
    if notice.mask & UInt32(IN_Q_OVERFLOW) != 0 {
      for address in addresses where !isEnded { update(address) }
      return list()
    }
    if notice.mask & UInt32(IN_DELETE_SELF | IN_MOVE_SELF | IN_IGNORED | IN_UNMOUNT) != 0 {
      // The folder was renamed, or the file system unmounted.
      for address in addresses { forget(address) }
      return fail(.folder(path: folder.path, .vanished))
    }
    guard let (address, part) = AirFolder.parse(notice.name) else { return }
    switch part {
    case .advertisement: update(address)
    case .life:
      if radios[address] != nil { update(address) }
      if notice.mask & UInt32(IN_DELETE) != 0 { checkFolderSoon() }
    case .socket: break
    }
  }
}

/// One `struct inotify_event`.
struct InotifyNotice: Equatable {
  let mask: UInt32
  let name: String

  /// Parses the result of read(2): whole events, in the byte order of the machine.
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
