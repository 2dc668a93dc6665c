import AttoEventLoop
import AttoLinks

@testable import AttoRadio

/// A channel, driven on its loop.
actor Stream {
  nonisolated let loop: Loop
  nonisolated let channel: Channel
  nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }
  private var waiters: [CheckedContinuation<Void, Never>] = []
  private var changes = 0
  private var isPrepared = false

  init(_ channel: Channel) {
    self.channel = channel
    loop = channel.loop
  }

  private func prepare() {
    guard !isPrepared else { return }
    isPrepared = true
    channel.whenReady { [weak self] _ in self?.assumeIsolated { $0.wake() } }
  }

  private func wake() {
    changes += 1
    let waiters = waiters
    self.waiters = []
    for waiter in waiters { waiter.resume() }
  }

  private func change(since seen: Int) async {
    await withCheckedContinuation {
      if changes == seen { waiters.append($0) } else { $0.resume() }
    }
  }

  /// Sends what the channel accepts now.
  func sendNow(_ octets: [UInt8]) throws -> Int { try channel.send(octets.span.bytes) }

  /// Sends all octets.
  func send(_ octets: [UInt8]) async throws {
    prepare()
    var sent = 0
    while sent < octets.count {
      let seen = changes
      let count = try channel.send(octets.span.bytes.extracting(droppingFirst: sent))
      sent += count
      if count == 0 { await change(since: seen) }
    }
  }

  /// Receives 1 to `limit` octets; nil at the end.
  func receive(atMost limit: Int = 4096) async throws -> [UInt8]? {
    prepare()
    while true {
      let seen = changes
      var storage = [UInt8](repeating: 0, count: limit)
      let receipt = try storage.withUnsafeMutableBytes { room -> ChannelReceipt in
        var buffer = OutputRawSpan(buffer: room, initializedCount: 0)
        let receipt = try channel.receive(into: &buffer)
        _ = buffer.finalize(for: room)
        return receipt
      }
      switch receipt {
      case .octets(let count): return Array(storage[..<count])
      case .closed: return nil
      case .wouldBlock: await change(since: seen)
      }
    }
  }

  /// Receives until there are this many octets, or until the end.
  func receive(all count: Int) async throws -> [UInt8] {
    var octets: [UInt8] = []
    while octets.count < count, let more = try await receive(atMost: count - octets.count) {
      octets += more
    }
    return octets
  }

  func close() { channel.close() }
}
