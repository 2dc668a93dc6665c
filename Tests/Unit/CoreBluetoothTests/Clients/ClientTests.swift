import Foundation
import TestSupport
import Testing

@testable import AttoCoreBluetooth

/// Clients as for iOS, without any of this module's extensions, on the virtual air.
@Suite(.serialized, .oneByOne) struct ClientTests {
  /// The radio of Apple's initializers, from the environment.
  private func on<Made>(_ radio: CBRadio, _ make: () -> Made) -> Made {
    guard case .air(let name?) = radio else { preconditionFailure("no air") }
    setenv("ATTO_RADIO", "air:\(name)", 1)
    defer { unsetenv("ATTO_RADIO") }
    return make()
  }

  @Test func thermometer() async throws {
    let log = EventLog()
    let device = on(Sandbox.radio()) {
      ThermometerDevice(queue: DispatchQueue(label: "thermometer"))
    }
    let app = on(Sandbox.radio()) {
      ThermometerApp(
        queue: DispatchQueue.global(qos: .userInitiated),
        onState: { log.add("state \($0)") }, onSite: { log.add("site \($0)") },
        onTemperature: { log.add("temperature \(String(format: "%.1f", $0))") })
    }
    for state in ["scanning", "connecting", "discovering", "subscribing"] {
      try await log.next("state \(state)")
    }
    try await log.next("state receiving")
    for tenths in 366..<416 {
      try await log.next("temperature \(String(format: "%.1f", Double(tenths) / 10))")
    }
    #expect(log.all.contains("site 6"))
    withExtendedLifetime((device, app)) {}
    #expect(ThermometerApp.celsius(Data([1, 0xDA, 0x03, 0, 0xFF])).map { Int($0 * 10) } == 370)
  }

  @Test func firmwareUpdate() async throws {
    let target = on(Sandbox.radio()) { FirmwareTarget(queue: DispatchQueue(label: "target")) }
    let updater = on(Sandbox.radio()) { FirmwareUpdater() }
    let image = Data((0..<500_000).map { UInt8(truncatingIfNeeded: $0 &* 7 &+ $0 >> 7) })
    try await updater.update(with: image)
    #expect(target.installed == image)
    #expect(updater.progress > 0.9)
    #expect(updater.fullStops > 0, "the flow control was never needed")
    // Too large for the device: refused with an application error.
    await #expect(throws: FirmwareUpdater.Failure.refused(0x81)) {
      try await updater.update(with: Data(count: FirmwareTarget.limit + 1))
    }
    // Again, on a new connection.
    try await updater.update(with: image.prefix(1000))
    #expect(target.installed?.count == 1000)
  }
}
