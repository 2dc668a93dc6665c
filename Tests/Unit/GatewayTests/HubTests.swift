import Atto
import AttoATT
import AttoEventLoop
import AttoStore
import AttoTesting
import Glibc
import Synchronization
import TestSupport
import Testing

@testable import AttoGateway

@Suite("Links that a hub holds", .timeLimit(.minutes(5)), .oneByOne) struct HubTests {
  static func named(_ name: String) -> DeviceConfiguration {
    DeviceConfiguration(name: name.lowercased(), match: DeviceMatch(localName: name))
  }

  static let rate = CharacteristicReference.uuid(.heartRateMeasurement, service: nil)
  static let point = CharacteristicReference.uuid(.heartRateControlPoint, service: nil)

  @Test func usersShareALinkAndItsConfiguration() async throws {
    let air = TestAir()
    let strap = try await Strap(air, name: "Strap")
    let gateway = try await TestGateway(air) { $0.devices = [Self.named("Strap")] }
    let device = try await gateway.hub.device(named: "strap")
    let a = await device.use(as: "a")
    let b = await device.use(as: "b")
    try await a.connected(within: .seconds(60))
    let rate = try await a.characteristic(Self.rate)
    let cccd = try #require(rate.cccd).handle
    try await a.subscribe(rate.valueHandle)
    try await b.write([1, 0], to: cccd)
    try await strap.notify([0, 60])
    #expect(try await a.value() == [0, 60])
    #expect(try await b.value() == [0, 60])

    // Each has its own configuration; the device is told when the last one leaves.
    try await a.unsubscribe(rate.valueHandle)
    #expect(try await a.read(cccd) == [0, 0])
    #expect(try await b.read(cccd) == [1, 0])
    #expect(try await strap.server.hasSubscribers(to: rate.valueHandle))
    try await b.write([0, 0], to: cccd)
    #expect(try await !strap.server.hasSubscribers(to: rate.valueHandle))
    #expect(try await strap.server.clients.count == 1)
    await gateway.stop()
    await #expect(throws: GatewayError.self) { try await a.read(rate.valueHandle) }
  }

  @Test func sixtyFourDevices() async throws {
    let air = TestAir()
    var straps: [Strap] = []
    for number in 0..<64 { straps.append(try await Strap(air, name: "Strap-\(number)")) }
    let gateway = try await TestGateway(air) { configuration in
      configuration.devices = (0..<64).map { Self.named("Strap-\($0)") }
    }
    var uses: [DeviceUse] = []
    for number in 0..<64 {
      let use = await (try gateway.hub.device(named: "strap-\(number)")).use(as: "test")
      try await use.connected(within: .seconds(60))
      try await use.subscribe(use.characteristic(Self.rate).valueHandle)
      uses.append(use)
    }
    #expect(await gateway.hub.slots.free == 0)
    for (number, strap) in straps.enumerated() { try await strap.notify([0, UInt8(number)]) }
    for (number, use) in uses.enumerated() { #expect(try await use.value() == [0, UInt8(number)]) }

    // There is no place for another one.
    let other = try await Strap(air, name: "Other")
    let address = other.radio.address
    let late = try await gateway.hub.device(at: address)
    let use = await late.use(as: "test")
    await #expect(throws: GatewayError.noFreeSlot(limit: 64)) {
      try await use.connected(within: .milliseconds(50))
    }
    await gateway.stop()
    for strap in straps { #expect(try await strap.server.clients.isEmpty) }
  }

  @Test func aDeviceThatComesBackIsConnectedAndSubscribedAgain() async throws {
    let air = TestAir()
    var strap: Strap? = try await Strap(air, name: "Strap")
    let gateway = try await TestGateway(air) { $0.devices = [Self.named("Strap")] }
    let device = try await gateway.hub.device(named: "strap")
    let use = await device.use(as: "test")
    try await use.connected(within: .seconds(60))
    try await use.subscribe(use.characteristic(Self.rate).valueHandle)
    for value in 1...3 as ClosedRange<UInt8> {
      try await strap?.notify([0, value])
      #expect(try await use.value() == [0, value])
      strap?.leave()
      strap = nil
      while await device.state == .connected(mtu: 517) { _ = await use.events.next() }
      await #expect(throws: GatewayError.notConnected(device: "strap")) { try await use.read(1) }
      strap = try await Strap(air, name: "Strap")
      try await use.connected(within: .seconds(60))
    }
    #expect(await device.counters.links == 4)
    await gateway.stop()
  }

  @Test func aMuteDeviceCostsTheOthersNothing() async throws {
    let clock = TestClock()
    let air = TestAir()
    // Accepts links and answers nothing on them.
    let radio = try air.adapter(named: "Mute", loop: clock.loop)
    let mute = try await radio.advertise(
      AdvertisingParameters(AdvertisingData(localName: "Mute")))
    let strap = try await Strap(air, name: "Strap", loop: clock.loop)
    let gateway = try await TestGateway(air, loop: clock.loop) {
      $0.devices = [Self.named("Mute"), Self.named("Strap")]
    }
    await clock.advance(by: .zero)
    #expect(try await strap.server.clients.count == 1)
    let device = try await gateway.hub.device(named: "mute")
    #expect(await device.state == .connecting)
    await clock.advance(by: .seconds(31))
    #expect(await device.counters.failures == 1)
    await clock.advance(by: .seconds(3600))
    // Each attempt takes 30 s, and the pauses grow to a minute.
    let failures = await device.counters.failures
    #expect((30...80).contains(failures), "\(failures)")
    #expect(try await strap.server.clients.count == 1)
    mute.stop()
    await gateway.stop()
  }

  @Test func anAbsentDeviceIsTriedWithGrowingPauses() async throws {
    let clock = TestClock()
    let air = TestAir()
    let address = try #require(BluetoothAddress("C0:00:00:00:00:01/random"))
    let gateway = try await TestGateway(air, loop: clock.loop) { configuration in
      configuration.devices = [DeviceConfiguration(name: "x", match: DeviceMatch(address: address))]
    }
    await clock.advance(by: .seconds(3600))
    let device = try await gateway.hub.device(named: "x")
    let failures = await device.counters.failures
    #expect((20...120).contains(failures), "\(failures)")
    #expect(await device.counters.links == 0)
    await gateway.stop()
  }

  @Test func anAdapterThatCannotScanIsTriedWithGrowingPauses() async throws {
    let clock = TestClock()
    let air = TestAir()
    let openings = Mutex(0)
    let messages = Mutex<[String]>([])
    let hub = Hub(Configuration(name: "test"), loop: clock.loop) { _, loop throws(RadioError) in
      openings.withLock { $0 += 1 }
      let adapter = try air.adapter(loop: loop)
      await adapter.close()
      return adapter
    } log: { _, text in
      messages.withLock { $0.append(text) }
    }
    let task = Task(executorPreference: clock.loop.tasks) { await hub.run() }
    await clock.advance(by: .seconds(3600))
    let count = openings.withLock { $0 }
    #expect((200...400).contains(count), "\(count)")
    #expect(messages.withLock { $0.count } == 1)
    guard case .failed = await hub.scanner.phase else {
      Issue.record("scans")
      return
    }
    task.cancel()
    await task.value
  }

  @Test func aSequenceRunsOnTheLink() async throws {
    let air = TestAir()
    let strap = try await Strap(air, name: "Strap")
    let gateway = try await TestGateway(air) { configuration in
      var device = Self.named("Strap")
      device.sequences["poll"] = [
        .write(Self.point, [7], withResponse: true),
        .expect(Self.rate, beginning: [7], within: .seconds(60)),
        .read(Self.point),
      ]
      device.sequences["vain"] = [
        .read(Self.point), .expect(Self.rate, beginning: [9], within: .milliseconds(20)),
      ]
      configuration.devices = [device]
    }
    let use = await (try gateway.hub.device(named: "strap")).use(as: "test")
    try await use.connected(within: .seconds(60))
    #expect(try await use.perform(sequence: "poll") == [[7], [7]])
    await #expect(throws: GatewayError.sequence(step: 2, .noValue(after: .milliseconds(20)))) {
      try await use.perform(sequence: "vain")
    }
    await #expect(throws: GatewayError.unknownSequence(device: "strap", "x")) {
      try await use.perform(sequence: "x")
    }
    // Its subscription has ended with it.
    _ = try await use.read(strap.point)
    #expect(await use.device.userNames == ["test"])
    await gateway.stop()
  }

  @Test func aLinkReachesItsSecurityFirst() async throws {
    let air = TestAir()
    let strap = try await Strap(air, name: "Strap")
    let gateway = try await TestGateway(air) { configuration in
      var device = Self.named("Strap")
      device.security = .medium
      configuration.devices = [device]
    }
    let use = await (try gateway.hub.device(named: "strap")).use(as: "test")
    try await use.connected(within: .seconds(60))
    #expect(try await use.device.connection?.security.level == .medium)
    _ = try await use.read(strap.point)
    await gateway.stop()
  }

  @Test func aReloadKeepsTheLinksThatDidNotChange() async throws {
    let air = TestAir()
    let a = try await Strap(air, name: "A")
    let b = try await Strap(air, name: "B")
    let c = try await Strap(air, name: "C")
    let gateway = try await TestGateway(air) {
      $0.devices = [Self.named("A"), Self.named("B")]
    }
    let kept = try await gateway.hub.device(named: "a")
    let use = await kept.use(as: "test")
    try await use.connected(within: .seconds(60))
    var new = await gateway.hub.configuration
    new.devices = [Self.named("A"), Self.named("C")]
    new.devices[0].subscribe = [Self.rate]
    await gateway.hub.reload(new)
    let added = await (try gateway.hub.device(named: "c")).use(as: "test")
    try await added.connected(within: .seconds(60))
    #expect(await kept.counters.links == 1)
    #expect(await kept.configuration?.subscribe == [Self.rate])
    #expect(await gateway.hub.devices.count == 2)
    #expect(try await a.server.clients.count == 1)
    #expect(try await c.server.clients.count == 1)
    await gateway.stop()
    #expect(try await b.server.clients.isEmpty)
  }

  @Test func aDeviceByAddressEndsWithItsLastUser() async throws {
    let air = TestAir()
    let strap = try await Strap(air, name: "Strap")
    let gateway = try await TestGateway(air)
    var use: DeviceUse? = await (try gateway.hub.device(at: strap.radio.address)).use(as: "test")
    try await use?.connected(within: .seconds(60))
    #expect(await gateway.hub.slots.allocated == [strap.radio.address])
    #expect(await gateway.hub.addressedDevices.count == 1)
    use?.release()
    use = nil
    for await slots in await gateway.hub.slotChanges() where slots.allocated.isEmpty { break }
    #expect(await gateway.hub.addressedDevices.isEmpty)
    await gateway.stop()
  }

  /// Links need no store: it is tried again after pauses, and both its failure and its return are told once.
  @Test func aStoreThatFailsIsTriedAgain() async throws {
    let clock = TestClock()
    let air = TestAir()
    let folder = TemporaryFolder(isInMemory: true)
    let logged = Mutex<[String]>([])
    let isResumed = Mutex(false)
    let hub = Hub(
      Configuration(name: "test"), store: try StoreFile(openedLater: folder.file("none/store")),
      loop: clock.loop, opening: { (_, loop) throws(RadioError) in try air.adapter(loop: loop) },
      whenStoreWorks: { () throws(StoreError) in isResumed.withLock { $0 = true } },
      log: { (_, text) in logged.withLock { $0.append(text) } })
    let task = Task(executorPreference: clock.loop.tasks) { await hub.run() }
    while await hub.storeFault == nil { await Task.yield() }
    for _ in 0..<20 { await clock.advance(by: .seconds(60)) }
    let fault = await hub.storeFault
    #expect(fault == .system("created", path: folder.file("none/store"), errno: ENOENT))
    let status = await hub.status(of: nil, since: 0, version: "1")
    #expect(status.metrics.contains("\natto_store_up 0\n"))
    mkdir(folder.file("none"), 0o700)
    while await hub.storeFault != nil { await clock.advance(by: .seconds(1)) }
    #expect(isResumed.withLock { $0 })
    await clock.advance(by: .zero)
    let lines = logged.withLock { $0 }.filter { $0.contains("store") }
    #expect(lines.map { $0.hasPrefix("bonds and services are not kept until") } == [true, false])
    #expect(lines.last?.hasSuffix("works: bonds and services are kept") == true)
    task.cancel()
    await task.value
  }

  @Test func advertisementsAreHeard() async throws {
    let air = TestAir()
    let gateway = try await TestGateway(air)
    let heard = await gateway.hub.heard()
    let strap = try await Strap(air, name: "Strap")
    var count = 0
    // Repeated ones too.
    while count < 3, let batch = await heard.next(within: .seconds(60)) {
      count += batch.elements.count { $0.discovery.address == strap.radio.address }
    }
    #expect(count >= 3)
    await gateway.stop()
  }

  @Test func aUserThatDoesNotListenLosesItsOldestValues() {
    let queue = BatchQueue<Int>(limit: 4)
    for number in 1...10 { queue.add(number) }
    #expect(queue.dropped == 6)
  }

  /// A use that is released while the link is being made again leaves nothing behind.
  @Test func aCancelledAttemptFreesItsSlot() async throws {
    let air = TestAir()
    let strap = try await Strap(air, name: "Strap")
    let gateway = try await TestGateway(air)
    let heard = await gateway.hub.heard()
    let batch = try #require(await heard.next(within: .seconds(60)))
    let address = try #require(batch.elements.first).discovery.address
    let use = try await gateway.hub.device(at: address).use(as: "a")
    try await use.connected(within: .seconds(60))
    strap.leave()
    events: while let batch = await use.events.next(within: .seconds(60)) {
      for case .disconnected in batch.elements { break events }
    }
    use.release()
    var isFree = false
    for await slots in await gateway.hub.slotChanges() where slots.allocated.isEmpty {
      isFree = true
      break
    }
    #expect(isFree)
    await gateway.stop()
  }

  /// Many users that subscribe at once wait for the same write, and all go on after it.
  @Test func manySubscribeAtOnce() async throws {
    let air = TestAir()
    let strap = try await Strap(air, name: "Strap")
    let gateway = try await TestGateway(air) {
      $0.devices = [DeviceConfiguration(name: "strap", match: DeviceMatch(localName: "Strap"))]
    }
    let device = try await gateway.hub.device(named: "strap")
    var uses: [DeviceUse] = []
    for number in 0..<30 { uses.append(await device.use(as: "user \(number)")) }
    try await uses[0].connected(within: .seconds(60))
    _ = try await uses[0].database()
    try await withThrowingDiscardingTaskGroup { group in
      for use in uses { group.addTask { try await use.subscribe(strap.rate) } }
    }
    try await strap.notify([0, 61])
    for use in uses { #expect(try await use.value() == [0, 61]) }
    await gateway.stop()
  }
}
