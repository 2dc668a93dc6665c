import AttoEventLoop
import AttoLinks
import TestSupport
import Testing

@testable import AttoKernelRadio
@testable import AttoRadio
@testable import AttoVirtualRadio

/// The behaviour that an adapter has on both backends: a scripted management socket, and the virtual
/// air.
@Suite(.timeLimit(.minutes(5)), .oneByOne) struct AdapterTests {
  enum Backend: CaseIterable, Sendable {
    case kernel, virtual
  }

  /// An adapter, and a device with the local name "Strap" that it can receive.
  private struct Scene {
    let adapter: Adapter
    let kernel: FakeKernel?
    let air: Air?
    private let strap: Adapter?

    init(_ backend: Backend) async throws {
      switch backend {
      case .kernel:
        let (adapter, kernel) = try await FakeKernel.adapter()
        self.adapter = adapter
        self.kernel = kernel
        air = nil
        strap = nil
      case .virtual:
        let air = Air()
        self.air = air
        adapter = try air.adapter("Phone")
        strap = try air.adapter("Strap")
        kernel = nil
      }
    }

    /// Advertises the device. Releasing the result ends that, on the virtual air.
    func advertiseDevice() async throws -> Advertisement? {
      await kernel?.wait(for: .startDiscovery)
      let name = Array("Strap".utf8)
      let data = [UInt8(name.count + 1), 9] + name
      await kernel?.tell(
        0x0012,
        ManagementFrameTests.peerOctets + [0xCE] + UInt32(0).octets(4) + data.count.octets(2)
          + data)
      return try await strap?.advertise(.beacon)
    }
  }

  @Test(arguments: Backend.allCases) func devicesAreReportedOnce(backend: Backend) async throws {
    let scene = try await Scene(backend)
    var first = scene.adapter.scan().makeAsyncIterator()
    let device = try await scene.advertiseDevice()
    guard case .found(let found)? = try await first.next() else {
      Issue.record("not found")
      return
    }
    #expect(found.data.localName == "Strap")
    // A later scan begins with the devices that are known.
    var second = scene.adapter.scan().makeAsyncIterator()
    #expect(try await second.next() == .found(found))
    // One that selects other devices reports nothing until its timeout.
    var options = ScanOptions()
    options.name = "Belt"
    options.timeout = .milliseconds(5)
    var third = scene.adapter.scan(options).makeAsyncIterator()
    #expect(try await third.next() == nil)
    await scene.adapter.close()
    await #expect(throws: RadioError.closed) { while try await first.next() != nil {} }
    await #expect(throws: RadioError.closed) { while try await second.next() != nil {} }
    withExtendedLifetime(device) {}
  }

  @Test(arguments: Backend.allCases) func wrongAdvertisements(backend: Backend) async throws {
    let scene = try await Scene(backend)
    var parameters = AdvertisingParameters.beacon
    parameters.interval = .milliseconds(19)
    await #expect(throws: RadioError.invalidInterval(.milliseconds(19))) {
      try await scene.adapter.advertise(parameters)
    }
    let large = AdvertisingParameters(
      AdvertisingData(manufacturerData: [.init(company: 1, [UInt8](repeating: 0, count: 30))]))
    await #expect(
      throws: RadioError.advertisingData(.doesNotFit(.manufacturerData, length: 34, lacking: 3))
    ) { try await scene.adapter.advertise(large) }
  }

  @Test(arguments: Backend.allCases) func anAdvertisementEndsOnce(backend: Backend) async throws {
    let scene = try await Scene(backend)
    let advertisement = try await scene.adapter.advertise(.beacon)
    try await advertisement.update(.beacon)
    let waiting = Task { () -> Bool in
      let links = advertisement.links.makeAsyncIterator()
      return await links.next() == nil
    }
    let cancelled = Task { () -> Bool in
      let links = advertisement.links.makeAsyncIterator()
      return await links.next() == nil
    }
    cancelled.cancel()
    #expect(await cancelled.value)
    advertisement.stop()
    advertisement.stop()
    #expect(await waiting.value)
    await #expect(throws: RadioError.closed) { try await advertisement.update(.beacon) }
    // Another one can begin.
    let second = try await scene.adapter.advertise(.beacon)
    await scene.adapter.close()
    await #expect(throws: RadioError.closed) { try await second.update(.beacon) }
  }

  /// Between the call for the next link and its wait the loop may do other work, here the end of the
  /// advertisement.
  @Test(arguments: Backend.allCases, 0..<5)
  func anAdvertisementEndsAsATaskBeginsToWait(backend: Backend, turns: Int) async throws {
    let scene = try await Scene(backend)
    let advertisement = try await scene.adapter.advertise(.beacon)
    let loop = scene.adapter.loop
    @Sendable func stop(after turns: Int) {
      if turns == 0 { return advertisement.stop() }
      loop.execute { stop(after: turns - 1) }
    }
    let link = await Task(executorPreference: loop.tasks) {
      stop(after: turns)
      let links = advertisement.links.makeAsyncIterator()
      return await links.next()
    }.value
    #expect(link == nil)
  }

  @Test(arguments: Backend.allCases) func nothingWorksAfterTheEnd(backend: Backend) async throws {
    let scene = try await Scene(backend)
    let (adapter, peer) = (scene.adapter, ManagementFrameTests.peer)
    var states = await adapter.states().makeAsyncIterator()
    #expect(await states.next() == .poweredOn)
    #expect(await adapter.endReason == nil)
    try await adapter.powerOn()
    await adapter.close()
    await adapter.close()
    #expect(await states.next() == .gone)
    #expect(await states.next() == nil)
    #expect(await adapter.state == .gone)
    #expect(await adapter.endReason == .closed)
    await #expect(throws: RadioError.closed) { try await adapter.advertise(.beacon) }
    await #expect(throws: RadioError.closed) { try await adapter.connect(to: peer) }
    await #expect(throws: RadioError.closed) { try await adapter.openChannel(0x80, to: peer) }
    await #expect(throws: RadioError.closed) { try await adapter.publishChannel() }
    await #expect(throws: RadioError.closed) { try await adapter.pair(with: peer) }
    await #expect(throws: RadioError.closed) { try await adapter.unpair(peer) }
    await #expect(throws: RadioError.closed) { try await adapter.setAgent(JustWorksAgent()) }
    await #expect(throws: RadioError.closed) { try await adapter.powerOff() }
    #expect(await adapter.pairingFailure(of: peer, within: .seconds(60)) == nil)
    var events = adapter.scan().makeAsyncIterator()
    await #expect(throws: RadioError.closed) { _ = try await events.next() }
  }

  @Test(arguments: Backend.allCases) func pairingIsCancelled(backend: Backend) async throws {
    let scene = try await Scene(backend)
    await scene.kernel?.answer(.pairDevice, .silence)
    let (adapter, peer) = (scene.adapter, ManagementFrameTests.peer)
    let pairing = Task { try await adapter.pair(with: peer) }
    await scene.kernel?.wait(for: .pairDevice)
    pairing.cancel()
    await #expect(throws: RadioError.cancelled) { try await pairing.value }
    let second = Task { try await adapter.pair(with: peer) }
    await scene.kernel?.wait(for: .cancelPairing)
    await adapter.close()
    await #expect(throws: RadioError.closed) { try await second.value }
  }

  @Test(arguments: Backend.allCases) func anAgentHasItsCapability(backend: Backend) async throws {
    let scene = try await Scene(backend)
    #expect(await scene.adapter.agentCapability == nil)
    try await scene.adapter.setAgent(JustWorksAgent())
    #expect(await scene.adapter.agentCapability == PairingCapability.none)
    try await scene.adapter.setAgent(nil)
    #expect(await scene.adapter.agentCapability == nil)
  }

  /// What only a controller can do: without one it is unsupported, or has no effect.
  @Test func withoutAController() async throws {
    let adapter = try await Scene(.virtual).adapter
    let peer = ManagementFrameTests.peer
    #expect(adapter.index == nil && adapter.label == "air" && adapter.reportsDepartures)
    #expect(try await adapter.connectionInformation(of: peer) == nil)
    try await adapter.loadConnectionParameters([:])
    await #expect(throws: RadioError.unsupported("switching the power off")) {
      try await adapter.powerOff()
    }
    await #expect(throws: RadioError.unsupported("disconnecting a peer")) {
      try await adapter.disconnect(peer)
    }
  }

  @Test func kernelAdaptersConnectByAddressOnly() async throws {
    let adapter = try await Scene(.kernel).adapter
    #expect(adapter.index == 0 && adapter.label == "hci0" && !adapter.reportsDepartures)
    await #expect(throws: RadioError.unsupported("connecting by name")) {
      try await adapter.connect(to: .name("Strap"))
    }
    await #expect(throws: RadioError.unsupported("pairing by name")) {
      try await adapter.pair(with: .name("Strap"))
    }
  }
}

extension AdvertisingParameters {
  fileprivate static var beacon: AdvertisingParameters {
    var parameters = AdvertisingParameters(AdvertisingData(localName: "Strap"))
    parameters.isConnectable = false
    return parameters
  }
}
