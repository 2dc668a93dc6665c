import AttoFormats
import AttoTesting
import TestSupport
import Testing

@testable import AttoGateway

/// The page of the gateway tells every key and every metric.
@Suite(.oneByOne) struct PageTests {
  static func page() throws -> String {
    let sources = #filePath.split(separator: "/").dropLast(4).joined(separator: "/")
    let bytes = try ProfileField.bytes(
      ofFile: "/\(sources)/Sources/Gateway/Gateway/Gateway.docc/Gateway.md")
    return String(decoding: bytes, as: UTF8.self)
  }

  @Test(arguments: [
    Configuration.keys, Configuration.Limits.keys, Configuration.Advertisements.keys,
    Configuration.ESPHome.keys, Configuration.MQTT.keys, DeviceConfiguration.keys,
    DeviceMatch.keys, SequenceStep.kinds, ControlConfiguration.keys, SensorConfiguration.keys,
    ControlConfiguration.Component.allCases.map(\.rawValue),
    ControlNumber.Format.allCases.map(\.rawValue),
  ])
  func everyKeyIsThere(keys: [String]) throws {
    let page = try Self.page()
    for key in keys { #expect(page.contains("`\(key)`"), "\(key)") }
  }

  @Test func everyMetricIsThere() async throws {
    let gateway = try await TestGateway(TestAir())
    let status = await gateway.hub.status(of: nil, since: 0, version: "1")
    let page = try Self.page()
    for line in status.metrics.split(separator: "\n") where line.hasPrefix("# TYPE ") {
      let name = line.split(separator: " ")[2]
      #expect(page.contains("`\(name)`") || page.contains("`\(name){"), "\(name)")
    }
    await gateway.stop()
  }

  @Test func theExampleIsValid() throws {
    let parts = try Self.page().split(separator: "<!-- file: gateway.json -->\n```json\n")
    let example = try #require(parts.last).split(separator: "```")[0]
    let configuration = try ConfigurationTests.read(String(example))
    #expect(configuration.devices.map(\.name) == ["strap"])
  }
}
