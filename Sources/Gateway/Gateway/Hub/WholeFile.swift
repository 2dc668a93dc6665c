import Glibc

/// Small files of the state folder.
enum WholeFile {
  /// Writes a file under another name first, so that it is whole or as it was. Blocks on the disk.
  ///
  /// - Returns: 0, or the number of the error.
  static func write(_ octets: [UInt8], to path: String) -> Int32 {
    let temporary = path + ".new"
    let descriptor = open(temporary, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else { return errno }
    let count = Glibc.write(descriptor, octets, octets.count)
    var failure: Int32 = count == octets.count ? 0 : count < 0 ? errno : ENOSPC
    if failure == 0, fsync(descriptor) != 0 { failure = errno }
    close(descriptor)
    if failure == 0, rename(temporary, path) != 0 { failure = errno }
    if failure != 0 { unlink(temporary) }
    return failure
  }
}
