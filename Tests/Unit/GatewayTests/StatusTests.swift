import Atto
import AttoRadio
import AttoTesting
import TestSupport
import Testing

@testable import AttoGateway

@Suite("The status", .timeLimit(.minutes(5)), .oneByOne) struct StatusTests {
  static func device(_ name: String) -> DeviceConfiguration {
    var match = DeviceMatch()
    match.localName = name
    return DeviceConfiguration(name: name, match: match)
  }

  /// Waits for a status of the first device.
  static func first(
    _ hub: Hub, where isIt: (GatewayStatus.DeviceStatus) -> Bool
  ) async throws -> GatewayStatus.DeviceStatus {
    while true {
      let device = try #require(await hub.status(of: nil, since: 0, version: "1").devices.first)
      if isIt(device) { return device }
      await Task.yield()
    }
  }

  @Test func aDeviceWithoutALinkHasAdvice() async throws {
    let air = TestAir()
    let gateway = try await TestGateway(air) { $0.devices = [Self.device("strap")] }
    let hub = gateway.hub
    var device = try await Self.first(hub) { $0.advice?.hasPrefix("never heard") == true }
    #expect(device.heard == nil)
    #expect(device.cells.contains("never"))

    let strap = try await Strap(air, name: "strap")
    device = try await Self.first(hub) { $0.state.word == "connected" }
    #expect(device.advice == nil)
    #expect(device.heard?.adapter == .air)

    strap.leave()
    device = try await Self.first(hub) { $0.advice?.hasPrefix("does not advertise") == true }
    let heard = try #require(device.heard)
    #expect(heard.age > .zero && heard.adapter == .air)
    let status = await hub.status(of: nil, since: 0, version: "1")
    #expect(status.text.contains("\nstrap: does not advertise: "))
    #expect(status.page.contains("<td colspan=\"10\">does not advertise: "))
    #expect(status.json.contains(#""heardBy":"air","advice":"does not advertise"#))
    await gateway.stop()
  }

  @Test func aDeviceThatNobodyWantsHasNoAdvice() async throws {
    let gateway = try await TestGateway(TestAir()) {
      $0.devices = [Self.device("strap")]
      $0.devices[0].isHeld = false
    }
    let status = await gateway.hub.status(of: nil, since: 0, version: "1")
    #expect(status.devices.map(\.advice) == [nil])
    await gateway.stop()
  }

  @Test func whatWaitsIsShown() async throws {
    let gateway = try await TestGateway(TestAir())
    var status = await gateway.hub.status(of: nil, since: 0, version: "1")
    status.frontEnds = [
      ("mqtt", FrontEndStatus(state: "connecting", isHealthy: false, waiting: "2 values <wait>"))
    ]
    #expect(status.text.contains("\nmqtt: connecting; 2 values <wait>\n"))
    #expect(status.page.contains("<b>mqtt</b> connecting; 2 values &lt;wait&gt;</li>"))
    #expect(status.json.contains(#""waiting":"2 values <wait>""#))
    await gateway.stop()
  }
}
