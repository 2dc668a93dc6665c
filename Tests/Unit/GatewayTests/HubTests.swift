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
}
