import Atto
import AttoATT
import AttoRadio

extension BTPService {
  private static let periodic = BTPCommandSupport.Support.none(
    "periodic advertising is not part of Atto")
  private static let isochronous = BTPCommandSupport.Support.none(
    "isochronous channels are not part of Atto")
  private static let kernelSetting = BTPCommandSupport.Support.none(
    "a setting of the kernel's adapter: use btmgmt")
  private static let outOfBand = BTPCommandSupport.Support.none(
    "Atto does not pair out of band")

  /// auto-pts, doc/btp_gap.txt.
  static let gapCommands = [
    BTPCommandSupport(0x01, "Read Supported Commands"),
    BTPCommandSupport(0x02, "Read Controller Index List"),
    BTPCommandSupport(0x03, "Read Controller Information"),
    BTPCommandSupport(0x04, "Reset", .partly("removes the bonds of this run only")),
    BTPCommandSupport(0x05, "Set Powered", .partly("a simulated radio cannot be switched off")),
    BTPCommandSupport(0x06, "Set Connectable"),
    BTPCommandSupport(0x07, "Set Fast Connectable", .none("BR/EDR")),
    BTPCommandSupport(0x08, "Set Discoverable"),
    BTPCommandSupport(
      0x09, "Set Bondable", .partly("off is reported, but pairing still makes a bond")),
    BTPCommandSupport(
      0x0A, "Start Advertising",
      .partly("31 octets each, with the identity address; the duration is in seconds")),
    BTPCommandSupport(0x0B, "Stop Advertising"),
    BTPCommandSupport(0x0C, "Start Discovery", .partly("no BR/EDR")),
    BTPCommandSupport(0x0D, "Stop Discovery"),
    BTPCommandSupport(0x0E, "Connect", .partly("with the identity address")),
    BTPCommandSupport(0x0F, "Disconnect"),
    BTPCommandSupport(0x10, "Set IO Capability"),
    BTPCommandSupport(0x11, "Pair"),
    BTPCommandSupport(0x12, "Unpair"),
    BTPCommandSupport(0x13, "Passkey Entry Response"),
    BTPCommandSupport(0x14, "Passkey Confirmation Response"),
    BTPCommandSupport(
      0x15, "Start Directed Advertising", .none("the kernel has no interface for it")),
    BTPCommandSupport(
      0x16, "Connection Parameters Update",
      .partly("sets what the kernel prefers for the peer; fails on simulated radios")),
    BTPCommandSupport(
      0x17, "Pairing Consent Response", .none("every peer may pair, so there is no such event")),
    BTPCommandSupport(0x18, "OOB Legacy Set Data", outOfBand),
    BTPCommandSupport(0x19, "OOB SC Get Local Data", outOfBand),
    BTPCommandSupport(0x1A, "OOB SC Set Remote Data", outOfBand),
    BTPCommandSupport(0x1B, "Set MITM", .partly("applies to Pair")),
    BTPCommandSupport(
      0x1C, "Set Filter Accept List", .partly("kept here, not in the controller")),
    BTPCommandSupport(0x1D, "Set Privacy", kernelSetting),
    BTPCommandSupport(0x1E, "Set SC Only", kernelSetting),
    BTPCommandSupport(0x1F, "Set Secure Connections", kernelSetting),
    BTPCommandSupport(0x20, "Set Minimum Encryption Key Size", kernelSetting),
    BTPCommandSupport(0x21, "Set Extended Advertising", .none("Atto advertises 31 octets")),
    BTPCommandSupport(0x22, "Configure Periodic Advertising", periodic),
    BTPCommandSupport(0x23, "Periodic Advertising Start", periodic),
    BTPCommandSupport(0x24, "Periodic Advertising Stop", periodic),
    BTPCommandSupport(0x25, "Periodic Advertising Set Advertising Data", periodic),
    BTPCommandSupport(0x26, "Create Periodic Advertising Sync", periodic),
    BTPCommandSupport(0x27, "Periodic Advertising Set Transfer Info", periodic),
    BTPCommandSupport(0x28, "Periodic Advertising Transfer Start", periodic),
    BTPCommandSupport(0x29, "Periodic Advertising Transfer Receive", periodic),
    BTPCommandSupport(0x2A, "Pair V2", .partly("mode 1 only; cannot force another pairing")),
    BTPCommandSupport(
      0x2B, "Connection Subrate",
      .none("Linux does not let the controller's event about the result through")),
    BTPCommandSupport(0x2C, "Synchronize to a BIG", isochronous),
    BTPCommandSupport(0x2D, "Create BIG", isochronous),
    BTPCommandSupport(0x2E, "BIS Broadcast", isochronous),
    BTPCommandSupport(0x2F, "Set LE Discovery Parameters", kernelSetting),
    BTPCommandSupport(0x30, "Set RPA Timeout", kernelSetting),
    BTPCommandSupport(0x31, "Set EAD Key Material"),
    BTPCommandSupport(0x32, "Encrypt EAD Data"),
    BTPCommandSupport(0x33, "Decrypt EAD Data"),
    BTPCommandSupport(0x34, "Configure Periodic Advertising with Responses", periodic),
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

  /// The GAP service.
  func handleGAP(
    _ command: BTPFrame, _ parameters: inout BTPParameters
  ) async throws(BTPStatus) -> [UInt8]? {
    switch command.opcode {
    case 0x02:
      try parameters.end()
      return [1, index]
    case 0x03:
      try parameters.end()
      return await controllerInformation()
    case 0x04:
      try parameters.end()
      await reset()
    case 0x05: try await setPowered(try parameters.flag(), parameters)
    case 0x06:
      let isOn = try parameters.flag()
      try parameters.end()
      gap.isConnectable = isOn
    case 0x08:
      let mode = BTPGAPState.Discoverable(rawValue: try parameters.number())
      try parameters.end()
      guard let mode else { throw .fail }
      gap.discoverable = mode
    case 0x09:
      let isOn = try parameters.flag()
      try parameters.end()
      gap.isBondable = isOn
    case 0x0A: try await startAdvertising(&parameters)
    case 0x0B:
      try parameters.end()
      stopAdvertising()
    case 0x0C...0x0D: return try handleDiscovery(command, &parameters)
    case 0x31...0x33: return try handleEncrypting(command, &parameters)
    case 0x0E...0x0F, 0x16, 0x1C: return try await handleConnecting(command, &parameters)
    default: return try await handlePairing(command, &parameters)
    }
    return await settings()
  }

  private func controllerInformation() async -> [UInt8] {
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

  private func setPowered(_ isOn: Bool, _ parameters: BTPParameters) async throws(BTPStatus) {
    try parameters.end()
    do throws(RadioError) {
      if isOn { try await adapter.powerOn() } else { try await adapter.powerOff() }
    } catch {
      note("power", error)
      throw .fail
    }
  }

  private func reset() async {
    endGAP()
    for peer in peers.values { await disconnect(peer) }
    for bond in gap.bonds { try? await adapter.unpair(bond) }
    gap = BTPGAPState()
    try? await adapter.setAgent(BTPAgent(.none, self))
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
