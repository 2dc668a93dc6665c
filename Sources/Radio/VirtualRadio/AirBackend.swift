public import AttoATT
public import AttoEventLoop
public import AttoLinks
public import AttoRadio
import Glibc

extension Adapter {
  /// Opens a radio of the virtual air: radios of processes on this machine find each other in a
  /// folder and connect over Unix sockets, without a daemon and without Bluetooth. A process that
  /// ends, however it does, takes its radios off the air. A radio does not hear itself.
  ///
  /// With a name or an address the address is claimed at once. Without, the radio has a random
  /// address, which is claimed when it first advertises.
  ///
  /// - Parameters:
  ///   - name: 1 to 64 octets. The address is derived from it if none is given.
  ///   - address: used as a random address.
  ///   - folder: the folder of the air; by default `$ATTO_AIR`, else `$XDG_RUNTIME_DIR/atto-air`,
  ///     else `/tmp/atto-air-UID`. It is created if it is missing.
  ///   - maximumSecurity: a key of 7 to 16 octets, or `.low` for a radio that cannot encrypt.
  ///   - loop: the loop on which everything runs.
  /// - Throws: `folder`, `invalidName`, `addressInUse`, or a system error.
  public static func virtual(
    name: String? = nil, address: BluetoothAddress? = nil, folder: String? = nil,
    maximumSecurity: LinkSecurity = LinkSecurity(.fips), loop: Loop = .shared
  ) throws(RadioError) -> Adapter {
    Adapter(
      try AirBackend(
        name: name, address: address, folder: folder, maximumSecurity: maximumSecurity, loop: loop),
      loop: loop)
  }

  /// Opens a radio of the virtual air with this name or address; nil: with neither.
  ///
  /// - Throws: what ``virtual(name:address:folder:maximumSecurity:loop:)`` throws.
  public static func virtual(
    _ own: PeerTarget?, loop: Loop = .shared
  ) throws(RadioError) -> Adapter {
    switch own {
    case nil: try virtual(loop: loop)
    case .name(let name): try virtual(name: name, loop: loop)
    case .address(let address): try virtual(address: address, loop: loop)
    }
  }
}

extension PeerTarget {
  /// Reads the part of an `air:` endpoint after the colon; nil if it is empty. Six pairs of digits
  /// are an address, everything else a name.
  ///
  /// - Throws: `invalidEndpoint` for a name that is too long or has control characters.
  public init?(virtual text: String) throws(RadioError) {
    guard !text.isEmpty else { return nil }
    if let address = BluetoothAddress(text.utf8.contains(0x2F) ? text : text + "/random") {
      self = .address(BluetoothAddress(address.value, kind: .random))
    } else if AirControl.isName(text) {
      self = .name(text)
    } else {
      throw .invalidEndpoint(text)
    }
  }

  /// Whether a radio with this name or address is on the virtual air now, in its default folder.
  package var isOnAir: Bool {
    Self.recordsOnAir().contains { address, record in
      switch onAir {
      case .address(let wanted): address == wanted
      case .name(let name): [record.name, record.localName].contains(name)
      }
    }
  }

  /// The radios that advertise on the virtual air now, in its default folder and in no order. The name
  /// is that of the radio, else the advertised one, else empty.
  package static func radiosOnAir()
    -> [(name: String, address: BluetoothAddress, isConnectable: Bool)]
  {
    recordsOnAir().map { address, record in
      let name = record.name.isEmpty ? record.localName ?? "" : record.name
      return (name, address, record.isConnectable)
    }
  }

  private static func recordsOnAir() -> [(BluetoothAddress, AirRecord)] {
    guard let folder = try? AirFolder(), let entries = try? folder.entries() else { return [] }
    return entries.compactMap { entry in
      guard let (address, part) = AirFolder.parse(entry), part == .advertisement,
        let record = AirRecord.read(address, in: folder),
        case .alive = AirLife.state(at: folder.entry(address, .life))
      else { return nil }
      return (address, record)
    }
  }

  /// An address of the virtual air is always a random one.
  var onAir: PeerTarget {
    guard case .address(let address) = self else { return self }
    return .address(BluetoothAddress(address.value, kind: .random))
  }
}

/// A radio of the virtual air.
///
/// # Limits
/// One advertisement at a time; ``linkLimit`` links, and one with each central; ``handshakeLimit``
/// handshakes under way, each for ``handshakeTime``. A further central takes the place of a silent
/// one.
final class AirBackend: RadioBackend {
  /// Links with centrals at a time: more than a server's clients, so that the server decides which of
  /// them stay.
  static let linkLimit = 1024 + 64
  /// Connections whose central has not sent its address yet.
  static let handshakeLimit = 64
  /// The time in which a central must send its address.
  static let handshakeTime: Duration = .seconds(5)

  let host = RadioHost()
  let loop: Loop
  let address: BluetoothAddress
  let name: String
  /// The highest level of links, and the longest key.
  let maximumSecurity: LinkSecurity
  let folder: AirFolder
  let pairings: AirPairings
  /// Shorter in tests.
  var handshakeTime = AirBackend.handshakeTime
  /// Fewer in tests.
  var linkLimit = AirBackend.linkLimit
  var claim: AirClaim?
  var listener: SocketAcceptor<Int32>?
  /// The advertisement that is on the air.
  var current: (id: UInt64, parameters: AdvertisingParameters)?
  var lastHandshake: UInt64 = 0
  /// Centrals that have not sent their addresses yet.
  var handshakes: [UInt64: Handshake] = [:]
  typealias Handshake = (control: AirControlSocket, timer: LoopTimer, process: PeerProcess?)
  /// The control sockets of links with centrals.
  var peers: [BluetoothAddress: AirControlSocket] = [:]
  /// The newest link with each peer.
  private var links: [BluetoothAddress: WeakLink] = [:]
  private lazy var scanner = AirScanner(folder, for: address, on: loop, host: host)

