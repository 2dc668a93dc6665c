import Atto
import AttoATT
import AttoRadio

extension BTPService {
  private static let periodic = "periodic advertising is not part of Atto"
  private static let isochronous = "isochronous channels are not part of Atto"
  private static let kernelSetting = "a setting of the kernel's adapter: use btmgmt"
  private static let outOfBand = "Atto does not pair out of band"

  /// auto-pts, doc/btp_gap.txt.
  static let gapCommands = [
    gap.readSupportedCommands,
    BTPServiceCommand(0x02, "Read Controller Index List") {
      try $2.end()
      return [1, $0.index]
    },
    BTPServiceCommand(0x03, "Read Controller Information") {
      try await $0.controllerInformation(&$2)
    },
    BTPServiceCommand(0x04, "Reset", except: "removes the bonds of this run only") {
      try await $0.reset(&$2)
    },
    BTPServiceCommand(0x05, "Set Powered", except: "a simulated radio cannot be switched off") {
      try await $0.setPowered(&$2)
    },
    BTPServiceCommand(0x06, "Set Connectable") {
      try $0.set(\.isConnectable, &$2)
      return await $0.settings()
    },
    BTPServiceCommand(0x07, "Set Fast Connectable", missing: "BR/EDR"),
    BTPServiceCommand(0x08, "Set Discoverable") { try await $0.setDiscoverable(&$2) },
    BTPServiceCommand(
      0x09, "Set Bondable", except: "off is reported, but pairing still makes a bond"
    ) {
      try $0.set(\.isBondable, &$2)
      return await $0.settings()
    },
    BTPServiceCommand(
      0x0A, "Start Advertising",
      except: "31 octets each, with the identity address; the duration is in seconds"
    ) {
      try await $0.startAdvertising(&$2)
    },
    BTPServiceCommand(0x0B, "Stop Advertising") { try await $0.stopAdvertising(&$2) },
    BTPServiceCommand(0x0C, "Start Discovery", except: "no BR/EDR") { try $0.startDiscovery(&$2) },
    BTPServiceCommand(0x0D, "Stop Discovery") { try $0.stopDiscovery(&$2) },
    BTPServiceCommand(0x0E, "Connect", except: "with the identity address") {
      try $0.connect(&$2)
    },
    BTPServiceCommand(0x0F, "Disconnect") { try await $0.disconnect(&$2) },
    BTPServiceCommand(0x10, "Set IO Capability") { try await $0.setCapability(&$2) },
    BTPServiceCommand(0x11, "Pair") { try $0.pair(&$2) },
    BTPServiceCommand(0x12, "Unpair") { try await $0.unpair(&$2) },
    BTPServiceCommand(0x13, "Passkey Entry Response") { try $0.enterPasskey(&$2) },
    BTPServiceCommand(0x14, "Passkey Confirmation Response") { try $0.confirmPasskey(&$2) },
    BTPServiceCommand(
      0x15, "Start Directed Advertising", missing: "the kernel has no interface for it"),
    BTPServiceCommand(
      0x16, "Connection Parameters Update",
      except: "sets what the kernel prefers for the peer; fails on simulated radios"
    ) {
      try await $0.updateParameters(&$2)
    },
    BTPServiceCommand(
      0x17, "Pairing Consent Response",
      missing: "every peer may pair, so there is no such event"),
    BTPServiceCommand(0x18, "OOB Legacy Set Data", missing: outOfBand),
    BTPServiceCommand(0x19, "OOB SC Get Local Data", missing: outOfBand),
    BTPServiceCommand(0x1A, "OOB SC Set Remote Data", missing: outOfBand),
    BTPServiceCommand(0x1B, "Set MITM", except: "applies to Pair") {
      try $0.set(\.requiresMITM, &$2)
      return []
    },
    BTPServiceCommand(
      0x1C, "Set Filter Accept List", except: "kept here, not in the controller"
    ) {
      try $0.setAcceptList(&$2)
    },
    BTPServiceCommand(0x1D, "Set Privacy", missing: kernelSetting),
    BTPServiceCommand(0x1E, "Set SC Only", missing: kernelSetting),
    BTPServiceCommand(0x1F, "Set Secure Connections", missing: kernelSetting),
    BTPServiceCommand(0x20, "Set Minimum Encryption Key Size", missing: kernelSetting),
    BTPServiceCommand(0x21, "Set Extended Advertising", missing: "Atto advertises 31 octets"),
    BTPServiceCommand(0x22, "Configure Periodic Advertising", missing: periodic),
    BTPServiceCommand(0x23, "Periodic Advertising Start", missing: periodic),
    BTPServiceCommand(0x24, "Periodic Advertising Stop", missing: periodic),
    BTPServiceCommand(0x25, "Periodic Advertising Set Advertising Data", missing: periodic),
    BTPServiceCommand(0x26, "Create Periodic Advertising Sync", missing: periodic),
    BTPServiceCommand(0x27, "Periodic Advertising Set Transfer Info", missing: periodic),
    BTPServiceCommand(0x28, "Periodic Advertising Transfer Start", missing: periodic),
    BTPServiceCommand(0x29, "Periodic Advertising Transfer Receive", missing: periodic),
    BTPServiceCommand(
      0x2A, "Pair V2", except: "mode 1 only; cannot force another pairing"
    ) {
      try $0.pairV2(&$2)
    },
    BTPServiceCommand(
      0x2B, "Connection Subrate",
      missing: "Linux does not let the controller's event about the result through"),
    BTPServiceCommand(0x2C, "Synchronize to a BIG", missing: isochronous),
    BTPServiceCommand(0x2D, "Create BIG", missing: isochronous),
    BTPServiceCommand(0x2E, "BIS Broadcast", missing: isochronous),
    BTPServiceCommand(0x2F, "Set LE Discovery Parameters", missing: kernelSetting),
    BTPServiceCommand(0x30, "Set RPA Timeout", missing: kernelSetting),
    BTPServiceCommand(0x31, "Set EAD Key Material") { try $0.setKeyMaterial(&$2) },
    BTPServiceCommand(0x32, "Encrypt EAD Data") { try $0.encryptData(&$2) },
    BTPServiceCommand(0x33, "Decrypt EAD Data") { try $0.decryptData(&$2) },
    BTPServiceCommand(0x34, "Configure Periodic Advertising with Responses", missing: periodic),
  ]
}

