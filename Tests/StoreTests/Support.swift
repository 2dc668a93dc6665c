import CLinux
import Glibc
@testable import Store
import Testing

/// A folder that lives as long as a test.
final class Folder: Sendable {
  let path: String

  /// - Parameter isOnDisk: whether what is written waits for a disk.
  init(isOnDisk: Bool = false) {
    let disk = getenv("TMPDIR").map { String(cString: $0) } ?? "/tmp"
    let place = !isOnDisk && access("/dev/shm", W_OK) == 0 ? "/dev/shm" : disk
    var template = Array("\(place)/atto-store-XXXXXX".utf8CString)
    path = String(cString: mkdtemp(&template))
  }

  deinit {
    for name in entries { unlink(path + "/" + name) }
    for name in entries { rmdir(path + "/" + name) }
    rmdir(path)
  }

  func file(_ name: String = "store.sqlite") -> String { path + "/" + name }

  var entries: [String] {
    guard let stream = opendir(path) else { return [] }
    defer { closedir(stream) }
    var names: [String] = []
    while let entry = readdir(stream) {
      let name = withUnsafePointer(to: &entry.pointee.d_name) {
        $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
      }
      if name != ".", name != ".." { names.append(name) }
    }
    return names
  }
}

func mode(_ path: String) -> UInt32 {
  var status = stat()
  guard stat(path, &status) == 0 else { return 0 }
  return status.st_mode & 0o7777
}

func octets(of path: String) -> [UInt8] {
  guard let file = fopen(path, "re") else { return [] }
  defer { fclose(file) }
  var all: [UInt8] = []
  var buffer = [UInt8](repeating: 0, count: 65536)
  while true {
    let count = fread(&buffer, 1, buffer.count, file)
    if count == 0 { return all }
    all += buffer[..<count]
  }
}

/// Whether a file is what it was; a failure does not print all of it.
func holds(_ path: String, _ content: [UInt8]) -> Bool { octets(of: path) == content }

func write(_ octets: [UInt8], to path: String) {
  let file = fopen(path, "we")
  fwrite(octets, 1, octets.count, file)
  fclose(file)
}

/// Runs SQL on a file with nothing of the store's in between.
func execute(_ sql: String, on path: String) throws {
  if access(path, F_OK) != 0 { write([], to: path) }
  try SQLiteDatabase(path: path).run(sql)
}
