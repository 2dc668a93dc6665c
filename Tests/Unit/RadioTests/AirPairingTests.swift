import AttoATT
import AttoEventLoop
import AttoLinks
import TestSupport
import Testing

@testable import AttoRadio
@testable import AttoVirtualRadio

/// A scripted agent, which records its calls.
actor PlayedAgent: PairingAgent {
  nonisolated let capability: PairingCapability
  private let says: Bool
  /// The passkey to enter; nil: the one that the other agent shows.
  private let entry: UInt32?
  /// Does not answer a comparison before pairing has failed.
  private let hesitates: Bool
  private var other: PlayedAgent?
  private(set) var told: [String] = []
  private var shown: UInt32?
  private var waiters: [(until: String, CheckedContinuation<Void, Never>)] = []
  private var shownWaiters: [CheckedContinuation<UInt32, Never>] = []

  init(
    _ capability: PairingCapability, says: Bool = true, enters entry: UInt32? = nil,
    hesitates: Bool = false
  ) {
    self.hesitates = hesitates
    self.capability = capability
    self.says = says
    self.entry = entry
  }

  func look(at other: PlayedAgent) { self.other = other }

  private func note(_ event: String) {
    told.append(event)
    for waiter in waiters where event.hasPrefix(waiter.until) { waiter.1.resume() }
    waiters.removeAll { event.hasPrefix($0.until) }
  }

  /// Waits for an event with this beginning.
  func wait(for event: String) async {
    guard !told.contains(where: { $0.hasPrefix(event) }) else { return }
    await withCheckedContinuation { waiters.append((event, $0)) }
  }

  private func awaitShown() async -> UInt32 {
    if let shown { return shown }
    return await withCheckedContinuation { shownWaiters.append($0) }
  }

  func accepts(_ peer: BluetoothAddress) async -> Bool {
    note("accepts")
    return says
  }

  func matches(_ value: UInt32, shownBy peer: BluetoothAddress) async -> Bool {
    note("matches")
    shown = value
    if hesitates { await wait(for: "failed") }
    return says
  }

  func passkey(shownBy peer: BluetoothAddress) async -> UInt32? {
    note("passkey")
    guard says else { return nil }
    if let entry { return entry }
    return await other?.awaitShown()
  }

  func show(_ passkey: UInt32, to peer: BluetoothAddress, entered: Int) async {
    note("show")
    shown = passkey
    for waiter in shownWaiters { waiter.resume(returning: passkey) }
    shownWaiters = []
  }

  func paired(with peer: BluetoothAddress) async { note("paired") }

  func failed(_ peer: BluetoothAddress, _ failure: PairingFailure) async {
    note("failed \(failure)")
  }
}

