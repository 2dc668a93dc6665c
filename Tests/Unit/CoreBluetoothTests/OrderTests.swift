import Foundation
import TestSupport
import Testing

@testable import AttoCoreBluetooth

/// The calls on one peripheral reach the peer in their order, writes without response too.
@Suite(.oneByOne) struct OrderTests {
  /// The opcodes of the writes that a peer has received.
  private func writes(_ peer: ScriptedPeer) -> [UInt8] {
    peer.state.value.requests.map { $0[0] }.filter { [0x12, 0x16, 0x18, 0x52].contains($0) }
  }

  private func ready(_ name: String) async throws -> (ScriptedPeer, Watch) {
    let peer = try await ScriptedPeer(name)
    let watch = Watch(Sandbox.radio(), for: name)
    try await watch.getReady()
    peer.begin(ScriptedPeer.Plan())
    return (peer, watch)
  }

  @Test func commandsFollowEarlierWrites() async throws {
    let (peer, watch) = try await ready("Ordered")
    let (rate, point) = try (watch.characteristic("2A37"), watch.characteristic("FF01"))
    let peripheral = try watch.peripheral
    peripheral.writeValue(Data([1]), for: point, type: .withResponse)
    peripheral.writeValue(Data([2]), for: point, type: .withResponse)
    peripheral.setNotifyValue(true, for: rate)
    peripheral.writeValue(Data([3]), for: point, type: .withoutResponse)
    // Longer than ATT_MTU 23 allows: three parts, and their execution.
    peripheral.writeValue(Data(count: 40), for: point, type: .withResponse)
    peripheral.writeValue(Data([4]), for: point, type: .withoutResponse)
    peripheral.writeValue(Data([5]), for: point, type: .withResponse)
    for _ in 0..<4 { try await watch.log.next("written FF01 well") }
    #expect(
      writes(peer) == [0x12, 0x12, 0x12, 0x52, 0x16, 0x16, 0x16, 0x18, 0x52, 0x12])
    peer.end()
  }

  /// As libraries do that talk to a device over two characteristics: if the write overtakes the
  /// subscription, the first answer is lost.
  @Test func theFirstAnswerIsNotLost() async throws {
    let (peer, watch) = try await ready("Answering")
    for round in 0..<20 {
      peer.begin(ScriptedPeer.Plan())
      try watch.peripheral.setNotifyValue(true, for: watch.characteristic("2A37"))
      try watch.peripheral.writeValue(
        Data([1]), for: watch.characteristic("FF01"), type: .withoutResponse)
      try watch.peripheral.setNotifyValue(false, for: watch.characteristic("2A37"))
      try await watch.log.next("notifying 2A37 true")
      try await watch.log.next("notifying 2A37 false")
      #expect(writes(peer) == [0x12, 0x52, 0x12], "round \(round)")
    }
    peer.end()
  }

  private func pair() async throws -> (Strap, Watch) {
    let radio = Sandbox.radio()
    let name = "Ordered \(Sandbox.number(of: radio))"
    let strap = Strap(radio, name: name)
    let watch = Watch(Sandbox.radio(), for: name)
    try await watch.getReady()
    return (strap, watch)
  }

  /// A request that has gone out and is not answered yet holds nothing back: the peer may wait for the
  /// command before it answers.
  @Test func commandsDoNotWaitForResponses() async throws {
    let (strap, watch) = try await pair()
    let silent = try watch.characteristic("FF05")
    for call in 0..<2 {
      if call == 0 {
        try watch.peripheral.readValue(for: silent)
      } else {
        try watch.peripheral.writeValue(Data([7]), for: silent, type: .withResponse)
      }
      try watch.peripheral.writeValue(
        Data([1, 2]), for: watch.characteristic("FF03"), type: .withoutResponse)
      try await strap.log.next("inbox 2")
      let request = try #require(strap.kept.withLock { $0.popLast() })
      strap.manager.respond(to: request, withResult: .success)
      try await watch.log.next(call == 0 ? "value FF05" : "written FF05")
    }
  }

  /// Commands that wait behind a request count as queued, and are reported when they have gone out.
  @Test func waitingCommandsFillTheQueue() async throws {
    let (strap, watch) = try await pair()
    let (silent, inbox) = try (watch.characteristic("FF05"), watch.characteristic("FF03"))
    let peripheral = try watch.peripheral
    peripheral.writeValue(Data([1]), for: silent, type: .withResponse)
    try peripheral.writeValue(Data([2]), for: watch.characteristic("2A39"), type: .withResponse)
    for _ in 0..<CBPeripheral.commandLimit {
      #expect(peripheral.canSendWriteWithoutResponse)
      peripheral.writeValue(Data([3]), for: inbox, type: .withoutResponse)
    }
    #expect(!peripheral.canSendWriteWithoutResponse)
    try await strap.log.next("write FF05")
    #expect(!watch.log.all.contains("room"))
    let request = try #require(strap.kept.withLock { $0.popLast() })
    strap.manager.respond(to: request, withResult: .success)
    try await watch.log.next("room")
    #expect(peripheral.canSendWriteWithoutResponse)
    for _ in 0..<CBPeripheral.commandLimit { try await strap.log.next("inbox 1") }
    let order = strap.log.all.filter { $0.hasPrefix("write") || $0.hasPrefix("inbox") }
    #expect(order.prefix(3) == ["write FF05 in 1", "write 2A39 in 1", "inbox 1"])
  }

  /// A cancelled call does not hold back the commands behind it.
  @Test func cancelledCallsHoldNothingBack() async throws {
    let (strap, watch) = try await pair()
    let silent = try watch.characteristic("FF05")
    let held = try UncheckedBox((watch.peripheral, silent))
    let first = Task { try await held.content.0.read(held.content.1) }
    try await strap.log.next("read FF05")
    let second = Task { try await held.content.0.read(held.content.1) }
    while try watch.peripheral.shown.value.calls.count < 2 { await Task.yield() }
    try watch.peripheral.writeValue(
      Data([1, 2, 3]), for: watch.characteristic("FF03"), type: .withoutResponse)
    second.cancel()
    first.cancel()
    try await strap.log.next("inbox 3")
    strap.kept.value = []
  }
}