  private struct WeakLink {
    weak var link: AirLink?
  }

  init(
    name: String?, address: BluetoothAddress?, folder: String?, maximumSecurity: LinkSecurity,
    loop: Loop
  ) throws(RadioError) {
    precondition(
      maximumSecurity == .low
        || (maximumSecurity.level > .low && (7...16).contains(maximumSecurity.keySize)),
      "a key has 7 to 16 octets")
    if let name, !AirControl.isName(name) { throw .invalidName(name) }
    let own =
      address ?? name.map { .staticRandom(name: $0) }
      ?? .staticRandom(UInt64.random(in: .min ... .max))
    self.loop = loop
    pairings = AirPairings(on: loop)
    self.address = BluetoothAddress(own.value, kind: .random)
    self.name = name ?? ""
    self.maximumSecurity = maximumSecurity
    self.folder = try AirFolder(path: folder)
    if name != nil || address != nil { claim = try AirClaim(self.address, in: self.folder) }
  }

  var index: UInt16? { nil }
  var reportsDepartures: Bool { true }
  var isPoweredOn: Bool { true }
  var agents: AgentCalls { pairings.agents }
  var controller: (any RadioController)? { nil }
  var devices: [Discovery] { scanner.devices }

  nonisolated(nonsending) func open() async throws(RadioError) {}

  func close(_ reason: RadioError) {
    for (control, timer, _) in handshakes.values {
      timer.cancel()
      control.close()
    }
    handshakes = [:]
    listener?.stop()
    listener = nil
    claim?.release()
    claim = nil
    scanner.stop()
  }

  func scan(_ demand: ScanDemand, isActive: Bool, timing: ScanTiming?) throws(RadioError) {
    try scanner.scan(demand)
  }
  nonisolated(nonsending) func scanEnded() async {}

  // MARK: Advertising

  nonisolated(nonsending) func advertise(
    _ id: UInt64, _ parameters: AdvertisingParameters, _ octets: LegacyAdvertisement
  ) async throws(RadioError) {
    guard current == nil else { throw .alreadyAdvertising }
    try publish(parameters, octets)
    current = (id, parameters)
  }

  nonisolated(nonsending) func updateAdvertisement(
    _ id: UInt64, _ parameters: AdvertisingParameters, _ octets: LegacyAdvertisement
  ) async throws(RadioError) {
    guard current?.id == id else { throw .closed }
    try publish(parameters, octets)
    current = (id, parameters)
  }

  func endAdvertisement(_ id: UInt64) {
    guard current?.id == id else { return }
    current = nil
    claim?.endAdvertising()
  }

  private func publish(
    _ parameters: AdvertisingParameters, _ octets: LegacyAdvertisement
  ) throws(RadioError) {
    let claim: AirClaim
    if let own = self.claim { claim = own } else { claim = try AirClaim(address, in: folder) }
    self.claim = claim
    if listener == nil { try listen(claim.removeListener()) }
    var record = AirRecord()
    record.process = getpid()
    record.name = name
    record.isConnectable = parameters.isConnectable
    record.interval = Int64(parameters.interval / .microseconds(1))
    record.rssi = parameters.simulatedRSSI
    record.advertisement = octets.advertisement
    record.scanResponse = octets.scanResponse
    try claim.advertise(record)
  }

  // MARK: Connecting

  func connect(
    to peer: PeerTarget, timing: AirTiming?, timeout: Duration?,
    _ completion: @escaping RadioCompletion<ConnectedLink>
  ) -> EndOperation {
    openLink(to: peer, timing: timing, timeout: timeout) { completion($0.map(\.connected)) }
  }

  func openLink(
    to peer: PeerTarget, timing: AirTiming?, timeout: Duration?,
    _ completion: @escaping RadioCompletion<AirLink>
  ) -> EndOperation {
    let attempt = AirAttempt(
      peer.onAir, from: self, timing: timing, timeout: timeout, completion)
    attempt.start()
    return { attempt.end($0) }
  }

  // MARK: Links

  func add(_ link: AirLink) { links[link.peer] = WeakLink(link: link) }

  func linkEnded(_ peer: BluetoothAddress, _ control: AirControlSocket) {
    // The peer may have connected again meanwhile.
    if peers[peer] === control { peers[peer] = nil }
    if links[peer]?.link?.hasEnded ?? true { links[peer] = nil }
  }

  // MARK: Channels

  func openChannel(
    _ psm: UInt16, to peer: BluetoothAddress, timeout: Duration,
    _ completion: @escaping RadioCompletion<Channel>
  ) -> EndOperation {
    let peer = BluetoothAddress(peer.value, kind: .random)
    guard let link = links[peer]?.link, !link.hasEnded else {
      completion(.failure(.notConnected(peer)))
      return { _ in }
    }
    let channel = AirLink.AskedChannel(psm, of: link, timeout: timeout, completion)
    link.openChannel(channel)
    return { channel.end(.failure($0)) }
  }

  func publish(
    _ publication: ChannelPublication, at psm: UInt16?
  ) throws(RadioError) -> UInt16 {
    if let psm { return psm }
    // The dynamic PSMs. Vol 3, Part A, 4.22.
    let psms: ClosedRange<UInt16> = 0x0080...0x00FF
    guard let psm = psms.first(where: { host.publication($0) == nil }) else {
      throw .tooManyChannels
    }
    return psm
  }

  func unpublish(_ psm: UInt16) {}
}
