import Foundation
import Glibc
import Synchronization

/// A folder for one test, removed with its content at the end. Its path is short, because a Unix
/// socket's has at most 107 bytes.
///
/// What cannot be removed, because something still writes there, and what a task still holds when the process
/// ends, is removed then.
package final class TemporaryFolder: Sendable {
  package let path: String

  private static let left = Mutex<Set<String>>([])
  private static let isWatchingExit: Bool =
    atexit {
      for path in TemporaryFolder.left.withLock({ $0 }) {
        try? FileManager.default.removeItem(atPath: path)
      }
    } == 0

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
    if isMade, Self.isWatchingExit { _ = Self.left.withLock { $0.insert(path) } }
  }

  deinit {
    guard (try? FileManager.default.removeItem(atPath: path)) != nil else { return }
    _ = Self.left.withLock { $0.remove(path) }
  }

  package func file(_ name: String) -> String { path + "/" + name }

  /// The names of its files and folders, sorted.
  package var entries: [String] {
    (try? FileManager.default.contentsOfDirectory(atPath: path).sorted()) ?? []
  }
}
