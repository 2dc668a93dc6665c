import Glibc
import Synchronization
import TestSupport
import Testing

@testable import AttoCommandLine

@Suite(.oneByOne) struct OutputQueueTests {
  /// A pipe that a queue writes to.
  private final class Target: Sendable {
    let reader: Int32
    let queue: OutputQueue
    private let writer: Int32
    private let dropped = AsyncStream<Int>.makeStream()
    private let failures = AsyncStream<Int32>.makeStream()

    init() throws {
      var ends: [Int32] = [0, 0]
      try #require(pipe(&ends) == 0)
      let (writer, dropped, failures) = (ends[1], dropped.continuation, failures.continuation)
      reader = ends[0]
      self.writer = writer
      queue = OutputQueue(
        open: { writer }, onDropped: { dropped.yield($0) }, onFailure: { failures.yield($0) })
    }

    deinit { close(writer) }

    var firstDropped: Int? {
      get async { await dropped.stream.first { _ in true } }
    }

    var firstFailure: Int32? {
      get async { await failures.stream.first { _ in true } }
    }

    /// Waits until at most this many bytes are pending: what has been read may still be so for a moment.
    func isBelow(_ bytes: Int) async {
      let (below, continuation) = AsyncStream<Void>.makeStream()
      queue.whenBelow(bytes) { continuation.finish() }
      for await _ in below {}
    }

    func read(_ length: Int) -> [UInt8] {
      var octets: [UInt8] = []
      var buffer = [UInt8](repeating: 0, count: 65536)
      while octets.count < length {
        let count = Glibc.read(reader, &buffer, min(buffer.count, length - octets.count))
        guard count > 0 else { break }
        octets += buffer[..<count]
      }
      return octets
    }
  }

  /// A line of a length that does not divide a pipe's pages, with its number.
  private func line(_ number: Int) -> [UInt8] {
    let digits = Array(String(number).utf8)
    return [UInt8](repeating: 0x2E, count: 900 + number % 100 - digits.count) + digits + [0x0A]
  }

  @Test func dropsWholePiecesAndCountsThem() async throws {
    let target = try Target()
    var (taken, dropped) = ([UInt8](), 0)
    for number in 0..<3000 {
      if target.queue.append(line(number), mayDrop: true) {
        taken += line(number)
      } else {
        dropped += 1
      }
    }
    // The queue is full, and perhaps the pipe. Each piece counts for a little more than its length.
    #expect((OutputQueue.capacity * 9 / 10..<OutputQueue.capacity * 3 / 2).contains(taken.count))
    #expect(target.queue.bytes <= OutputQueue.capacity + 1100)
    #expect(target.read(taken.count) == taken)
    #expect(await target.firstDropped == dropped)
    // There is room again.
    #expect(target.queue.append(line(1), mayDrop: true))
    #expect(target.read(line(1).count) == line(1))
    await target.isBelow(0)
    #expect(!target.queue.giveUp())
  }

  @Test func keepsWhatMayNotBeDropped() async throws {
    let target = try Target()
    let lines = (0..<5000).map { line($0) }
    for line in lines { #expect(target.queue.append(line, mayDrop: false)) }
    let (room, written) = (AsyncStream<Void>.makeStream(), AsyncStream<Void>.makeStream())
    target.queue.whenBelow(OutputQueue.capacity) { room.continuation.finish() }
    target.queue.whenBelow(0) { written.continuation.finish() }
    let all = lines.reduce(0) { $0 + $1.count }
    #expect(target.read(all) == Array(lines.joined()))
    for await _ in room.stream {}
    for await _ in written.stream {}
    #expect(target.queue.bytes == 0)
  }

  @Test func reportsAFailureOnceAndDiscardsTheRest() async throws {
    signal(SIGPIPE, SIG_IGN)
    let target = try Target()
    close(target.reader)
    target.queue.append([1], mayDrop: false)
    #expect(await target.firstFailure == EPIPE)
    #expect(target.queue.failure == EPIPE)
    #expect(target.queue.append([2], mayDrop: true))
    await target.isBelow(0)
    #expect(!target.queue.giveUp())
  }

  @Test func reportsAFailureWhileItsBytesArePending() async throws {
    // The command ends when nothing is pending: a later report would come too late.
    let queue = Mutex<OutputQueue?>(nil)
    let pending = AsyncStream<Int>.makeStream()
    queue.withLock {
      $0 = OutputQueue(
        open: { -ENOSPC }, onDropped: { _ in },
        onFailure: { _ in pending.continuation.yield(queue.withLock { $0?.bytes } ?? 0) })
    }
    queue.withLock { $0 }?.append([1], mayDrop: false)
    #expect(try #require(await pending.stream.first { _ in true }) > 0)
  }

  @Test func reportsTheRestAtTheEnd() async throws {
    let target = try Target()
    // More than a pipe takes.
    for number in 0..<200 { target.queue.append(line(number), mayDrop: true) }
    #expect(target.queue.giveUp())
    let lost = try #require(await target.firstDropped)
    #expect((100...200).contains(lost))
  }
}
