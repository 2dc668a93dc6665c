import Atto
import AttoEventLoop
import AttoRadio
import Glibc

/// Copies standard input to a channel, and the channel to standard output. Used on the loop's thread
/// only.
///
/// It reads standard input only while the channel accepts data. Writing to standard output blocks.
final class ChannelCopy: ReadinessHandler {
  private let channel: Channel
  private let closesAtEnd: Bool
  /// Called once, with the error unless an end closed the channel.
  private var completion: (((any Error)?) -> Void)?
  private var watch: WatchID?
  private var pending: [UInt8] = []
  private var isInputOver = false

  init(_ channel: Channel, closesAtEnd: Bool, _ completion: @escaping ((any Error)?) -> Void) {
    self.channel = channel
    self.closesAtEnd = closesAtEnd
    self.completion = completion
  }

  /// Starts to copy. The channel and the loop retain the copy until it ends.
  func start() {
    do {
      watch = try channel.loop.watch(STDIN_FILENO, trigger: .level, self)
    } catch {
      return finish(error)
    }
    channel.whenReady { _ in
      self.attempt {
        try self.send()
        try self.receive()
      }
    }
  }

  func cancel() { finish(CancellationError()) }

  func ready(_ readiness: Readiness) {
    attempt {
      if self.pending.isEmpty { self.read() }
      try self.send()
    }
  }

  private func attempt(_ body: () throws -> Void) {
    do { try body() } catch { finish(error) }
  }

  private func read() {
    var octets = [UInt8](repeating: 0, count: 16_384)
    let count = Glibc.read(STDIN_FILENO, &octets, octets.count)
    if count > 0 {
      pending = Array(octets[..<count])
    } else if count == 0 || (errno != EINTR && errno != EAGAIN) {
      isInputOver = true
      endReading()
    }
  }

  private func endReading() {
    if let watch { channel.loop.unwatch(watch) }
    watch = nil
  }

  private func send() throws {
    while !pending.isEmpty {
      let piece = pending
      let count = try channel.send(piece.span.bytes)
      guard count > 0 else { break }
      pending.removeFirst(count)
    }
    if let watch { channel.loop.setInterest(watch, pending.isEmpty ? .readable : []) }
    if isInputOver, pending.isEmpty, closesAtEnd { finish(nil) }
  }

  private func receive() throws {
    var octets = [UInt8](repeating: 0, count: 16_384)
    while completion != nil {
      let receipt = try octets.withUnsafeMutableBytes { bytes in
        var buffer = OutputRawSpan(buffer: bytes, initializedCount: 0)
        let receipt = try channel.receive(into: &buffer)
        _ = buffer.finalize(for: bytes)
        return receipt
      }
      switch receipt {
      case .wouldBlock: return
      case .closed: return finish(nil)
      case .octets(let count): try write(octets[..<count])
      }
    }
  }

  private func write(_ octets: ArraySlice<UInt8>) throws {
    var rest = octets
    while !rest.isEmpty {
      let count = rest.withUnsafeBytes { Glibc.write(STDOUT_FILENO, $0.baseAddress, $0.count) }
      if count > 0 {
        rest = rest.dropFirst(count)
      } else if errno != EINTR, errno != EAGAIN {
        throw CheckFailure(
          message: "cannot write to standard output: \(String(cString: strerror(errno)))")
      }
    }
  }

  private func finish(_ error: (any Error)?) {
    guard let completion else { return }
    self.completion = nil
    endReading()
    channel.whenReady(nil)
    completion(error)
  }
}
