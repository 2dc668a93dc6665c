import Atto
import AttoATT
import AttoGATT
import AttoTesting
import Synchronization
import TestSupport
import Testing

@testable import AttoGateway

@Suite("Values that are read for subscribers", .timeLimit(.minutes(1)), .oneByOne)
struct RefreshTests {
  @Test func aReadValueIsAnEventAndNeverOlderThanTheOnesBeforeIt() async throws {
    let air = TestAir()
    let server = LocalServer(Database(name: "Tag"), loop: .shared)
    let layout = try await server.add(
      ServiceDefinition(
        0x180F,
        characteristics: [
          CharacteristicDefinition(
            .batteryLevel, properties: [.read, .notify],
            value: .application(ValueLimits(maximumLength: 1)))
        ]))
    let level = layout[.batteryLevel].valueHandle
    let isChanging = Mutex(false)
    server.onRead(of: level) { [weak server] _ in
      guard isChanging.withLock({ $0 }) else { return [100] }
      // The value changes while the read is under way.
      _ = try? await server?.notify([98], of: level)
      return [99]
    }
    let radio = try air.adapter(named: "Tag", loop: .shared)
    let listener = try await server.advertise(
      on: radio, options: ListenOptions(advertising: AdvertisingData(localName: "Tag")))
    defer { listener.stop() }
    let gateway = try await TestGateway(air) { $0.devices = [HubTests.named("Tag")] }
    let use = await (try gateway.hub.device(named: "tag")).use(as: "test")
    try await use.connected(within: .seconds(60))
    let handle = try await use.characteristic(.uuid(.batteryLevel, service: nil)).valueHandle
    try await use.subscribe(handle)

    try await use.refresh(handle)
    #expect(try await use.value() == [100])
    isChanging.withLock { $0 = true }
    try await use.refresh(handle)
    isChanging.withLock { $0 = false }
    #expect(try await use.value() == [98])
    try await use.refresh(handle)
    #expect(try await use.value() == [100])
    await gateway.stop()
  }
}
