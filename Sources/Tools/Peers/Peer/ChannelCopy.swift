import Atto
import AttoCommandLine
import AttoEventLoop
import AttoRadio
import Glibc

/// Copies standard input to a channel, and the channel to standard output. Used on the loop's thread
/// only.
///
/// Each direction waits for its slower end: it reads standard input only while the channel accepts data,
/// and receives only while standard output has room, so that the peer's credits run out.
package final class ChannelCopy: ReadinessHandler {
  private let channel: Channel
  private let closesAtEnd: Bool
  /// Called once, with the error unless an end closed the channel.
  private var completion: (((any Error)?) -> Void)?
  /// The watch of standard input; nil while the channel does not accept data. A regular file is always
  /// ready, so that a watch would be busy then.
  private var watch: WatchID?
  private var pending: [UInt8] = []
  private var isInputOver = false
  private var isOutputFull = false
  private let progress = ProgressLine(isShown: ProgressLine.isShownBesideCopies)
  /// Octets so far.
  private var (sent, received) = (0, 0)

  package init(
    _ channel: Channel, closesAtEnd: Bool, _ completion: @escaping ((any Error)?) -> Void
  ) {
    self.channel = channel
    self.closesAtEnd = closesAtEnd
    self.completion = completion
  }

  /// Starts to copy. The channel and the loop retain the copy until it ends.
  package func start() {
    channel.whenReady { _ in
      self.attempt {
        try self.send()
        try self.receive()
      }
    }
  }

  package func cancel() { finish(CancellationError()) }

  package func ready(_ readiness: Readiness) {
    attempt {
      self.read()
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
    }
  }

  private func send() throws {
    while !pending.isEmpty {
      let piece = pending
      let count = try channel.send(piece.span.bytes)
      guard count > 0 else { break }
      pending.removeFirst(count)
      sent += count
      showProgress()
    }
    guard completion != nil else { return }
    if pending.isEmpty, !isInputOver {
      if watch == nil { watch = try channel.loop.watch(STDIN_FILENO, trigger: .level, self) }
    } else {
      endReading()
    }
    if isInputOver, pending.isEmpty, closesAtEnd { finish(nil) }
  }

  private func endReading() {
    if let watch { channel.loop.unwatch(watch) }
    watch = nil
  }

  private func receive() throws {
    var octets = [UInt8](repeating: 0, count: 16_384)
    while completion != nil, !isOutputFull {
      let receipt = try octets.withUnsafeMutableBytes { bytes in
        var buffer = OutputRawSpan(buffer: bytes, initializedCount: 0)
        let receipt = try channel.receive(into: &buffer)
        _ = buffer.finalize(for: bytes)
        return receipt
      }
      switch receipt {
      case .wouldBlock: return
      case .closed: return finish(nil)
      case .octets(let count):
        Terminal.write(Array(octets[..<count]))
        received += count
        showProgress()
      }
      if Terminal.isFull { waitForRoom() }
    }
  }

  private func showProgress() {
    progress.show("sent \(Shown.megabytes(sent)), received \(Shown.megabytes(received))")
  }

  private func waitForRoom() {
    isOutputFull = true
    let copy = LoopBound(self, channel.loop)
    Terminal.whenRoom {
      copy.loop.execute {
        copy.value.isOutputFull = false
        copy.value.attempt { try copy.value.receive() }
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
