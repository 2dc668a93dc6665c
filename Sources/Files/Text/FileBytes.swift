#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

/// The bytes of a small file, read whole. Foundation would do this too, but nothing else in
/// this target needs it, and a static binary grows by megabytes.
enum FileBytes {
  /// The longest file that is read: 4 MiB.
  static let limit = 4 << 20

  /// Why a file could not be read.
  enum Failure: Error, Equatable {
    /// The kernel said no: `open` or `read` with this errno.
    case system(errno: Int32)
    /// The file goes on after `limit` bytes.
    case tooLarge

    /// What was found instead of a readable file, as a clause.
    var found: String {
      switch self {
      case .system(let code):
        // SAFETY: strerror returns a NUL-terminated text that is copied at once; another
        // thread could at worst garble the text of an unknown number.
        strerror(code).map { String(cString: $0) } ?? "error \(code)"
      case .tooLarge: "more than \(FileBytes.limit) bytes"
      }
    }
  }

  /// Reads a file to its end. Works for pipes too; never reads more than `limit` + 1 bytes.
  static func read(_ path: String) throws(Failure) -> [UInt8] {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { throw .system(errno: errno) }
    defer { close(descriptor) }
    var bytes: [UInt8] = []
    while bytes.count <= limit {
      let wanted = min(65536, limit + 1 - bytes.count)
      var code: Int32 = 0
      // SAFETY: read fills at most `wanted` bytes of the buffer, which has that capacity, and
      // only as many as it reports are marked initialised.
      let part = [UInt8](unsafeUninitializedCapacity: wanted) { buffer, count in
        var got = -1
        repeat {
          got = Self.read(descriptor, buffer.baseAddress, wanted)
        } while got < 0
          && errno == EINTR
        code = got < 0 ? errno : 0
        count = max(got, 0)
      }
      guard code == 0 else { throw .system(errno: code) }
      if part.isEmpty { return bytes }
      bytes += part
    }
    throw .tooLarge
  }

  /// `read(2)`, whose name the function above hides.
  private static func read(
    _ descriptor: Int32, _ buffer: UnsafeMutablePointer<UInt8>?, _ count: Int
  ) -> Int {
    #if canImport(Glibc)
      Glibc.read(descriptor, buffer, count)
    #elseif canImport(Musl)
      Musl.read(descriptor, buffer, count)
    #endif
  }
}
