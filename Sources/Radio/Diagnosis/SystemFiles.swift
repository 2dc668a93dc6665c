import CLinux
import Glibc

/// The files in which Linux tells of itself, under a root that tests may place elsewhere.
struct SystemFiles {
  let root: String
  /// Octets of a file that are read; longer ones are cut.
  static let limit = 1 << 20

  init(root: String = "") { self.root = root }

  /// What a file holds; nil if it cannot be read.
  func octets(_ path: String) -> [UInt8]? {
    let descriptor = clinux_open(root + path, O_RDONLY | O_NONBLOCK, 0)
    guard descriptor >= 0 else { return nil }
    defer { _ = close(descriptor) }
    var octets: [UInt8] = []
    var part = [UInt8](repeating: 0, count: 65536)
    while octets.count < Self.limit {
      let count = read(descriptor, &part, part.count)
      if count < 0, errno == EINTR { continue }
      // A folder opens, too.
      guard count >= 0 else { return octets.isEmpty ? nil : octets }
      if count == 0 { break }
      octets += part[..<count]
    }
    return octets
  }

  func text(_ path: String) -> String? { octets(path).map { String(decoding: $0, as: UTF8.self) } }

  /// The first line without what is blank at its ends.
  func line(_ path: String) -> String? {
    text(path)?.split(separator: "\n").first.map { $0.trimmed }
  }

  func lines(_ path: String) -> [Substring]? { text(path)?.split(separator: "\n") }

  func exists(_ path: String) -> Bool { access(root + path, F_OK) == 0 }

  /// What a symbolic link says; nil if it is none, or may not be looked at.
  func link(_ path: String) -> String? {
    var room = [UInt8](repeating: 0, count: 4096)
    let count = room.withUnsafeMutableBytes {
      readlink(root + path, $0.assumingMemoryBound(to: CChar.self).baseAddress!, $0.count)
    }
    return count < 0 ? nil : String(decoding: room[..<count], as: UTF8.self)
  }

  /// What lies in a folder, sorted; empty if it cannot be read.
  func names(_ path: String) -> [String] {
    guard let stream = opendir(root + path) else { return [] }
    defer { closedir(stream) }
    var names: [String] = []
    while let entry = readdir(stream) {
      // d_name ends with a zero inside the entry that readdir(3) lends until its next call.
      let name = withUnsafePointer(to: &entry.pointee.d_name) {
        $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
      }
      if name != ".", name != ".." { names.append(name) }
    }
    return names.sorted()
  }

  /// The value of a `Name:` line, as /proc/self/status has them.
  func field(_ name: String, of path: String) -> String? {
    lines(path)?.first { $0.hasPrefix(name + ":") }.map { $0.dropFirst(name.count + 1).trimmed }
  }

  /// All processes that can be seen.
  var processes: [Int32] { names("/proc").compactMap { Int32($0) }.sorted() }

  /// What a process is called, at most 15 octets.
  func name(of process: Int32) -> String? { line("/proc/\(process)/comm") }
}

extension StringProtocol {
  /// Without spaces and tabs at both ends.
  fileprivate var trimmed: String {
    let isBlank = { (character: Character) in character == " " || character == "\t" }
    let rest = drop(while: isBlank)
    return String(rest.prefix(rest.count - rest.reversed().prefix(while: isBlank).count))
  }
}
