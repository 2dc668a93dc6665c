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
/// The process has one inotify instance (`FolderNotices`). Where it can have none, the folder is listed
/// every ``listingInterval`` instead, until there is one.
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
  static let listingInterval: Duration = .milliseconds(250)
  private static let folderCheckDelay: Duration = .milliseconds(100)

  /// Lower in tests.
  private let limit: Int
  private let folder: AirFolder
  private let loop: Loop
  private let report: (Change) -> Void
  private let notices: FolderNotices
  /// Nil without an inotify instance.
  private var subscription: FolderNotices.Subscription?
  private var nextListing: LoopTimer?
  private var radios: [BluetoothAddress: Radio] = [:]
  private var isEnded = false
  private var folderCheck: LoopTimer?

  init(
    _ folder: AirFolder, on loop: Loop, limit: Int = AirObserver.radioLimit,
    notices: FolderNotices = .shared, _ report: @escaping (Change) -> Void
  ) {
    self.limit = limit
    self.notices = notices
    self.folder = folder
    self.loop = loop
    self.report = report
  }

  var records: [BluetoothAddress: AirRecord] { radios.mapValues(\.record) }

  private var addresses: [BluetoothAddress] { radios.keys.sorted { $0.value < $1.value } }

  /// Starts. Reports the radios that are on the air before it returns.
  ///
  /// - Throws: `folder` if the folder was removed, `system` if it cannot be read.
  func start() throws(RadioError) {
    if try !watch() { listLater() }
    folder.sweepTemporaries()
    // Listed after the watch was added, so that no change is lost.
    try list()
  }

  /// Has the changes of the folder reported. False if there is no inotify instance for that, as where
  /// other programs of the user have all of them, or the kernel has no watch left.
  ///
  /// - Throws: `folder` if the folder was removed.
  private func watch() throws(RadioError) -> Bool {
    let observer = LoopBound(self, loop)
    subscription = try? notices.subscribe(to: folder.entry("."), on: loop) { report in
      observer.value.receive(report)
    }
    guard subscription == nil else { return true }
    guard folder.exists else { throw .folder(path: folder.path, .vanished) }
    return false
  }

  private func listLater() {
    nextListing = LoopTimer(after: Self.listingInterval, on: loop) { [unowned self] in
      do throws(RadioError) {
        if try !watch() { listLater() }
        try list()
      } catch {
        fail(error)
      }
    }
  }

  func end() {
    isEnded = true
    folderCheck?.cancel()
    folderCheck = nil
    nextListing?.cancel()
    nextListing = nil
    if let subscription { notices.cancel(subscription) }
    subscription = nil
    for radio in radios.values { radio.life.end() }
    radios = [:]
  }

  /// Lists the folder: first reports what has left it unnoticed, then what is in it.
  private func list() throws(RadioError) {
    let listed = try folder.entries().sorted().compactMap { name -> BluetoothAddress? in
      if case (let address, .advertisement)? = AirFolder.parse(name) { address } else { nil }
    }
    let left = Set(radios.keys).subtracting(listed).sorted { $0.value < $1.value }
    for address in left + listed where !isEnded { update(address) }
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

  private func receive(_ report: FolderNotices.Report) {
    guard !isEnded else { return }
    switch report {
    case .notice(let notice): handle(notice)
    case .unavailable:
      subscription = nil
      listLater()
    }
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
      do throws(RadioError) { try list() } catch { fail(error) }
      return
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
