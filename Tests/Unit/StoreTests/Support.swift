import TestSupport
import CAttoLinux
import Glibc
@testable import AttoStore
import Testing

extension TemporaryFolder {
  /// The store's file.
  func file() -> String { file("store.sqlite") }
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

/// Returns whether a file has this content. A failed expectation does not print the content.
func holds(_ path: String, _ content: [UInt8]) -> Bool { octets(of: path) == content }

func write(_ octets: [UInt8], to path: String) {
  // glibc 2.43 says which pointers may be nil.
  guard let file = fopen(path, "we") else {
    Issue.record("cannot write \(path): errno \(errno)")
    return
  }
  fwrite(octets, 1, octets.count, file)
  fclose(file)
}

/// Runs SQL on a file without the store.
func execute(_ sql: String, on path: String) throws {
  if access(path, F_OK) != 0 { write([], to: path) }
  try SQLiteDatabase(path: path).run(sql)
}
