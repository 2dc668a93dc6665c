import Atto
import AttoEventLoop
import AttoLinks
import AttoRadio

/// A channel of the L2CAP service. Runs on the loop.
actor BTPChannel {
  private let channel: Channel
  nonisolated var unownedExecutor: UnownedSerialExecutor {
    channel.loop.asUnownedSerialExecutor()
  }
  private let changes: BTPChanges
  private var isSending = false
  private var isClosed = false

  /// On the loop's thread.
  init(_ channel: Channel) {
    self.channel = channel
    changes = BTPChanges(on: channel.loop)
    channel.whenReady { [weak self] _ in self?.assumeIsolated { $0.changed() } }
  }

  private func changed() { changes.changed() }

  /// Sends all octets, after those of earlier calls. Waits for the peer's credits.
  ///
  /// - Throws: `LinkError` or `closed` if the channel ends before.
  func send(_ octets: [UInt8]) async throws {
    while isSending { try await changes.next(after: changes.count) }
    isSending = true
    defer {
      isSending = false
      changed()
    }
    var rest = octets[...]
    while !rest.isEmpty {
      if isClosed { throw AttoError.closed }
      let number = changes.count
      let count = try channel.send(Array(rest).span.bytes)
      rest = rest.dropFirst(count)
      if count == 0 { try await changes.next(after: number) }
    }
  }

  /// Waits for octets; nil at the end of the channel, which is closed then.
  func receive() async -> [UInt8]? {
    var octets = [UInt8](repeating: 0, count: 16_384)
    while !isClosed {
      let number = changes.count
      let receipt = octets.withUnsafeMutableBytes { bytes in
        var buffer = OutputRawSpan(buffer: bytes, initializedCount: 0)
        let receipt = (try? channel.receive(into: &buffer)) ?? .closed
        _ = buffer.finalize(for: bytes)
        return receipt
      }
      switch receipt {
      case .octets(let count): return Array(octets[..<count])
      case .wouldBlock:
        guard (try? await changes.next(after: number)) != nil else { return end() }
      case .closed: return end()
      }
    }
    return nil
  }

  private func end() -> [UInt8]? {
    isClosed = true
    channel.close()
    changed()
    return nil
  }

  nonisolated func close() {
    channel.loop.execute { self.assumeIsolated { _ = $0.end() } }
  }
}
