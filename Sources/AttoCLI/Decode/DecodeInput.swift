import Atto
import Glibc

/// A file or standard input, piece by piece; waiting for more ends at Ctrl-C.
///
/// The command's task stands on the loop's thread, and nothing else is under way: so it may wait
/// here, as long as it waits for the interruption too.
struct DecodeInput: ~Copyable {
  private let descriptor: Int32
  private let isOwned: Bool
  let name: String

  /// Octets that are read at a time.
  static let pieceLength = 65536

  /// Standard input.
  init() {
    (descriptor, isOwned, name) = (STDIN_FILENO, false, "standard input")
  }

  /// - Throws: `CaptureError` if the file cannot be opened.
  init(path: String) throws {
    // A FIFO without a writer is waited for in ``read()``, where an interruption is seen.
    let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
    guard descriptor >= 0 else { throw Self.fault(path, errno) }
    (self.descriptor, isOwned, name) = (descriptor, true, path)
  }

  deinit { if isOwned { close(descriptor) } }

  /// What comes next; empty at the end.
  ///
  /// - Throws: `CaptureError` if it cannot be read, `cancelled` at Ctrl-C.
  func read() throws -> [UInt8] {
    while true {
      var waits = [
        pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0),
        pollfd(
          fd: Terminal.interruption.load(ordering: .relaxed), events: Int16(POLLIN), revents: 0),
      ]
      guard poll(&waits, 2, -1) >= 0 else { continue }
      if waits[1].revents != 0 || Terminal.isInterrupted.load(ordering: .relaxed) {
        throw AttoError.cancelled
      }
      var buffer = [UInt8](repeating: 0, count: Self.pieceLength)
      let count = Glibc.read(descriptor, &buffer, buffer.count)
      if count >= 0 { return Array(buffer[..<count]) }
      if errno != EINTR, errno != EAGAIN { throw Self.fault(name, errno) }
    }
  }

  /// What the input begins with: so many octets, or less of one that is shorter or holds lines, which
  /// are decoded as they come.
  func beginning(_ length: Int) throws -> [UInt8] {
    var octets: [UInt8] = []
    while octets.count < length, !Self.isLine(octets) {
      let more = try read()
      if more.isEmpty { break }
      octets += more
    }
    return octets
  }

  /// Whether this can be nothing but text: what begins as btsnoop does may be that, and pcapng begins
  /// with the end of a line.
  private static func isLine(_ octets: [UInt8]) -> Bool {
    guard let first = octets.first, first != 0x0A else { return false }
    return octets.allSatisfy { (0x20...0x7E).contains($0) || (0x09...0x0D).contains($0) }
      && !Array("btsnoop".utf8).starts(with: octets)
      && !octets.starts(with: Array("btsnoop".utf8))
  }

  private static func fault(_ path: String, _ number: Int32) -> CaptureError {
    CaptureError(message: "cannot read \(path): \(String(cString: strerror(number)))")
  }
}
