import AttoEventLoop
import Glibc
import AttoLinks
import TestSupport
import Testing

@testable import AttoKernelRadio
@testable import AttoRadio

/// The limits of kernel adapters.
@Suite(.timeLimit(.minutes(5)), .oneByOne) struct KernelLimitTests {
  private static func found(_ number: Int) -> [UInt8] {
    number.octets(6) + [2, 0xCE] + UInt32(0).octets(4) + 0.octets(2)
  }

  @Test func devicesBeyondTheLimit() async throws {
    let (adapter, kernel) = try await FakeKernel.adapter()
    var scan = adapter.scan().makeAsyncIterator()
    await kernel.wait(for: .startDiscovery)
    var first: BluetoothAddress?
    for number in 0..<KernelDiscovery.deviceLimit {
      await kernel.tell(0x0012, Self.found(0xC0_00_00_00_00_00 + number))
      guard case .found(let discovery)? = try await scan.next() else {
        Issue.record("device \(number) was not found")
        return
      }
      first = first ?? discovery.address
    }
    await kernel.tell(0x0012, Self.found(0xC1_00_00_00_00_00))
    #expect(try await scan.next() == .gone(try #require(first)))
    guard case .found? = try await scan.next() else {
      Issue.record("the last was not found")
      return
    }
    await adapter.close()
  }

  @Test func commandsBeyondTheLimit() async throws {
    let loop = Loop.shared
    let ends = try FakeKernel.pair()
    let failures = try await OnLoop(loop).run {
      let channel = try ManagementChannel(ends.0, on: loop) { _, _ in }
      var failures: [RadioError?] = []
      // Each to another adapter, so that all are sent at once.
      for index in 0...UInt16(ManagementChannel.commandLimit) {
        channel.send(.setPowered, index, [1]) { reply in
          if case .failure(let error) = reply { failures.append(error) }
        }
      }
      let early = failures
      channel.close()
      #expect(failures.count == ManagementChannel.commandLimit + 1)
      return early
    }
    #expect(
      failures == [
        .management(.setPowered, .busy, adapter: UInt16(ManagementChannel.commandLimit))
      ])
    _ = Glibc.close(ends.1)
  }

  @Test func changesBeyondTheLimit() async throws {
    let loop = Loop.shared
    let ends = try FakeKernel.pair()
    let kernel = FakeKernel(ends.1, loop: loop)
    try await kernel.begin([.powered, .le])
    await kernel.answer(.readIndexList, .octets([0, 0]))
    let adapters = KernelAdapters(loop: loop)
    try await adapters.use(socket: ends.0)
    var changes = try await adapters.changes().makeAsyncIterator()
    let count = KernelAdapters.changeLimit + 44
    for number in 0..<count {
      await kernel.tell(0x0005, [], about: UInt16(number))
      // Its answer arrives after the events before it.
      if number % 50 == 49 || number == count - 1 { _ = try await adapters.list() }
    }
    for number in 44..<count { #expect(await changes.next() == .removed(UInt16(number))) }
    await kernel.vanish()
  }
}

extension KernelAdapters {
  fileprivate func use(socket: Int32) throws(RadioError) { try open(socket: socket) }
}

/// Runs a function on a loop.
private actor OnLoop {
  nonisolated let loop: Loop
  nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }
  init(_ loop: Loop) { self.loop = loop }
  func run<Result: Sendable>(_ body: @Sendable () throws -> Result) rethrows -> Result {
    try body()
  }
}
