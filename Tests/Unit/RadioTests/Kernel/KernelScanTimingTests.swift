import AttoEventLoop
import TestSupport
import Testing

@testable import AttoKernelRadio
@testable import AttoRadio

/// When a scripted kernel is told to listen.
@Suite(.timeLimit(.minutes(5)), .oneByOne) struct KernelScanTimingTests {
  /// 30 of 60 ms in passive scans, as Linux has it, and a supervision timeout that is not ours.
  private static let defaults = AdapterDefaults(
    activeScans: ScanTiming(interval: 0x12, window: 0x12),
    passiveScans: ScanTiming(interval: 0x60, window: 0x30))
  private static let whole = ScanTiming(interval: 0x60, window: 0x60)

  private static func adapter() async throws -> (Adapter, FakeKernel) {
    let (adapter, kernel) = try await FakeKernel.adapter()
    await kernel.answer(
      .readDefaultConfiguration, .octets([0x1A, 0, 2, 0x2A, 0] + defaults.scanOctets))
    await kernel.answer(.readMonitorFeatures, .octets([UInt8](repeating: 0, count: 13)))
    await kernel.answer(.addPatternsMonitor, .octets([3, 0]))
    return (adapter, kernel)
  }

  private static func options(_ timing: ScanTiming?, isActive: Bool = true) -> ScanOptions {
    var options = ScanOptions()
    (options.timing, options.isActive) = (timing, isActive)
    return options
  }

  /// The commands about scans, and each timing.
  private static func told(_ kernel: FakeKernel) async -> [String] {
    await kernel.received.compactMap { frame in
      switch frame.code {
      case ManagementOpcode.setDefaultConfiguration.code:
        let told = AdapterDefaults(frame.parameters)
        return "\(told.activeScans?.description ?? "") \(told.passiveScans?.description ?? "")"
      case ManagementOpcode.startDiscovery.code: return "start"
      case ManagementOpcode.addPatternsMonitor.code: return "add"
      default: return nil
      }
    }
  }

  @Test(arguments: [true, false])
  func itIsSetBeforeTheScanAndGivenBack(_ isActive: Bool) async throws {
    let (adapter, kernel) = try await Self.adapter()
    let scan = adapter.scan(Self.options(Self.whole, isActive: isActive))
    await kernel.wait(for: isActive ? .startDiscovery : .addPatternsMonitor)
    withExtendedLifetime(scan) {}
    await adapter.close()
    await kernel.wait(for: .setDefaultConfiguration, times: 2)
    #expect(
      await Self.told(kernel) == [
        "60 of each 60 ms 60 of each 60 ms", isActive ? "start" : "add",
        "11.25 of each 11.25 ms 30 of each 60 ms",
      ])
  }

  @Test func scansWithoutATimingLeaveTheKernels() async throws {
    let (adapter, kernel) = try await Self.adapter()
    let scan = adapter.scan()
    await kernel.wait(for: .startDiscovery)
    withExtendedLifetime(scan) {}
    await adapter.close()
    #expect(await kernel.count(.setDefaultConfiguration) == 0)
    #expect(await kernel.count(.readDefaultConfiguration) == 0)
  }

  /// Of two scans the one counts that listens more. What was there before is read once.
  @Test func scansShareIt() async throws {
    let (adapter, kernel) = try await Self.adapter()
    let half = adapter.scan(Self.options(ScanTiming(interval: 0x40, window: 0x20)))
    await kernel.wait(for: .setDefaultConfiguration)
    do {
      let whole = adapter.scan(Self.options(Self.whole))
      await kernel.wait(for: .setDefaultConfiguration, times: 2)
      withExtendedLifetime(whole) {}
    }
    await kernel.wait(for: .setDefaultConfiguration, times: 3)
    withExtendedLifetime(half) {}
    await adapter.close()
    await kernel.wait(for: .setDefaultConfiguration, times: 4)
    #expect(
      await Self.told(kernel).filter { $0 != "start" } == [
        "20 of each 40 ms 20 of each 40 ms", "60 of each 60 ms 60 of each 60 ms",
        "20 of each 40 ms 20 of each 40 ms", "11.25 of each 11.25 ms 30 of each 60 ms",
      ])
    #expect(await kernel.count(.readDefaultConfiguration) == 1)
  }

  @Test func aKernelThatCannotEndsTheScan() async throws {
    let (adapter, kernel) = try await Self.adapter()
    await kernel.answer(.readDefaultConfiguration, .status(.unknownCommand))
    await kernel.answer(.setDefaultConfiguration, .status(.unknownCommand))
    var scan = adapter.scan(Self.options(Self.whole)).makeAsyncIterator()
    let error = await #expect(throws: RadioError.self) { while try await scan.next() != nil {} }
    #expect(
      error?.description
        == "cannot set default parameters (hci0): the kernel does not support it")
    // The next scan goes without.
    let plain = adapter.scan()
    await kernel.wait(for: .startDiscovery)
    withExtendedLifetime(plain) {}
    await adapter.close()
    #expect(await kernel.count(.setDefaultConfiguration) == 1)
  }

  @Test func timings() {
    #expect(ScanTiming(interval: .milliseconds(60), window: .milliseconds(60)) == Self.whole)
    #expect(ScanTiming(interval: .milliseconds(60), window: .milliseconds(61)) == nil)
    #expect(ScanTiming(interval: .seconds(10.24), window: .milliseconds(2.5)) != nil)
    #expect(ScanTiming(interval: .seconds(10.25), window: .milliseconds(2.5)) == nil)
    #expect(ScanTiming(interval: .seconds(1_000_000), window: .seconds(1)) == nil)
    #expect(ScanTiming(interval: .milliseconds(3), window: .milliseconds(2)) == nil)
    #expect(ScanTiming(interval: 0x60, window: 0x30)?.share == 0.5)
  }
}
