import Atto
import Glibc

/// A file or standard input, read in pieces.
///
/// Reading blocks the loop's thread, since the command does nothing else. It also waits for the
/// interruption.
struct DecodeInput: ~Copyable {
  private let descriptor: Int32
  private let isOwned: Bool
  let name: String

  static let pieceLength = 65536

  init() {
    (descriptor, isOwned, name) = (STDIN_FILENO, false, "standard input")
  }

  /// - Throws: `FileError` if the file cannot be opened.
  init(path: String) throws {
    // Opening a FIFO must not block: ``read()`` waits for its writer, and for the interruption.
    let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
    guard descriptor >= 0 else { throw FileError.cannot("read", path, errno: errno) }
    (self.descriptor, isOwned, name) = (descriptor, true, path)
  }

  deinit { if isOwned { close(descriptor) } }

  /// The next piece; empty at the end.
  ///
  /// - Throws: `FileError` if it cannot be read, `cancelled` at Ctrl-C.
  func read() throws -> [UInt8] {
    while true {
      // The interruption is not readable any more once it was noticed.
      if Terminal.isInterrupted.load(ordering: .relaxed) { throw AttoError.cancelled }
      var waits = [
        pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0),
        pollfd(
          fd: Terminal.interruption.load(ordering: .relaxed), events: Int16(POLLIN), revents: 0),
      ]
      guard poll(&waits, 2, -1) >= 0 else { continue }
      if waits[1].revents != 0 { throw AttoError.cancelled }
      var buffer = [UInt8](repeating: 0, count: Self.pieceLength)
      let count = Glibc.read(descriptor, &buffer, buffer.count)
      if count >= 0 { return Array(buffer[..<count]) }
      if errno != EINTR, errno != EAGAIN { throw FileError.cannot("read", name, errno: errno) }
    }
  }

  /// The first bytes: this many, or fewer if the input is shorter or text, whose lines are decoded as
  /// they arrive.
  func beginning(_ length: Int) throws -> [UInt8] {
    var octets: [UInt8] = []
    while octets.count < length, !Self.isLine(octets) {
      let more = try read()
      if more.isEmpty { break }
      octets += more
    }
    return octets
  }

  /// Whether this can only be text: not the beginning of btsnoop, nor of pcapng, which begins with a
  /// line feed.
  private static func isLine(_ octets: [UInt8]) -> Bool {
    guard let first = octets.first, first != 0x0A else { return false }
    return octets.allSatisfy { (0x20...0x7E).contains($0) || (0x09...0x0D).contains($0) }
      && !Array("btsnoop".utf8).starts(with: octets)
      && !octets.starts(with: Array("btsnoop".utf8))
  }
}
