#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

/// Reads a small file whole. Foundation could do this too, but would add megabytes to a static binary.
package enum FileBytes {
  /// The longest file, in bytes: 4 MiB.
  package static let limit = 4 << 20

  /// Why a file cannot be read, as people read it.
  package struct Failure: Error, Equatable {
    package var reason: String

    fileprivate init(errno: Int32) {
      // SAFETY: strerror returns a NUL-terminated text that is copied at once. Another thread could
      // at worst garble the text of an unknown number.
      reason = strerror(errno).map { String(cString: $0) } ?? "error \(errno)"
    }

    fileprivate init(_ reason: String) { self.reason = reason }
  }

  /// Reads a file or pipe to its end, but at most `limit` + 1 bytes.
  ///
  /// - Parameter waits: whether a pipe may be read, for as long as its writers take. Otherwise only a
  ///   regular file is.
  package static func read(_ path: String, waits: Bool = true) throws(Failure) -> [UInt8] {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC | (waits ? 0 : O_NONBLOCK))
    guard descriptor >= 0 else { throw Failure(errno: errno) }
    defer { close(descriptor) }
    if !waits {
      var status = stat()
      guard fstat(descriptor, &status) == 0 else { throw Failure(errno: errno) }
      guard status.st_mode & S_IFMT == S_IFREG else { throw Failure("not a regular file") }
    }
    var bytes: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 65536)
    while bytes.count <= limit {
      let count = Self.read(descriptor, &buffer, min(buffer.count, limit + 1 - bytes.count))
      if count == 0 { return bytes }
      if count > 0 {
        bytes += buffer[..<count]
      } else if errno != EINTR {
        throw Failure(errno: errno)
      }
    }
    throw Failure("larger than \(limit) bytes")
  }

  /// `read(2)`, which the function above hides.
  private static func read(
    _ descriptor: Int32, _ buffer: UnsafeMutablePointer<UInt8>, _ count: Int
  ) -> Int {
    #if canImport(Glibc)
      Glibc.read(descriptor, buffer, count)
    #elseif canImport(Musl)
      Musl.read(descriptor, buffer, count)
    #endif
  }
}
