import Glibc

/// A file with a command's results.
enum WrittenFile {
  /// Checks that a file can be written, without changing it: before the work rather than after it.
  static func check(_ path: String) throws(FileError) {
    let isNew = access(path, F_OK) != 0
    let descriptor = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0o644)
    guard descriptor >= 0 else { throw .cannot("write", path, errno: errno) }
    close(descriptor)
    if isNew { unlink(path) }
  }

  /// Replaces the content of a file.
  static func write(_ text: String, to path: String) throws(FileError) {
    guard let file = fopen(path, "we") else { throw .cannot("write", path, errno: errno) }
    let octets = Array(text.utf8)
    var number: Int32 = fwrite(octets, 1, octets.count, file) == octets.count ? 0 : errno
    if fclose(file) != 0, number == 0 { number = errno }
    guard number == 0 else { throw .cannot("write", path, errno: number) }
  }
}
