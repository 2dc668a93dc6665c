import Atto
import AttoATT
import AttoEventLoop
import AttoTesting
import Testing

@testable import AttoGateway

@Suite struct HubTests {
  @Test func aConfiguredDeviceIsHeldAndShared() async throws {
    let air = TestAir()
    let strap = try await Strap(air, name: "Strap")
    let gateway = try await TestGateway(air) {
      $0.devices = [DeviceConfiguration(name: "strap", match: DeviceMatch(localName: "Strap"))]
    }
    let device = try await gateway.hub.device(named: "strap")
    let a = await device.use(as: "a")
    let b = await device.use(as: "b")
    try await a.connected(within: .seconds(60))
    let rate = try await a.characteristic(.uuid(.heartRateMeasurement, service: nil)).valueHandle
    try await a.subscribe(rate)
    try await b.subscribe(rate)
    try await strap.notify([0, 60])
    #expect(try await a.value() == [0, 60])
    #expect(try await b.value() == [0, 60])
    await gateway.stop()
  }

  /// A use that is released while the link is being made again leaves nothing behind.
  @Test func aCancelledAttemptFreesItsSlot() async throws {
    let air = TestAir()
    let strap = try await Strap(air, name: "Strap")
    let gateway = try await TestGateway(air)
    let heard = await gateway.hub.heard()
    let address = try #require(await heard.next(within: .seconds(60))).elements[0].discovery.address
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
