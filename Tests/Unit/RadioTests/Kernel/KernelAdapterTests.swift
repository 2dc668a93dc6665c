import AttoEventLoop
import AttoLinks
import TestSupport
import Testing

@testable import AttoKernelRadio
@testable import AttoRadio

/// An adapter on a scripted kernel.
@Suite(.timeLimit(.minutes(5)), .oneByOne) struct KernelAdapterTests {
  static let peer = ManagementFrameTests.peer
  static let peerOctets = ManagementFrameTests.peerOctets

  private static func found(_ name: String, flags: UInt32 = 0) -> [UInt8] {
    let data = [UInt8(name.utf8.count + 1), 9] + Array(name.utf8)
    return peerOctets + [0xCE] + flags.octets(4) + data.count.octets(2) + data
  }

  /// Services in the advertisement, the name in the scan response, and no signal strength.
  private static func device(isScanResponse: Bool) -> [UInt8] {
    let data: [UInt8] = isScanResponse ? [3, 9, 0x41, 0x42] : [3, 3, 0x0D, 0x18]
    return peerOctets + [127] + (isScanResponse ? 0x20 : 0).octets(4) + data.count.octets(2) + data
  }

  @Test func filtersApplyToAdvertisementAndScanResponse() async throws {
    let (adapter, kernel) = try await FakeKernel.adapter()
    var options = ScanOptions()
    options.services = [.init(UInt16(0x180D))]
    options.name = "AB"
    var scan = adapter.scan(options).makeAsyncIterator()
    options.minimumRSSI = -127
    var strong = adapter.scan(options).makeAsyncIterator()
    // The kernel's own filter would check each report alone, and apply to all programs.
    await kernel.wait(for: .startDiscovery)
    await kernel.tell(0x0012, Self.device(isScanResponse: false))
    await kernel.tell(0x0012, Self.device(isScanResponse: true))
    guard case .found(let discovery)? = try await scan.next() else {
      return #expect(Bool(false), "nothing found")
    }
    #expect(discovery.data.localName == "AB" && discovery.data.serviceUUIDs.count == 1)
    #expect(await kernel.count(.startDiscovery) == 1)
    // Without a known strength a device is not reported, even for the lowest limit.
    await adapter.close()
    await #expect(throws: RadioError.closed) { _ = try await strong.next() }
  }

  @Test func duplicatesFromARunningDiscovery() async throws {
    let (adapter, kernel) = try await FakeKernel.adapter()
    let first = adapter.scan()
    await kernel.wait(for: .startDiscovery)
    var options = ScanOptions()
    options.reportsDuplicates = true
    let second = adapter.scan(options)
    await kernel.wait(for: .stopDiscovery)
    await kernel.wait(for: .startDiscovery, times: 2)
    await kernel.wait(for: .startDiscovery, times: 3)
    withExtendedLifetime((first, second)) {}
    await adapter.close()
  }

  @Test func scansShareOneDiscoveryAndRestartIt() async throws {
    let (adapter, kernel) = try await FakeKernel.adapter()
    var first = adapter.scan().makeAsyncIterator()
    await kernel.wait(for: .startDiscovery)
    await kernel.tell(0x0012, Self.found("Strap"))
    guard case .found(let discovery)? = try await first.next() else {
      return #expect(Bool(false), "nothing found")
    }
    #expect(discovery.data.localName == "Strap" && discovery.rssi == -50)
    // A second scan reports known devices, and does not start discovery.
    var second = adapter.scan().makeAsyncIterator()
    #expect(try await second.next() == .found(discovery))
    #expect(await kernel.count(.startDiscovery) == 1)
    // The kernel stops by itself.
    await kernel.tell(0x0013, [6, 0])
    await kernel.wait(for: .startDiscovery, times: 2)
    // A scan response that arrives alone is merged.
    await kernel.tell(0x0012, Self.found("Other", flags: 0x20))
    guard case .seen(let merged)? = try await first.next() else {
      return #expect(Bool(false), "nothing seen")
    }
    #expect(merged.advertisement == discovery.advertisement && !merged.scanResponse.isEmpty)
    await adapter.close()
    await kernel.wait(for: .stopDiscovery)
    await #expect(throws: RadioError.closed) { while try await first.next() != nil {} }
  }

  @Test func discoveryIsStoppedBeforeItsReply() async throws {
    let (adapter, kernel) = try await FakeKernel.adapter()
    await kernel.answer(.startDiscovery, .silence)
    var scan = adapter.scan().makeAsyncIterator()
    await kernel.wait(for: .startDiscovery)
    // The kernel's order: the reply comes last, and here too late.
    await kernel.tell(0x0013, [6, 1])
    await kernel.tell(0x0012, Self.found("Strap"))
    guard case .found? = try await scan.next() else { return #expect(Bool(false), "nothing") }
    await adapter.close()
    await kernel.wait(for: .stopDiscovery)
  }

  /// The kernel refuses to stop what it is starting, and goes on for 10 s if nobody stops it.
  @Test func closingWaitsForADiscoveryThatStarts() async throws {
    let (adapter, kernel) = try await FakeKernel.adapter()
    await kernel.answer(.startDiscovery, .silence)
    var scan = adapter.scan().makeAsyncIterator()
    await kernel.wait(for: .startDiscovery)
    async let closing: Void = adapter.close()
    await #expect(throws: RadioError.closed) { _ = try await scan.next() }
    #expect(await kernel.count(.stopDiscovery) == 0)
    await kernel.tell(0x0013, [6, 1])
    await kernel.tell(0x0001, [0x23, 0, 0, 6])
    await closing
    #expect(await kernel.count(.stopDiscovery) == 1)
  }

  @Test func anotherProgramsDiscoveryIsUsed() async throws {
    let (adapter, kernel) = try await FakeKernel.adapter()
    await kernel.answer(.startDiscovery, .status(.busy))
    var scan = adapter.scan().makeAsyncIterator()
    await kernel.wait(for: .startDiscovery)
    await kernel.tell(0x0012, Self.found("Strap"))
    guard case .found? = try await scan.next() else { return #expect(Bool(false), "nothing") }
    await kernel.answer(.startDiscovery, .octets([6]))
    await kernel.tell(0x0013, [6, 0])
    await kernel.wait(for: .startDiscovery, times: 2)
    await adapter.close()
  }

  @Test func aMissingPermissionIsReported() async throws {
    let (adapter, kernel) = try await FakeKernel.adapter()
    await kernel.answer(.startDiscovery, .status(.permissionDenied))
    var scan = adapter.scan().makeAsyncIterator()
    let error = await #expect(throws: RadioError.self) { _ = try await scan.next() }
    #expect(error == .management(.startDiscovery, .permissionDenied, adapter: 0))
    #expect(error?.description.contains("CAP_NET_ADMIN") == true)
    await adapter.close()
  }

  @Test func anAdvertisementIsAddedWithATimeoutAndRemoved() async throws {
    let (adapter, kernel) = try await FakeKernel.adapter()
    var parameters = AdvertisingParameters(AdvertisingData(localName: "Strap"))
    parameters.isConnectable = false
    let advertisement = try await adapter.advertise(parameters)
    let added = await kernel.last(.addAdvertisingParameters)
    #expect(added?.first == 1 && added?[7...8] == [12, 0])
    #expect(await kernel.last(.addAdvertisingData)?.first == 1)
    // A second one has another instance. Then the controller has no room left.
    let second = try await adapter.advertise(parameters)
    #expect(await kernel.last(.addAdvertisingParameters)?.first == 2)
    await #expect(throws: RadioError.tooManyAdvertisements(limit: 2)) {
      _ = try await adapter.advertise(parameters)
    }
    // An instance that another program has removed is added again.
    await kernel.tell(0x0024, [1])
    await kernel.wait(for: .addAdvertisingParameters, times: 3)
    second.stop()
    await kernel.wait(for: .removeAdvertising)
    #expect(await kernel.last(.removeAdvertising) == [2])
    advertisement.stop()
    await kernel.wait(for: .removeAdvertising, times: 2)
    await adapter.close()
  }

  @Test func theKernelTellsWhenALinkHasEnded() async throws {
    let (adapter, kernel) = try await FakeKernel.adapter()
    // The answers to commands are behind the events.
    await kernel.tell(0x000B, Self.peer.managementOctets + [0, 0, 0, 0, 0, 0])
    try await adapter.disconnect(Self.peer)
    #expect(await adapter.hasLink(with: Self.peer))
    await kernel.tell(0x000C, Self.peer.managementOctets + [3])
    try await adapter.disconnect(Self.peer)
    #expect(await !adapter.hasLink(with: Self.peer))
    await adapter.close()
  }

  @Test func anUnpluggedAdapterEndsEverything() async throws {
    let (adapter, kernel) = try await FakeKernel.adapter()
    var scan = adapter.scan().makeAsyncIterator()
    var states = await adapter.states().makeAsyncIterator()
    #expect(await states.next() == .poweredOn)
    await kernel.answer(.disconnect, .silence)
    let disconnected = Task { try await adapter.disconnect(Self.peer) }
    await kernel.wait(for: .disconnect)
    await kernel.tell(0x0006, [0, 2, 0, 0])
    #expect(await states.next() == .poweredOff)
    await kernel.tell(0x0005, [])
    #expect(await states.next() == .gone)
    #expect(await states.next() == nil)
    let gone = RadioError.unplugged("hci0")
    await #expect(throws: gone) { _ = try await scan.next() }
    await #expect(throws: gone) { try await disconnected.value }
    await #expect(throws: gone) { _ = try await adapter.connect(to: Self.peer, timeout: nil) }
  }

  @Test func pairingIsAnswered() async throws {
    let (adapter, kernel) = try await FakeKernel.adapter()
    // Not a peer of this adapter: another program may answer.
    await kernel.tell(0x000F, Self.peerOctets + [1, 0, 0, 0, 0])
    await kernel.answer(.pairDevice, .silence)
    let pairing = Task { try await adapter.pair(with: Self.peer) }
    await kernel.wait(for: .pairDevice)
    #expect(await kernel.last(.pairDevice) == Self.peerOctets + [3])
    #expect(await kernel.count(.confirm) == 0)
    await kernel.tell(0x000F, Self.peerOctets + [1, 0, 0, 0, 0])
    await kernel.wait(for: .confirm)
    // Numbers cannot be compared without an agent.
    await kernel.tell(0x000F, Self.peerOctets + [0, 1, 0, 0, 0])
    await kernel.wait(for: .refuseConfirmation)
    await kernel.tell(0x0010, Self.peerOctets)
    await kernel.wait(for: .refusePasskey)
    pairing.cancel()
    await kernel.wait(for: .cancelPairing)
    await kernel.tell(0x0001, [0x19, 0, 0x10] + Self.peerOctets)
    await #expect(throws: RadioError.cancelled) { try await pairing.value }
    await adapter.close()
  }

  @Test func commandsOfOneKindWaitForEachOther() async throws {
    let (adapter, kernel) = try await FakeKernel.adapter()
    await kernel.answer(.disconnect, .silence)
    let first = Task { try await adapter.disconnect(Self.peer) }
    await kernel.wait(for: .disconnect)
    let second = Task { try await adapter.disconnect(BluetoothAddress(5)) }
    // Another kind does not wait.
    try await adapter.unpair(Self.peer)
    // Malformed frames and unexpected replies are ignored.
    await kernel.send([1, 2, 3])
    await kernel.tell(0x0001, [0x14])
    await kernel.tell(0x0002, [0x99, 0, 3])
    #expect(await kernel.count(.disconnect) == 1)
    await kernel.answer(.disconnect, .status(.notConnected))
    await kernel.tell(0x0002, [0x14, 0, 0])
    try await first.value
    await #expect(throws: RadioError.management(.disconnect, .notConnected, adapter: 0)) {
      try await second.value
    }
    await adapter.close()
  }
}
