import CLinux
import Glibc
import Links

/// The folder in which the radios of the virtual air find each other.
///
/// It is opened once and then reached through its descriptor, so nobody can put another folder
/// in its place, and its path may be longer than a socket's address. For a radio with the
/// address `d413f6fbacef` it holds
/// - `d413f6fbacef.life`: a FIFO that the radio's process holds open for writing as long as it
///   lives. See `AirLife`.
/// - `d413f6fbacef.sock`: the socket that centrals connect to.
/// - `d413f6fbacef.adv`: while it advertises, an `AirRecord`.
/// - `.d413f6fbacef.PROCESS.NUMBER`: a file that is about to get its name.
final class AirFolder: Sendable {
  /// As it was given, for people.
  let path: String
  private let descriptor: Int32
  /// What leads to an entry of the folder.
  private let prefix: String

  enum Part: String, CaseIterable {
    case advertisement = "adv"
    case socket = "sock"
    case life = "life"
  }

  /// Where the virtual air of this user is: `$ATTO_AIR`, else `$XDG_RUNTIME_DIR/atto-air`, else
  /// `/tmp/atto-air-UID`.
  static func usualPath(environment: (String) -> String? = environmentVariable) -> String {
    if let path = environment("ATTO_AIR"), !path.isEmpty { return path }
    // A relative path there is to be ignored, as the XDG base directory specification says.
    if let path = environment("XDG_RUNTIME_DIR"), path.hasPrefix("/") { return path + "/atto-air" }
    return "/tmp/atto-air-\(geteuid())"
  }

  static func environmentVariable(_ name: String) -> String? {
    getenv(name).map { String(cString: $0) }
  }

  /// Opens the folder; makes it if it is missing, for its owner only.
  ///
  /// - Throws: `folder` if it is not a folder, is a symbolic link, belongs to somebody else, or
  ///   may be written to by others.
  init(path: String? = nil) throws(RadioError) {
    let path = path ?? Self.usualPath()
    self.path = path
    if mkdir(path, 0o700) != 0, errno != EEXIST {
      throw .folder(path: path, .system("made", errno: errno))
    }
    var status = stat()
    let result = clinux_lstat(path, &status)
    guard result == 0 else { throw .folder(path: path, .system("examined", errno: -result)) }
    guard !status.isSymbolicLink else { throw .folder(path: path, .symbolicLink) }
    let descriptor = clinux_open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0)
    guard descriptor >= 0 else {
      throw .folder(
        path: path, -descriptor == ENOTDIR ? .notFolder : .system("opened", errno: -descriptor))
    }
    // Judged by the descriptor: between the look above and the opening it may have changed.
    let fault: RadioError.FolderFault? =
      switch clinux_fstat(descriptor, &status) {
      case 0 where status.st_uid != geteuid(): .foreignOwner(status.st_uid)
      case 0 where status.st_mode & 0o022 != 0: .writableByOthers(status.st_mode & 0o777)
      case 0: nil
      case let error: .system("examined", errno: -error)
      }
    if let fault {
      _ = close(descriptor)
      throw .folder(path: path, fault)
    }
    self.descriptor = descriptor
    let own = "/proc/self/fd/\(descriptor)/"
    prefix = access(own, F_OK) == 0 ? own : path + "/"
  }

  deinit { _ = close(descriptor) }

  /// A path to an entry, good while this folder is held.
  func entry(_ name: String) -> String { prefix + name }

  func entry(_ address: BluetoothAddress, _ part: Part) -> String {
    entry(Self.stem(address) + "." + part.rawValue)
  }

  /// A name for a file that is to be renamed.
  func temporaryEntry(_ address: BluetoothAddress) -> String {
    entry(".\(Self.stem(address)).\(getpid()).\(UInt32.random(in: .min ... .max))")
  }

  private static func stem(_ address: BluetoothAddress) -> String {
    hexText(address.littleEndian.reversed())
  }

  /// What an entry's name means; nil for names that this folder does not give.
  static func parse(_ name: some StringProtocol) -> (address: BluetoothAddress, part: Part)? {
    let octets = name.utf8
    guard octets.count > 13, let dot = octets.firstIndex(of: 0x2E),
      octets.distance(from: octets.startIndex, to: dot) == 12,
      !octets[..<dot].contains(where: { (0x41...0x46).contains($0) }),
      let address = bytes(fromHex: octets[..<dot]),
      let part = Part(rawValue: String(name[octets.index(after: dot)...]))
    else { return nil }
    guard let address = BluetoothAddress(littleEndian: address.reversed(), kind: .random) else {
      return nil
    }
    return (address, part)
  }

  /// The names of the entries, in no order. Empty if the folder cannot be read.
  func entries() -> [String] {
    guard let stream = opendir(prefix) else { return [] }
    defer { closedir(stream) }
    var names: [String] = []
    while let entry = readdir(stream) {
      // d_name ends with a zero inside the entry that readdir(3) lends until its next call.
      let name = withUnsafePointer(to: &entry.pointee.d_name) {
        $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
      }
      if name != ".", name != ".." { names.append(name) }
    }
    return names
  }

  /// Whether the folder still has a place in the file system.
  var exists: Bool {
    var status = stat()
    return clinux_fstat(descriptor, &status) == 0 && status.st_nlink > 0
  }

  /// Removes what processes left behind that died before a file got its name.
  func sweepTemporaries() {
    for name in entries() where name.hasPrefix(".") {
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
