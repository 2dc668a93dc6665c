import TestSupport
import Testing

@testable import Atto

/// Errors when a simulated link cannot pair.
@Suite(.timeLimit(.minutes(5)), .oneByOne) struct AirPairingTests {
  private struct Person: PairingAgent {
    let capability: PairingCapability
    var passkey: UInt32?
    func passkey(shownBy peer: BluetoothAddress) async -> UInt32? { passkey }
  }

  /// A server with a value that requires an authenticated key, and a central.
  private static func scene(
    _ agent: Person
  ) async throws -> (Adapter, Adapter, AttributeHandle, ServerListener, TemporaryFolder) {
    let air = TemporaryFolder()
    let server = LocalServer(Database(), loop: serverLoop)
    let layout = try await server.add(
      ServiceDefinition(
        0xA000,
        characteristics: [
          CharacteristicDefinition(
            0xB000, properties: .read, value: .stored([7]),
            permissions: AttributePermissions(read: .requires(.init(security: .high))))
        ]))
    let radio = try Adapter.virtual(name: "Strap", folder: air.path, loop: serverLoop)
    var options = ListenOptions(advertising: AdvertisingData(localName: "Strap"))
    options.agent = agent
    let listener = try await server.advertise(on: radio, options: options)
    let central = try Adapter.virtual(name: "Phone", folder: air.path, loop: .shared)
    return (radio, central, layout.characteristics[0].valueHandle, listener, air)
  }

  private static var onDemand: ConnectionOptions {
    var options = ConnectionOptions()
    options.securityOnDemand = .fips
    return options
  }

  @Test func aWrongPasskey() async throws {
    try await withDeadline {
      let (_, central, handle, listener, air) = try await Self.scene(Person(capability: .display))
      defer { withExtendedLifetime((listener, air)) {} }
      try await central.setAgent(Person(capability: .keyboard, passkey: 1))
      let connection = try await Connection.connect(
        to: .air("Strap"), options: Self.onDemand, adapter: central)
      #expect(
        await failure { try await connection.readOnce(handle) }
          == .pairing(peer: "air:Strap", .disagreement(.entered)))
    }
  }

  @Test func anEndThatCanNothing() async throws {
    try await withDeadline {
      let (_, central, handle, listener, air) = try await Self.scene(Person(capability: .display))
      defer { withExtendedLifetime((listener, air)) {} }
      try await central.setAgent(JustWorksAgent())
      let connection = try await Connection.connect(
        to: .air("Strap"), options: Self.onDemand, adapter: central)
      let response = ErrorResponse(
        request: .readRequest, handle: handle, code: .insufficientAuthentication)
      #expect(
        await failure { try await connection.readOnce(handle) }
          == .insufficientSecurity(response, .noDisplayOrKeyboard))
      #expect(try await connection.security.level == .medium)
    }
  }

  @Test func aBondThatThePeerHasForgotten() async throws {
    try await withDeadline {
      let (radio, central, handle, listener, air) = try await Self.scene(Person(capability: .none))
      defer { withExtendedLifetime((listener, air)) {} }
      try await central.setAgent(JustWorksAgent())
      try await central.pair(with: radio.address)
      try await until { (try? await radio.unpair(central.address)) != nil }
      let error = await failure {
        let connection = try await Connection.connect(
          to: .air("Strap"), options: Self.onDemand, adapter: central)
        _ = try await connection.readOnce(handle)
      }
      #expect(error == .pairing(peer: "air:Strap", .keyMissing))
      #expect(error?.description.contains("forgotten the bond") == true)
    }
  }
}
