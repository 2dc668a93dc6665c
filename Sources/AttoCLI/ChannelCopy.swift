import Atto
import Glibc

/// Copies between standard input and output and a channel. The loop's thread only.
///
/// No more is read from standard input than the channel takes; standard output is waited for.
final class ChannelCopy: ReadinessHandler {
  private let channel: Channel
  private let closesAtEnd: Bool
  private var completion: ((Result<Void, any Error>) -> Void)?
  private var watch: WatchID?
  private var pending: [UInt8] = []
  private var isInputOver = false

  init(
    _ channel: Channel, closesAtEnd: Bool,
    _ completion: @escaping (Result<Void, any Error>) -> Void
  ) {
    self.channel = channel
    self.closesAtEnd = closesAtEnd
    self.completion = completion
  }

  /// The channel and the loop hold it until it is over.
  func start() {
    do {
      watch = try channel.loop.watch(STDIN_FILENO, trigger: .level, self)
    } catch {
      return finish(.failure(error))
    }
    channel.whenReady { _ in
      self.attempt {
        try self.send()
        try self.receive()
      }
    }
  }

  /// Ends it; the channel is the caller's to close.
  func cancel() { finish(.failure(CancellationError())) }

  func ready(_ readiness: Readiness) {
    attempt {
      if self.pending.isEmpty { self.read() }
      try self.send()
    }
  }

  private func attempt(_ body: () throws -> Void) {
    do { try body() } catch { finish(.failure(error)) }
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
    if let watch {
      channel.loop.setInterest(watch, pending.isEmpty ? .readable : [])
    }
    if isInputOver, pending.isEmpty, closesAtEnd { finish(.success(())) }
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
      case .closed: return finish(.success(()))
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
        throw CheckFailure(message: "standard output: \(String(cString: strerror(errno)))")
      }
    }
  }

  private func finish(_ result: Result<Void, any Error>) {
    guard let completion else { return }
    self.completion = nil
    endReading()
    channel.whenReady(nil)
    completion(result)
  }
}
