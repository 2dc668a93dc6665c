import Foundation
import Glibc

/// A folder for one test, removed with its content at the end. Its path is short, because a Unix
/// socket's has at most 107 bytes.
package final class TemporaryFolder: Sendable {
  package let path: String

  /// If the folder cannot be made, there is none at the path, and what the test does there fails.
  ///
  /// - Parameter isInMemory: whether writing needs no disk, where the system has such a folder.
  package init(isInMemory: Bool = false) {
    let memory = "/dev/shm/"
    let place = isInMemory && access(memory, W_OK) == 0 ? memory : NSTemporaryDirectory()
    var template = Array((place + "atto-XXXXXX").utf8CString)
    let isMade = mkdtemp(&template) != nil
    let octets = template.dropLast().map(UInt8.init(bitPattern:))
    path = isMade ? String(decoding: octets, as: UTF8.self) : "/nonexistent"
  }

  deinit { try? FileManager.default.removeItem(atPath: path) }

  package func file(_ name: String) -> String { path + "/" + name }

  /// The names of its files and folders, sorted.
  package var entries: [String] {
    (try? FileManager.default.contentsOfDirectory(atPath: path).sorted()) ?? []
  }
}
