import AttoEventLoop
import AttoLinks
import TestSupport
import Testing

@testable import AttoKernelRadio
@testable import AttoRadio

/// Passive scans on a scripted kernel.
@Suite(.timeLimit(.minutes(5)), .oneByOne) struct KernelMonitorTests {
  private static let peerOctets = ManagementFrameTests.peerOctets
  private static let passive = {
    var options = ScanOptions()
    options.isActive = false
    return options
  }()

  private static func adapter() async throws -> (Adapter, FakeKernel) {
    let (adapter, kernel) = try await FakeKernel.adapter()
    await kernel.answer(.readMonitorFeatures, .octets(features()))
    await kernel.answer(.addPatternsMonitor, .octets([3, 0]))
    return (adapter, kernel)
  }

  /// MGMT_OP_READ_ADV_MONITOR_FEATURES with these monitors.
  private static func features(_ handles: [UInt16] = []) -> [UInt8] {
    [0, 0, 0, 0, 0, 0, 0, 0, 32, 0, 16] + handles.count.octets(2) + handles.flatMap { $0.octets(2) }
  }

  private static func found(_ name: String) -> [UInt8] {
    let data = [UInt8(name.utf8.count + 1), 9] + Array(name.utf8)
    return [0, 0] + peerOctets + [0xCE, 0, 0, 0, 0] + data.count.octets(2) + data
  }

  @Test func aMonitorIsAddedAndRemoved() async throws {
    let (adapter, kernel) = try await Self.adapter()
    var scan = adapter.scan(Self.passive).makeAsyncIterator()
    await kernel.wait(for: .addPatternsMonitor)
    let sent = try #require(await kernel.last(.addPatternsMonitor))
    // As many patterns as the kernel permits, of 34 octets each.
    #expect((1...16).contains(sent[0]) && sent.count == 1 + 34 * Int(sent[0]))
    #expect(sent[1..<6] == [1, 0, 1, 2, 0])
    await kernel.tell(0x002F, Self.found("Strap"))
    guard case .found(let discovery)? = try await scan.next() else {
      return #expect(Bool(false), "nothing found")
    }
    #expect(discovery.data.localName == "Strap" && discovery.rssi == -50)
    await adapter.close()
    #expect(await kernel.last(.removeMonitor) == [3, 0])
    #expect(await kernel.count(.startDiscovery) == 0)
  }

  @Test func anActiveScanBesideItReplacesTheMonitor() async throws {
    let (adapter, kernel) = try await Self.adapter()
    let first = adapter.scan(Self.passive)
    await kernel.wait(for: .addPatternsMonitor)
    do {
      let second = adapter.scan()
      await kernel.wait(for: .startDiscovery)
      await kernel.wait(for: .removeMonitor)
      withExtendedLifetime(second) {}
    }
    // The active one has ended.
    await kernel.wait(for: .stopDiscovery)
    await kernel.wait(for: .addPatternsMonitor, times: 2)
    withExtendedLifetime(first) {}
    await adapter.close()
    #expect(await kernel.count(.removeMonitor) == 2)
  }

  @Test(arguments: [ManagementStatus.unknownCommand, .notSupported])
  func aKernelOrControllerThatCannotIsNamed(_ status: ManagementStatus) async throws {
    let (adapter, kernel) = try await Self.adapter()
    await kernel.answer(
      status == .unknownCommand ? .readMonitorFeatures : .addPatternsMonitor, .status(status))
    var scan = adapter.scan(Self.passive).makeAsyncIterator()
    let error = await #expect(throws: RadioError.self) { _ = try await scan.next() }
    let who = status == .unknownCommand ? "kernel" : "adapter"
    #expect(error?.description == "cannot scan passively (hci0): the \(who) does not support it")
    await adapter.close()
  }

  @Test func aMalformedAnswerEndsTheScan() async throws {
    let (adapter, kernel) = try await Self.adapter()
    await kernel.answer(.readMonitorFeatures, .octets([1, 2, 3]))
    await kernel.answer(.addPatternsMonitor, .octets([3]))
    var scan = adapter.scan(Self.passive).makeAsyncIterator()
    await #expect(throws: RadioError.managementSilent(.addPatternsMonitor, adapter: 0)) {
      _ = try await scan.next()
    }
    await adapter.close()
  }

  @Test func aBusyKernelIsAskedAgain() async throws {
    let (adapter, kernel) = try await Self.adapter()
    await kernel.answer(.addPatternsMonitor, .status(.busy))
    let scan = adapter.scan(Self.passive)
    await kernel.wait(for: .addPatternsMonitor)
    await kernel.answer(.addPatternsMonitor, .octets([3, 0]))
    await kernel.wait(for: .addPatternsMonitor, times: 2)
    withExtendedLifetime(scan) {}
    await adapter.close()
    #expect(await kernel.last(.removeMonitor) == [3, 0])
  }

  @Test func aMonitorThatAnotherProgramHasRemovedIsAddedAgain() async throws {
    let (adapter, kernel) = try await Self.adapter()
    let scan = adapter.scan(Self.passive)
    await kernel.wait(for: .addPatternsMonitor)
    // Not ours.
    await kernel.tell(0x002C, [9, 0])
    await kernel.tell(0x002C, [3, 0])
    await kernel.wait(for: .addPatternsMonitor, times: 2)
    withExtendedLifetime(scan) {}
    await adapter.close()
    #expect(await kernel.count(.addPatternsMonitor) == 2)
  }

  /// 1 is that of a process that was killed; 3 is that of another scan.
  @Test func forgottenMonitorsAreRemoved() async throws {
    let (adapter, kernel) = try await Self.adapter()
    let names = MonitorName.Place.test(kernel.names)
    let other = try #require(MonitorName(3, of: 0, in: names))
    await kernel.answer(.readMonitorFeatures, .octets(Self.features([1, 3])))
    await kernel.answer(.addPatternsMonitor, .octets([4, 0]))
    let scan = adapter.scan(Self.passive)
    await kernel.wait(for: .addPatternsMonitor)
    #expect(await kernel.count(.removeMonitor) == 1)
    #expect(await kernel.last(.removeMonitor) == [1, 0])
    withExtendedLifetime((scan, other)) {}
    await adapter.close()
    #expect(await kernel.last(.removeMonitor) == [4, 0])
  }
}