/// What the GAP service has set and started.
struct BTPGAPState {
  struct Settings: OptionSet {
    let rawValue: UInt32
    static let powered = Settings(rawValue: 1 << 0)
    static let connectable = Settings(rawValue: 1 << 1)
    static let discoverable = Settings(rawValue: 1 << 3)
    static let bondable = Settings(rawValue: 1 << 4)
    static let lowEnergy = Settings(rawValue: 1 << 9)
    static let advertising = Settings(rawValue: 1 << 10)
    static let secureConnections = Settings(rawValue: 1 << 11)
    static let staticAddress = Settings(rawValue: 1 << 15)
  }

  enum Discoverable: UInt8 { case no, general, limited }

  var isConnectable = false
  var discoverable = Discoverable.no
  var isBondable = true
  var requiresMITM = false
  var capability = PairingCapability.none
  var acceptList: [BluetoothAddress] = []
  var advertisement: Advertisement?
  /// Accepts the connections of the advertisement, and ends it after its duration.
  var advertising: [Task<Void, Never>] = []
  var discovery: Task<Void, Never>?
  /// The attempts to connect, by address; 0: to a peer of the accept list.
  var attempts: [UInt64: Task<Void, Never>] = [:]
  /// What the agent waits for, by the address of the peer.
  var questions: [UInt64: CheckedContinuation<UInt32?, Never>] = [:]
  /// The keys of encrypted advertising data.
  var keys: AdvertisingKeyMaterial?
  /// The bonds of this run.
  var bonds: Set<BluetoothAddress> = []
}

extension BTPTester {
  func beginGAP() async throws {
    try await adapter.setAgent(BTPAgent(.none, self))
    let adapter = adapter
    start {
      for await state in await adapter.states().dropFirst() { await self.adapterIs(state) }
    }
  }

  private func adapterIs(_ state: AdapterState) async {
    if state == .gone { return fail(RadioError.unplugged(adapter.label)) }
    await sendSettings()
  }

  func sendSettings() async { send(0x80, of: .gap, await settings()) }

  func settings() async -> [UInt8] {
    var now: BTPGAPState.Settings = [.lowEnergy]
    if await adapter.state == .poweredOn { now.insert(.powered) }
    if gap.isConnectable { now.insert(.connectable) }
    if gap.discoverable != .no { now.insert(.discoverable) }
    if gap.isBondable { now.insert(.bondable) }
    if gap.advertisement != nil { now.insert(.advertising) }
    // Testers take the address for a public one otherwise.
    if adapter.address.kind == .random { now.insert(.staticAddress) }
    return now.rawValue.octets(4)
  }

  // MARK: Commands

  fileprivate func controllerInformation(
    _ parameters: inout BTPParameters
  ) async throws(BTPStatus) -> [UInt8] {
    try parameters.end()
    let supported: BTPGAPState.Settings = [
      .powered, .connectable, .discoverable, .bondable, .lowEnergy, .advertising,
      .secureConnections, .staticAddress,
    ]
    func text(_ text: String, _ length: Int) -> [UInt8] {
      let octets = Array(text.utf8.prefix(length - 1))
      return octets + [UInt8](repeating: 0, count: length - octets.count)
    }
    let classOfDevice: [UInt8] = [0, 0, 0]
    return adapter.address.littleEndian + supported.rawValue.octets(4) + (await settings())
      + classOfDevice + text(adapter.name, 249) + text("", 11)
  }

  fileprivate func reset(_ parameters: inout BTPParameters) async throws(BTPStatus) -> [UInt8] {
    try parameters.end()
    endGAP()
    for peer in peers.values { await disconnect(peer) }
    for bond in gap.bonds { try? await adapter.unpair(bond) }
    gap = BTPGAPState()
    try? await adapter.setAgent(BTPAgent(.none, self))
    return await settings()
  }

  fileprivate func setPowered(_ parameters: inout BTPParameters) async throws -> [UInt8] {
    let isOn = try parameters.flag()
    try parameters.end()
    if isOn { try await adapter.powerOn() } else { try await adapter.powerOff() }
    return await settings()
  }

  fileprivate func set(
    _ setting: WritableKeyPath<BTPGAPState, Bool>, _ parameters: inout BTPParameters
  ) throws(BTPStatus) {
    let isOn = try parameters.flag()
    try parameters.end()
    gap[keyPath: setting] = isOn
  }

  fileprivate func setDiscoverable(
    _ parameters: inout BTPParameters
  ) async throws(BTPStatus) -> [UInt8] {
    let mode = BTPGAPState.Discoverable(rawValue: try parameters.number())
    try parameters.end()
    guard let mode else { throw .fail }
    gap.discoverable = mode
    return await settings()
  }

  /// Ends what is under way, but no connection.
  func endGAP() {
    stopAdvertising()
    stopDiscovery()
    for attempt in gap.attempts.values { attempt.cancel() }
    gap.attempts = [:]
    for question in gap.questions.values { question.resume(returning: nil) }
    gap.questions = [:]
  }
}
