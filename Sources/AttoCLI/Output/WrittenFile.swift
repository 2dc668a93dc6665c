import Glibc

/// A file that holds what a command has found out.
enum WrittenFile {
  /// Opens a file as it will be written, and leaves all as it was: a name that cannot be written is
  /// told before the work, not after it.
  ///
  /// - Throws: `UsageError`.
  static func check(_ path: String) throws(UsageError) {
    let isNew = access(path, F_OK) != 0
    let descriptor = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0o644)
    guard descriptor >= 0 else { throw fault(path, errno) }
    close(descriptor)
    if isNew { unlink(path) }
  }

  /// Puts a text in the place of what the file holds.
  ///
  /// - Throws: `UsageError`.
  static func write(_ text: String, to path: String) throws(UsageError) {
    guard let file = fopen(path, "we") else { throw fault(path, errno) }
    let octets = Array(text.utf8)
    var number: Int32 = fwrite(octets, 1, octets.count, file) == octets.count ? 0 : errno
    if fclose(file) != 0, number == 0 { number = errno }
    guard number == 0 else { throw fault(path, number) }
  }

  private static func fault(_ path: String, _ number: Int32) -> UsageError {
    UsageError("cannot write \(path): \(String(cString: strerror(number)))")
  }
}