/// Pairing on the virtual air.
@Suite(.timeLimit(.minutes(5)), .oneByOne) struct AirPairingTests {
  let air: Air
  init() throws { air = Air() }

  private struct Scene {
    let strap: Adapter
    let phone: Adapter
    let advertisement: Advertisement
    let held: Task<Void, Never>

    func pair() async throws { try await phone.pair(with: strap.address) }
  }

  /// A peripheral that accepts every connection, and a central, each with an agent.
  private func scene(_ strap: PlayedAgent?, _ phone: PlayedAgent?) async throws -> Scene {
    let peripheral = try air.adapter("Strap")
    let central = try air.adapter("Phone")
    try await peripheral.setAgent(strap)
    try await central.setAgent(phone)
    if let strap, let phone {
      await strap.look(at: phone)
      await phone.look(at: strap)
    }
    let advertisement = try await peripheral.advertise(AttoRadio.AdvertisingParameters.strap)
    let held = Task(executorPreference: peripheral.loop.tasks) {
      var links: [any Link] = []
      for await connected in advertisement.links { links.append(connected.unwrap()) }
      for link in links { link.close() }
    }
    return Scene(strap: peripheral, phone: central, advertisement: advertisement, held: held)
  }

  /// The security of a link between the two that was raised to this level.
  private func security(_ scene: Scene, _ level: SecurityLevel) async throws -> LinkSecurity {
    let end = End(try await scene.phone.connect(to: scene.strap.address))
    try await end.raise(level)
    await end.reach(level)
    let security = await end.security
    await end.close()
    return security
  }

  static let capabilities = PairingCapability.allCases

  /// Each combination of capabilities results in the level of its method.
  @Test(arguments: capabilities, capabilities)
  func everyTwoCapabilities(_ asker: PairingCapability, _ other: PairingCapability) async throws {
    let method = AirPairingMethod(initiator: asker, responder: other)
    let strap = PlayedAgent(other, enters: method == .bothEnter ? 123_456 : nil)
    let phone = PlayedAgent(asker, enters: method == .bothEnter ? 123_456 : nil)
    let scene = try await scene(strap, phone)
    try await scene.pair()
    await strap.wait(for: "paired")
    await phone.wait(for: "paired")
    let asked: (String, String) =
      switch method {
      case .justWorks: ("accepts", "accepts")
      case .compare: ("matches", "matches")
      case .initiatorEnters: ("passkey", "show")
      case .responderEnters: ("show", "passkey")
      case .bothEnter: ("passkey", "passkey")
      }
    #expect(await phone.told == [asked.0, "paired"])
    #expect(await strap.told == [asked.1, "paired"])
    // The bond has the same level, and the agents are not asked again.
    #expect(try await security(scene, .medium) == LinkSecurity(method.level))
    #expect(await phone.told.count == 2)
    scene.advertisement.stop()
  }

  @Test func justWorksIsNotAuthenticated() async throws {
    let strap = PlayedAgent(.none)
    let scene = try await scene(strap, PlayedAgent(.keyboardDisplay))
    let end = End(try await scene.phone.connect(to: scene.strap.address))
    await end.prepare()
    try await end.raise(.high)
    await #expect(throws: LinkError.self) { _ = try await end.receive() }
    #expect(
      await scene.phone.pairingFailure(of: scene.strap.address, within: .zero)
        == .disagreement(.nothing))
    await strap.wait(for: "failed")
    scene.advertisement.stop()
  }

  @Test func aWrongPasskeyIsReportedAtBothEnds() async throws {
    // Right by chance once in a million runs.
    let strap = PlayedAgent(.display)
    let phone = PlayedAgent(.keyboard, enters: 424_242)
    let scene = try await scene(strap, phone)
    await #expect(
      throws: RadioError.pairing(scene.strap.address, .disagreement(.entered))
    ) { try await scene.pair() }
    await strap.wait(for: "failed \(PairingFailure.disagreement(.shown))")
    await phone.wait(for: "failed \(PairingFailure.disagreement(.entered))")
    scene.advertisement.stop()
  }

  @Test(arguments: [PairingCapability.none, .displayYesNo, .keyboard])
  func refusedByTheResponder(_ capability: PairingCapability) async throws {
    let strap = PlayedAgent(capability, says: false)
    let scene = try await scene(strap, PlayedAgent(.displayYesNo))
    await #expect(throws: RadioError.self) { try await scene.pair() }
    await strap.wait(for: "failed \(PairingFailure.disagreement(.refused))")
    scene.advertisement.stop()
  }

  @Test(arguments: [PairingCapability.none, .displayYesNo, .keyboard])
  func refusedByTheInitiator(_ capability: PairingCapability) async throws {
    let strap = PlayedAgent(.keyboardDisplay)
    let scene = try await scene(strap, PlayedAgent(capability, says: false))
    await #expect(
      throws: RadioError.pairing(scene.strap.address, .disagreement(.refused))
    ) { try await scene.pair() }
    await strap.wait(for: "failed")
    scene.advertisement.stop()
  }

  /// The initiator refuses while the responder still compares. The responder's failure says so.
  @Test func refusedByTheInitiatorBeforeTheResponderHasAnswered() async throws {
    let strap = PlayedAgent(.displayYesNo, hesitates: true)
    let scene = try await scene(strap, PlayedAgent(.displayYesNo, says: false))
    await #expect(
      throws: RadioError.pairing(scene.strap.address, .disagreement(.refused))
    ) { try await scene.pair() }
    await strap.wait(for: "failed \(PairingFailure.disagreement(.compared))")
    scene.advertisement.stop()
  }

  @Test func aBondThatThePeerHasForgotten() async throws {
    let strap = PlayedAgent(.none)
    let phone = PlayedAgent(.none)
    let scene = try await scene(strap, phone)
    try await scene.pair()
    await strap.wait(for: "paired")
    try await scene.strap.unpair(scene.phone.address)
    await #expect(throws: RadioError.pairing(scene.strap.address, .keyMissing)) {
      try await scene.pair()
    }
    // The remedy of the message works.
    try await scene.phone.unpair(scene.strap.address)
    try await scene.pair()
    await #expect(throws: RadioError.notPaired(BluetoothAddress(5))) {
      try await scene.phone.unpair(BluetoothAddress(5))
    }
    scene.advertisement.stop()
  }

  /// The other end disconnects while its agent is asked.
  @Test func aPeerThatVanishes() async throws {
    let phone = PlayedAgent(.keyboard)
    let strap = PlayedAgent(.display)
    let scene = try await scene(strap, phone)
    // Waits for a number that is not shown.
    await phone.look(at: PlayedAgent(.display))
    let pairing = Task { try await scene.pair() }
    await phone.wait(for: "passkey")
    scene.advertisement.stop()
    scene.held.cancel()
    await scene.held.value
    let error = await #expect(throws: RadioError.self) { try await pairing.value }
    #expect(error == .pairing(scene.strap.address, .linkLost))
  }

  /// The timeout includes the time to connect.
  @Test func pairingTimesOut() async throws {
    let phone = PlayedAgent(.keyboard)
    let scene = try await scene(PlayedAgent(.display), phone)
    await phone.look(at: PlayedAgent(.display))
    await #expect(throws: RadioError.pairing(scene.strap.address, .timeout)) {
      try await scene.phone.pair(with: scene.strap.address, timeout: .seconds(2))
    }
    scene.advertisement.stop()
  }

  /// A responder without an agent grants every level, if the initiator accepts it.
  @Test func aResponderWithoutAgent() async throws {
    let phone = PlayedAgent(.none)
    let scene = try await scene(nil, phone)
    #expect(try await security(scene, .fips) == LinkSecurity(.fips))
    #expect(await phone.told == ["accepts"])
    scene.advertisement.stop()
  }

  /// An initiator without an agent has no input and no output.
  @Test func anInitiatorWithoutAgent() async throws {
    let strap = PlayedAgent(.keyboardDisplay)
    let scene = try await scene(strap, nil)
    #expect(try await security(scene, .medium) == LinkSecurity(.medium))
    #expect(await strap.told == ["accepts"])
    let end = End(try await scene.phone.connect(to: scene.strap.address))
    await end.prepare()
    try await end.raise(.high)
    await #expect(throws: LinkError.self) { _ = try await end.receive() }
    scene.advertisement.stop()
  }

  @Test func bothEndsAskAtOnce() async throws {
    let strap = PlayedAgent(.displayYesNo)
    let phone = PlayedAgent(.displayYesNo)
    let peripheral = try air.adapter("Strap")
    let central = try air.adapter("Phone")
    try await peripheral.setAgent(strap)
    try await central.setAgent(phone)
    let advertisement = try await peripheral.advertise(.strap)
    let one = End(try await central.connect(to: peripheral.address))
    let links = advertisement.links.makeAsyncIterator()
    let two = End(try #require(await links.next()))
    await one.prepare()
    await two.prepare()
    try await one.raise(.medium)
    try await two.raise(.high)
    await one.reach(.fips)
    await two.reach(.fips)
    #expect(await one.security == LinkSecurity(.fips))
  }
}

extension AdvertisingParameters {
  fileprivate static var strap: AdvertisingParameters {
    AdvertisingParameters(AdvertisingData(localName: "Strap"))
  }
}
