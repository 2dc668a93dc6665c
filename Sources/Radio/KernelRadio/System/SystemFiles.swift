import CAttoLinux
import Glibc

/// Files of /proc, /sys and /etc, below a root that tests may place elsewhere.
package struct SystemFiles {
  package let root: String
  /// Bytes that are read of a file. The rest is ignored.
  package static let limit = 1 << 20

  package init(root: String = "") { self.root = root }

  /// The content of a file; nil if it cannot be read.
  package func octets(_ path: String) -> [UInt8]? {
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

  package func text(_ path: String) -> String? {
    octets(path).map { String(decoding: $0, as: UTF8.self) }
  }

  /// The first line without leading and trailing blanks.
  package func line(_ path: String) -> String? {
    text(path)?.split(separator: "\n").first.map { $0.trimmed }
  }

  /// The lines that are not empty.
  package func lines(_ path: String) -> [Substring]? { text(path)?.split(separator: "\n") }

  package func exists(_ path: String) -> Bool { access(root + path, F_OK) == 0 }

  /// The target of a symbolic link; nil if the file is none, or this process may not read it.
  package func link(_ path: String) -> String? {
    var room = [UInt8](repeating: 0, count: 4096)
    let count = room.withUnsafeMutableBytes {
      readlink(root + path, $0.assumingMemoryBound(to: CChar.self).baseAddress!, $0.count)
    }
    return count < 0 ? nil : String(decoding: room[..<count], as: UTF8.self)
  }

  /// The entries of a folder, sorted; empty if it cannot be read.
  package func names(_ path: String) -> [String] {
    guard let stream = opendir(root + path) else { return [] }
    defer { closedir(stream) }
    var names: [String] = []
    while let entry = readdir(stream) {
      // The entry is valid until the next readdir(3), and d_name ends with a zero.
      let name = withUnsafePointer(to: &entry.pointee.d_name) {
        $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
      }
      if name != ".", name != ".." { names.append(name) }
    }
    return names.sorted()
  }

  /// The value of a `Name:` line, as in /proc/self/status.
  package func field(_ name: String, of path: String) -> String? {
    lines(path)?.first { $0.hasPrefix(name + ":") }.map { $0.dropFirst(name.count + 1).trimmed }
  }

  /// The processes that this process can see.
  package var processes: [Int32] { names("/proc").compactMap { Int32($0) }.sorted() }

  /// The name of a process, at most 15 octets.
  package func name(of process: Int32) -> String? { line("/proc/\(process)/comm") }
}

extension StringProtocol {
  /// Without leading and trailing spaces and tabs.
  fileprivate var trimmed: String {
    let isBlank = { (character: Character) in character == " " || character == "\t" }
    let rest = drop(while: isBlank)
    return String(rest.prefix(rest.count - rest.reversed().prefix(while: isBlank).count))
  }
}
