import AttoATT
import CAttoLinux
import Glibc
import AttoLinks
import AttoRadio

/// The folder in which the radios of the virtual air find each other.
///
/// It is opened once and then accessed through its descriptor. So it cannot be replaced by another
/// folder, and its path may be longer than the address of a socket. Only its owner may enter it, and
/// its files have mode 0600 at most. Since the owner may open the folder later, the user at the other
/// end of each socket is checked too. For a radio with the address
/// `d413f6fbacef` it holds
/// - `d413f6fbacef.life`: a FIFO that the process of the radio holds open. See `AirLife`.
/// - `d413f6fbacef.sock`: the socket to which centrals connect.
/// - `d413f6fbacef.adv`: an `AirRecord`, while the radio advertises.
/// - `.d413f6fbacef.PROCESS.NUMBER`: a temporary file, which is about to be renamed.
package final class AirFolder: Sendable {
  package let path: String
  private let descriptor: OwnedDescriptor
  /// The beginning of the path of an entry.
  private let prefix: String

  enum Part: String, CaseIterable {
    case advertisement = "adv"
    case socket = "sock"
    case life = "life"
  }

  /// The default path: `$ATTO_AIR`, else `$XDG_RUNTIME_DIR/atto-air`, else `/tmp/atto-air-UID`.
  package static func defaultPath(
    environment: (String) -> String? = environmentVariable
  ) -> String {
    if let path = environment("ATTO_AIR"), !path.isEmpty { return path }
    // The XDG Base Directory Specification requires relative paths to be ignored.
    if let path = environment("XDG_RUNTIME_DIR"), path.hasPrefix("/") { return path + "/atto-air" }
    return "/tmp/atto-air-\(geteuid())"
  }

  package static func environmentVariable(_ name: String) -> String? {
    getenv(name).map { String(cString: $0) }
  }

  /// Opens the folder. Creates it, for its owner only, if it is missing.
  ///
  /// - Throws: `folder` if it is not a folder, is a symbolic link, belongs to another user, or is
  ///   open to others.
  package init(path: String? = nil) throws(RadioError) {
    let path = path ?? Self.defaultPath()
    self.path = path
    if mkdir(path, 0o700) != 0, errno != EEXIST {
      throw .folder(path: path, .system("created", errno: errno))
    }
    var status = stat()
    let result = clinux_lstat(path, &status)
    guard result == 0 else { throw .folder(path: path, .system("examined", errno: -result)) }
    guard !status.isSymbolicLink else { throw .folder(path: path, .symbolicLink) }
    let opened = clinux_open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0)
    guard opened >= 0 else {
      throw .folder(
        path: path, -opened == ENOTDIR ? .notFolder : .system("opened", errno: -opened))
    }
    descriptor = OwnedDescriptor(owning: opened)
    // Checked by descriptor: the path may lead elsewhere than above by now.
    let fault: RadioError.FolderFault? =
      switch clinux_fstat(opened, &status) {
      case 0 where status.st_uid != geteuid(): .foreignOwner(status.st_uid)
      case 0 where status.st_mode & 0o077 != 0: .openToOthers(status.st_mode & 0o1777)
      case 0: nil
      case let error: .system("examined", errno: -error)
      }
    if let fault { throw .folder(path: path, fault) }
    let own = "/proc/self/fd/\(opened)/"
    prefix = access(own, F_OK) == 0 ? own : path + "/"
  }

  /// Returns the user at the other end of a socket if it may not take part: only this user and root
  /// may. nil if it may.
  static func stranger(at socket: Int32, own: UInt32 = geteuid()) -> Int64? {
    let user = clinux_peer_user(socket)
    return user == Int64(own) || user == 0 ? nil : user
  }

  /// The path of an entry, valid as long as this value.
  func entry(_ name: String) -> String { prefix + name }

  func entry(_ address: BluetoothAddress, _ part: Part) -> String {
    entry(Self.stem(address) + "." + part.rawValue)
  }

  func temporaryEntry(_ address: BluetoothAddress) -> String {
    entry(".\(Self.stem(address)).\(getpid()).\(UInt32.random(in: .min ... .max))")
  }

  private static func stem(_ address: BluetoothAddress) -> String {
    Hex.text(address.littleEndian.reversed())
  }

  /// Parses the name of an entry; nil if it is none of a radio.
  static func parse(_ name: some StringProtocol) -> (address: BluetoothAddress, part: Part)? {
    let octets = name.utf8
    guard octets.count > 13, let dot = octets.firstIndex(of: 0x2E),
      octets.distance(from: octets.startIndex, to: dot) == 12,
      !octets[..<dot].contains(where: { (0x41...0x46).contains($0) }),
      let address = Hex.octets(octets[..<dot]),
      let part = Part(rawValue: String(name[octets.index(after: dot)...]))
    else { return nil }
    guard let address = BluetoothAddress(littleEndian: address.reversed(), kind: .random) else {
      return nil
    }
    return (address, part)
  }

  /// The names of the entries, in no order.
  ///
  /// - Throws: `system` if the folder cannot be read, such as EMFILE if the process has no descriptor
  ///   left.
  func entries() throws(RadioError) -> [String] {
    guard let stream = opendir(prefix) else { throw .system("list \(path)", errno: errno) }
    defer { closedir(stream) }
    var names: [String] = []
    while let entry = readdir(stream) {
      // The entry is valid until the next readdir(3), and d_name ends with a zero.
      let name = withUnsafePointer(to: &entry.pointee.d_name) {
        $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
      }
      if name != ".", name != ".." { names.append(name) }
    }
    return names
  }

  var exists: Bool {
    var status = stat()
    return clinux_fstat(descriptor.rawValue, &status) == 0 && status.st_nlink > 0
  }

  /// Removes the folder with its entries.
  package func remove() {
    for name in (try? entries()) ?? [] { unlink(entry(name)) }
    rmdir(path)
  }

  /// Removes temporary files of processes that have died.
  func sweepTemporaries() {
    for name in (try? entries()) ?? [] where name.hasPrefix(".") {
      let fields = name.dropFirst().split(separator: ".", omittingEmptySubsequences: false)
      guard fields.count == 3, fields[0].utf8.count == 12, let process = Int32(fields[1]),
        process > 0, kill(process, 0) != 0, errno == ESRCH
      else { continue }
      unlink(entry(name))
    }
  }
}

extension stat {
  var isSymbolicLink: Bool { has(S_IFLNK) }
  var isFIFO: Bool { has(S_IFIFO) }
  var isRegularFile: Bool { has(S_IFREG) }

  private func has(_ type: mode_t) -> Bool { st_mode & 0o170000 == type }
}
