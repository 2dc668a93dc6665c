public import ATT
public import EventLoop
public import Links
import Synchronization

/// A radio on the virtual air: radios of processes on this machine find each other in one folder
/// and connect over Unix sockets, without a daemon and without Bluetooth.
///
/// Everything runs on one loop: an actor whose executor is that loop. The loop must turn as long
/// as the adapter is used; a process that ends, however it does, takes its radios off the air.
///
/// # Limits
/// One advertisement at a time; ``linkLimit`` links, and one with each central;
/// ``handshakeLimit`` handshakes under way, each for ``handshakeTime`` at most; ``queueLimit``
/// connections that wait to be taken. Further centrals wait in the listening socket's queue.
public actor AirAdapter: Adapter {
  /// Links with centrals at a time.
  public static let linkLimit = 1024
  /// Connections of which nobody knows yet who they are.
  public static let handshakeLimit = 64
  /// How long a central may take to say who it is.
  public static let handshakeTime: Duration = .seconds(5)
  /// Connections that wait in ``Advertisement/links``.
  public static let queueLimit = 16

  /// Where everything runs, and what links belong to.
  public nonisolated let loop: Loop
  public nonisolated let address: BluetoothAddress
  /// What the radio is called; empty if it has no name.
  public nonisolated let name: String
  /// What links are raised to at most, and the longest key.
  public nonisolated let maximumSecurity: LinkSecurity
  let folder: AirFolder

  public nonisolated var unownedExecutor: UnownedSerialExecutor {
    loop.asUnownedSerialExecutor()
  }

  var isClosed = false
  let pairings: AirPairings
  let channels = AirChannels()
  var channelRequests: [UInt64: ChannelRequest] = [:]
  /// Shorter in tests.
  var handshakeTime = AirAdapter.handshakeTime
  /// Fewer in tests.
  var linkLimit = AirAdapter.linkLimit
  var claim: AirClaim?
  var listener: WatchedDescriptor?
  var acceptPause: OneTimer?
  /// Whether no central has been taken since the machine had no room.
  var isShort = false
  var isAcceptingPaused = false
  var lastID: UInt64 = 0
  /// The one that is in the air.
  var current: UInt64?
  var advertisements: [UInt64: AdvertisedLinks] = [:]
  var handshakes: [UInt64: AirHandshake] = [:]
  var peers: [BluetoothAddress: AirControlSocket] = [:]
  /// Apart, since a scan gets its number where it is asked for, on any thread.
  private nonisolated let scanIDs = Atomic<UInt64>(0)
  private var scans: [UInt64: AirScan] = [:]
  private var attempts: [UInt64: AirAttempt] = [:]

  /// Opens a radio. With a name or an address it is this process' own from here on; without, it
  /// gets a random address, which is claimed when it first advertises.
  ///
  /// - Parameters:
  ///   - name: 1 to 64 octets. The radio's address is derived from it if none is given.
  ///   - address: the address, used as a random one.
  ///   - folder: where the air is; by default `$ATTO_AIR`, else `$XDG_RUNTIME_DIR/atto-air`, else
  ///     `/tmp/atto-air-UID`. Made if it is missing.
  ///   - maximumSecurity: a key of 7 to 16 octets, or `.low` for a radio that cannot encrypt.
  ///   - loop: where everything runs.
  /// - Throws: `folder`, `invalidName`, `addressInUse`, or an error of the system.
  // Kept out of other modules: the optimizer of Swift 6.3 fails there ("circular reference") on
  // an actor with an isolated deinit that is inlined.
  @_semantics("optimize.no.crossmodule")
  public init(
    name: String? = nil, address: BluetoothAddress? = nil, folder: String? = nil,
    maximumSecurity: LinkSecurity = LinkSecurity(.fips), loop: Loop = .shared
  ) throws(RadioError) {
    precondition(
      maximumSecurity == .low
        || (maximumSecurity.level > .low && (7...16).contains(maximumSecurity.keySize)),
      "a key has 7 to 16 octets")
    if let name, !AirEndpoint.isName(name) { throw .invalidName(name) }
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

  // Runs on the loop, a turn after the last reference went: until then closures that the loop
  // calls must hold this weakly and not unowned.
  isolated deinit { shutDown() }

  public var state: AdapterState { isClosed ? .gone : .poweredOn }

  /// Where the air is.
  public nonisolated var folderPath: String { folder.path }

  public func close() { shutDown() }

  private func shutDown() {
    guard !isClosed else { return }
    isClosed = true
    for id in advertisements.keys { stopAdvertising(id) }
    for handshake in handshakes.values { handshake.end() }
    handshakes = [:]
    acceptPause?.cancel()
    listener?.end()
    listener = nil
    claim?.release()
    claim = nil
    for scan in scans.values { scan.end(throwing: .closed) }
    scans = [:]
    // Each takes itself out of the table.
    for attempt in attempts.values { attempt.end(.closed) }
    for request in channelRequests.values { request.end(.failure(.closed)) }
    channels.close()
  }

  func nextID() -> UInt64 {
    lastID += 1
    return lastID
  }

  /// Runs a step on the loop, in its turn; for what cannot wait for it.
  nonisolated func later(_ body: @escaping @Sendable (isolated AirAdapter) -> Void) {
    loop.execute { self.assumeIsolated(body) }
  }

  // MARK: Scanning

  public nonisolated func scan(_ options: ScanOptions = ScanOptions()) -> ScanEvents {
    let id = scanIDs.add(1, ordering: .relaxed).newValue
    let (events, sink) = ScanEvents.make { self.later { $0.endScan(id) } }
    later { $0.beginScan(id, options, sink) }
    return events
  }

  private func beginScan(_ id: UInt64, _ options: ScanOptions, _ sink: ScanEvents.Sink) {
    var sink = sink
    guard !isClosed else { return sink.finish(throwing: .closed) }
    let scan = AirScan(options, on: loop, sink: sink)
    scans[id] = scan
    scan.start(folder)
  }

  private func endScan(_ id: UInt64) {
    scans.removeValue(forKey: id)?.end()
  }

  // MARK: Connecting

  public func connect(
    to peer: BluetoothAddress, timeout: Duration? = .seconds(30)
  ) async throws(RadioError) -> ConnectedLink {
    try await connect(.address(BluetoothAddress(peer.value, kind: .random)), nil, timeout)
  }

  /// Connects to the radio of that name or address, as soon as it is on the air.
  ///
  /// - Parameter timing: what paces the link; nil: it is as fast as it goes.
  /// - Throws: what `connect(to:timeout:)` with an address throws; `ambiguous` if a name is no
  ///   radio's own but the local name of several; `invalidEndpoint` for `own`.
  public func connect(
    to endpoint: AirEndpoint, timing: AirTiming? = nil, timeout: Duration? = .seconds(30)
  ) async throws(RadioError) -> ConnectedLink {
    switch endpoint {
    case .own: throw .invalidEndpoint("")
    case .address(let address): try await connect(.address(address), timing, timeout)
    case .name(let name): try await connect(.name(name), timing, timeout)
    }
  }

  private func connect(
    _ target: AirAttempt.Target, _ timing: AirTiming?, _ timeout: Duration?
  ) async throws(RadioError) -> ConnectedLink {
    let id = nextID()
    let result: Result<ConnectedLink, RadioError> = await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        // One step, after any await has let others go first: what it finds here still holds when
        // the attempt is in the table, where closing and cancelling look for it.
        guard !isClosed else { return continuation.resume(returning: .failure(.closed)) }
        guard !Task.isCancelled else { return continuation.resume(returning: .failure(.cancelled)) }
        let origin = AirAttempt.Origin(
          address: address, name: name, maximum: maximumSecurity, timing: timing,
          pairings: pairings, channels: channels)
        let attempt = AirAttempt(
          target, from: origin, in: folder, on: loop, timeout: timeout
        ) { [weak self] result in
          self?.assumeIsolated { $0.attempts[id] = nil }
          continuation.resume(returning: result)
        }
        attempts[id] = attempt
        attempt.start()
      }
    } onCancel: {
      later { $0.attempts[id]?.end(.cancelled) }
    }
    return try result.get()
  }
}
