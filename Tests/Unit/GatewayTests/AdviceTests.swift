import Atto
import AttoRadio
import AttoTesting
import TestSupport
import Testing

@testable import AttoGateway

@Suite("Advice for devices without a link", .timeLimit(.minutes(5)), .oneByOne) struct AdviceTests {
  static let address = BluetoothAddress(0xC0_11_22_33_44_55, kind: .random)

  private func advice(
    kind: BluetoothAddress.Kind = .random, isConnectable: Bool = true, rssi: Int8 = -60,
    connections: Int = 4, error: AttoError? = nil
  ) async throws -> String? {
    let gateway = try await TestGateway(TestAir()) {
      var match = DeviceMatch()
      match.address = Self.address
      $0.adapters = [.hci(0)]
      $0.devices = [DeviceConfiguration(name: "strap", match: match)]
    }
    while await gateway.hub.scanner.phase != .running { await Task.yield() }
    let heard = HeardDeviceTests.heard(
      Self.address.value, kind, [], isConnectable: isConnectable, rssi: rssi)
    let found = await gateway.hub.advice(heard, connections, error)
    await gateway.stop()
    return found
  }

  @Test func anAddressOfTheOtherKind() async throws {
    let other = BluetoothAddress(Self.address.value, kind: .public)
    #expect(
      try await advice(kind: .public)
        == "its address is of another kind: write \"address\": \"\(other)\"")
  }

  @Test func aDeviceThatAcceptsNoConnections() async throws {
    #expect(try await advice(isConnectable: false)?.contains("accepts no connections") == true)
  }

  @Test func noConnectionLeft() async throws {
    #expect(try await advice(connections: 0)?.contains("all 0 connections are in use") == true)
  }

  @Test func pairingThatFails() async throws {
    let error = AttoError.pairing(peer: "strap", .keyMissing)
    #expect(try await advice(error: error)?.hasPrefix("pairing fails: set \"passkey\"") == true)
  }

  @Test func aWeakSignal() async throws {
    #expect(try await advice(rssi: -95, error: .closed)?.contains("weak (-95 dBm)") == true)
    #expect(try await advice(error: .closed) == "the gateway will try again")
    #expect(try await advice() == nil)
  }
}

extension Hub {
  /// The advice for the only device, in a state that does not change meanwhile.
  fileprivate func advice(
    _ heard: Heard, _ connections: Int, _ error: AttoError?
  ) -> String? {
    guard let device = devices.first else { return nil }
    configuration.limits.connections = connections
    radios[.hci(0)]?.present = [heard.discovery.address: heard]
    identify(device, heard)
    device.here {
      $0.state = .waiting
      $0.lastError = error
    }
    return advice(for: device, hearing(of: device))
  }
}
