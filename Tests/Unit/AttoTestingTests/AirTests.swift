import Atto
import AttoTesting
import Glibc
import TestSupport
import Testing

@Suite("Simulated radios of a test", .timeLimit(.minutes(5)), .oneByOne)
struct AirTests {
  static let parameters = AdvertisingParameters(AdvertisingData(localName: "Strap"))

  @Test("A client finds a server in its air, and not in another one")
  func twoAirs() async throws {
    let (air, other) = (TestAir(), TestAir())
    let clock = TestClock()
    let thermometer = try await Thermometer(clock.loop)
    let listener = try await thermometer.server.advertise(
      on: try air.adapter(named: "Strap", loop: clock.loop),
      options: ListenOptions(advertising: Self.parameters))
    let endpoint = try Endpoint("air:Strap")
    let connection = try await Connection.connect(
      to: endpoint, adapter: try air.adapter(loop: clock.loop))
    #expect(try await connection.readOnce(thermometer.name) == Array("attic".utf8))

    let stranger = try other.adapter(loop: clock.loop)
    let late = Task(executorPreference: clock.loop.tasks) {
      await failure { try await Connection.connect(to: endpoint, adapter: stranger) }
    }
    await clock.advance(by: .seconds(30))
    guard case .radio = await late.value else {
      Issue.record("\(String(describing: await late.value))")
      return
    }
    // A radio of the same name is possible in another air only.
    _ = try other.adapter(named: "Strap")
    #expect(throws: RadioError.self) { try air.adapter(named: "Strap") }
    listener.stop()
  }

  @Test("The folder is removed with the air")
  func removed() async throws {
    var air: TestAir? = TestAir()
    let path = try #require(air?.path)
    let adapter = try #require(try air?.adapter(named: "Strap"))
    #expect(access(path, F_OK) == 0)
    air = nil
    #expect(access(path, F_OK) != 0)
    await adapter.close()
  }
}
