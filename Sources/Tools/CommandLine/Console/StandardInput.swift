import Atto
import AttoEventLoop
import AttoText
import Glibc

/// The lines of standard input, read on the loop.
///
/// Lines are queued. When ``LineReader/backlog`` of them are, reading pauses, so that the writer
/// blocks.
package final class StandardInput: Sendable {
  /// A line, or the reason why it was dropped.
  package typealias Line = Result<String, UsageError>

  private let stream: AsyncStream<Line>
  private let reader: LoopBound<LineReader>

  package init(on loop: Loop) {
    let (stream, continuation) = AsyncStream<Line>.makeStream()
    self.stream = stream
    let reader = LoopBound(LineReader(continuation, loop), loop)
    self.reader = reader
    loop.inline { reader.value.start() }
  }

  /// The next line; nil at the end of the input.
  package func next() async throws(AttoError) -> Line? {
    for await line in stream {
      let reader = reader
      reader.loop.inline { reader.value.taken() }
      return line
    }
    if Task.isCancelled { throw .cancelled }
    return nil
  }
}

/// Splits standard input into lines. Used on the loop's thread only.
private final class LineReader: ReadinessHandler {
  private let continuation: AsyncStream<StandardInput.Line>.Continuation
  private let loop: Loop
  private var watch: WatchID?
  private var line: [UInt8] = []
  private var isTooLong = false
  private var waiting = 0
  private var isEnded = false

  /// Bytes in a line. A longer one is dropped as a whole.
  static let limit = 65536
  /// Lines that may be queued before reading pauses.
  static let backlog = 256

  init(_ continuation: AsyncStream<StandardInput.Line>.Continuation, _ loop: Loop) {
    self.continuation = continuation
    self.loop = loop
  }

  func start() {
    guard watch == nil, !isEnded else { return }
    do throws(LoopError) {
      watch = try loop.watch(STDIN_FILENO, trigger: .level, self)
    } catch {
      end()
    }
  }

  private func pause() {
    if let watch { loop.unwatch(watch) }
    watch = nil
  }

  func taken() {
    waiting -= 1
    if waiting < Self.backlog { start() }
  }

  func ready(_ readiness: Readiness) {
    var buffer = [UInt8](repeating: 0, count: 4096)
    let count = read(STDIN_FILENO, &buffer, buffer.count)
    guard count != 0 else { return end() }
    guard count > 0 else {
      if errno != EAGAIN, errno != EINTR { end() }
      return
    }
    for octet in buffer[..<count] {
      if octet == UInt8(ascii: "\n") {
        give()
      } else if line.count < Self.limit {
        line.append(octet)
      } else {
        isTooLong = true
      }
    }
    if waiting >= Self.backlog { pause() }
  }

  private func give() {
    waiting += 1
    continuation.yield(
      isTooLong
        ? .failure(UsageError("dropped a line of more than \(Self.limit) bytes")) : Self.text(line))
    line.removeAll(keepingCapacity: true)
    isTooLong = false
  }

  private static func text(_ line: [UInt8]) -> StandardInput.Line {
    do throws(TextMistake) {
      try TextMistake.check(line)
      return .success(String(decoding: line, as: UTF8.self))
    } catch {
      return .failure(
        UsageError(
          "dropped a line: expected \(error.expected) at byte \(error.offset), "
            + "found \(error.found)"))
    }
  }

  private func end() {
    isEnded = true
    pause()
    if !line.isEmpty { give() }
    continuation.finish()
  }
}
