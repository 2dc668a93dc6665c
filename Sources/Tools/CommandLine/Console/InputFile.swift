import Atto
import AttoEventLoop
import AttoFormats
import Glibc

/// A file, a FIFO or standard input, read in pieces. Used on the loop's thread only.
///
/// Nothing waits but the caller: for the writer of a FIFO, which is explained on standard error, and
/// for its data.
package final class InputFile {
  package let name: String
  private let descriptor: Int32
  private let isOwned: Bool
  /// Regular files are always ready.
  private let isRegular: Bool
  private let loop: Loop
  private var isBegun = false
  /// The number of bytes that are read.
  private(set) var position = 0
  /// The number of bytes in a regular file, when it was opened; else nil.
  let length: Int?

  private static let pieceLength = 65536
  /// The longest profile or transcript, in bytes.
  private static let wholeLength = 4 << 20

  /// Standard input.
  package convenience init(on loop: Loop) {
    self.init(STDIN_FILENO, isOwned: false, name: "standard input", on: loop)
  }

  /// - Throws: `FileError` if the file cannot be opened.
  package convenience init(path: String, on loop: Loop) throws(FileError) {
    // Opening a FIFO must not block: ``next()`` waits for its writer.
    let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
    guard descriptor >= 0 else { throw .cannot("read", path, errno: errno) }
    self.init(descriptor, isOwned: true, name: path, on: loop)
  }

  private init(_ descriptor: Int32, isOwned: Bool, name: String, on loop: Loop) {
    self.descriptor = descriptor
    self.isOwned = isOwned
    self.name = name
    self.loop = loop
    var status = stat()
    isRegular = fstat(descriptor, &status) == 0 && status.st_mode & S_IFMT == S_IFREG
    length = isRegular ? Int(status.st_size) : nil
  }

  deinit { if isOwned { close(descriptor) } }

  /// The next piece; empty at the end.
  ///
  /// - Throws: `FileError` if it cannot be read, `cancelled` when the task is cancelled.
  package func next() async throws -> [UInt8] {
    while true {
      if !isRegular { try await readable() }
      var buffer = [UInt8](repeating: 0, count: Self.pieceLength)
      let count = read(descriptor, &buffer, buffer.count)
      if count >= 0 {
        isBegun = true
        position += count
        return Array(buffer[..<count])
      }
      if errno != EINTR, errno != EAGAIN { throw FileError.cannot("read", name, errno: errno) }
    }
  }

  /// The whole of a small file.
  ///
  /// - Parameter beginning: the pieces that were read before.
  /// - Throws: as ``next()``, and `FileError` if it is longer than 4 MiB.
  package func rest(after beginning: [UInt8] = []) async throws -> [UInt8] {
    var octets = beginning
    while octets.count <= Self.wholeLength {
      let piece = try await next()
      if piece.isEmpty { return octets }
      octets += piece
    }
    throw FileError(message: "cannot read \(name): larger than \(Self.wholeLength) bytes")
  }

  private func readable() async throws {
    let (stream, continuation) = AsyncStream<Void>.makeStream()
    let watch = try loop.watch(descriptor, trigger: .level, ReadyHandler { continuation.finish() })
    defer { loop.unwatch(watch) }
    let note =
      isBegun || !isOwned
      ? nil : WaitingNote("waiting for data from \(name): nobody writes to it yet", on: loop)
    defer { note?.end() }
    for await _ in stream {}
    if Task.isCancelled { throw AttoError.cancelled }
  }
}

private final class ReadyHandler: ReadinessHandler {
  private let body: () -> Void

  init(_ body: @escaping () -> Void) { self.body = body }

  func ready(_ readiness: Readiness) { body() }
}

extension Profile {
  /// Reads a profile.
  ///
  /// - Throws: `FileError`, `ProfileError`, or `cancelled` when the task is cancelled.
  package static func read(_ path: String, on loop: Loop) async throws -> Profile {
    try Profile(json: try await InputFile(path: path, on: loop).rest(), file: path)
  }
}

extension Arguments {
  /// The arguments with the hex of standard input in place of the operand `-`.
  ///
  /// - Throws: `UsageError` if there are several, or nothing is read: an empty value is written "".
  package func readingInput(on loop: Loop) async throws -> Arguments {
    switch operands.count(where: { $0 == "-" }) {
    case 0: return self
    case 1: break
    default: throw UsageError("only one argument can be -, standard input")
    }
    let text = String(decoding: try await InputFile(on: loop).rest(), as: UTF8.self)
    guard !text.allSatisfy(\.isWhitespace) else {
      throw UsageError("standard input is empty", hint: "the empty value is \"\"")
    }
    return replacingInput(with: text)
  }
}
