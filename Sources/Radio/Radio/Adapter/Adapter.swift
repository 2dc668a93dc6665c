public import AttoEventLoop
public import AttoLinks
import Synchronization

/// A Bluetooth radio: an adapter of the kernel, or a radio of the virtual air.
///
/// Open one with `Adapter.kernel(_:loop:)` or `Adapter.virtual(name:address:folder:maximumSecurity:loop:)`.
/// Functions may be called from any thread. Every `await` ends: with a value, an error, a timeout,
/// or the cancellation of the caller's task. The loop must run for as long as the adapter is used.
///
/// # Theory
/// The adapter owns what all radios have in common: scans and what they report, advertisements and
/// the connections that they bring, operations under way (connecting, opening a channel, pairing),
/// published channels, and the end of all of these. A `RadioBackend` does what differs. There are
/// two: the kernel's talks to the management socket, the virtual air's to files and Unix sockets.
///
///     caller --async--> Adapter --calls--> RadioBackend
///                          ^                    |
///                          '--- RadioHost ------'   devices, connections, power, end
///
/// Both run on the thread of one loop: the adapter is an actor whose executor is the loop, and the
/// backend is a class that only the adapter refers to.
///
/// An operation starts with a completion, and the backend returns a closure that ends it early. The
/// adapter keeps that closure until the completion is called, for cancellation and for ``close()``.
/// The first of completion, cancellation and end decides the result.
///
/// # Limits
/// ``queueLimit`` connections wait to be accepted. Those of the backends are listed with them.
public actor Adapter {
  /// Connections that wait in ``Advertisement/links``. Further centrals wait until there is room.
  public static let queueLimit = 16

  /// Changes that wait in ``linkChanges()``.
  public static let linkChangeLimit = 256

  /// The loop on which everything runs, and to which links belong.
  public nonisolated let loop: Loop
  /// The address that peers see; all zeros for a kernel adapter without a public address.
  public nonisolated let address: BluetoothAddress
  /// The name of the radio when it was opened; empty if it has none.
  public nonisolated let name: String
  /// The N of hciN; nil for a radio of the virtual air.
  public nonisolated let index: UInt16?
  /// Whether scans report a device as gone as soon as it stops to advertise. Otherwise it is gone
  /// when nothing was received from it for some time.
  public nonisolated let reportsDepartures: Bool

  public nonisolated var unownedExecutor: UnownedSerialExecutor {
    loop.asUnownedSerialExecutor()
  }

  private let opened: any RadioBackend
  private var isHost = false
  /// Why the adapter can do nothing any more, `closed` or `unplugged`; nil while it can.
  public private(set) var endReason: RadioError?
  private var lastID: UInt64 = 0
  /// Scans get their IDs on the thread of the caller.
  nonisolated let scanIDs = Atomic<UInt64>(0)
  var scans: [UInt64: Scan] = [:]
  var advertisements: [UInt64: AdvertisedLinks] = [:]
  var publications: [UInt16: ChannelPublication] = [:]
  /// What ends each operation under way.
  private var operations: [UInt64: (RadioError) -> Void] = [:]
  private var stateWatchers: [UInt64: AsyncStream<AdapterState>.Continuation] = [:]
  private var lastState: AdapterState?
  var linkWatchers: [UInt64: AsyncStream<LinkChange>.Continuation] = [:]

  /// An adapter on a backend that nothing else refers to.
  // Kept out of other modules: the optimizer of Swift 6.3 fails there ("circular reference") on an
  // actor with an isolated deinit that is inlined.
  @_semantics("optimize.no.crossmodule")
  package init(_ backend: sending any RadioBackend, loop: Loop) {
    self.loop = loop
    address = backend.address
    name = backend.name
    index = backend.index
    reportsDepartures = backend.reportsDepartures
    opened = backend
  }

  // Runs on the loop, a turn after the last reference was released.
  isolated deinit { shutDown(.closed) }

  /// The backend, which reports to this adapter from its first use on.
  package var backend: any RadioBackend {
    // Not at the end: an actor that is being released cannot be referred to weakly.
    if !isHost, endReason == nil {
      isHost = true
      opened.host.adapter = self
    }
    return opened
  }

  /// Opens the backend.
  ///
  /// - Throws: what the backend throws.
  package func open() async throws(RadioError) {
    try await backend.open()
    lastState = state
  }

  /// `hci0`, or `air` for a radio of the virtual air.
  public nonisolated var label: String { index.map { "hci\($0)" } ?? "air" }

  /// Whether the radio can be used.
  public var state: AdapterState {
    if endReason != nil { return .gone }
    return opened.isPoweredOn ? .poweredOn : .poweredOff
  }

  /// The state now, and each time it changes; ends when the adapter is closed or unplugged.
  public func states() -> AsyncStream<AdapterState> {
    let (stream, continuation) = AsyncStream<AdapterState>.makeStream(
      bufferingPolicy: .bufferingNewest(16))
    continuation.yield(state)
    guard endReason == nil else {
      continuation.finish()
      return stream
    }
    let id = nextID()
    stateWatchers[id] = continuation
    continuation.onTermination = { [weak self] _ in self?.later { $0.stateWatchers[id] = nil } }
    return stream
  }

  /// Ends advertisements, scans, published channels and operations under way. Links that were
  /// accepted or made live on.
  ///
  /// Returns when the kernel has stopped the scan, which otherwise would go on for some seconds after
  /// the process and keep other programs from theirs. A kernel that does not answer is not waited for
  /// longer than for every other answer.
  public func close() async {
    guard end(.closed) else { return }
    await opened.scanEnded()
    giveUp(.closed)
  }

  func shutDown(_ reason: RadioError) {
    if end(reason) { giveUp(reason) }
  }

  /// Ends what is under way; false if that has been done.
  private func end(_ reason: RadioError) -> Bool {
    guard endReason == nil else { return false }
    endReason = reason
    endScans(throwing: reason)
    for id in advertisements.keys { stopAdvertising(id) }
    // Each leaves the table by itself.
    for end in operations.values { end(reason) }
    for psm in publications.keys { unpublish(psm) }
    return true
  }

  private func giveUp(_ reason: RadioError) {
    opened.close(reason)
    opened.agents.close()
    for watcher in stateWatchers.values {
      watcher.yield(.gone)
      watcher.finish()
    }
    stateWatchers = [:]
    for watcher in linkWatchers.values { watcher.finish() }
    linkWatchers = [:]
  }

  func linkChanged(_ change: LinkChange) {
    for watcher in linkWatchers.values { watcher.yield(change) }
  }

  func powerChanged() {
    guard state != lastState else { return }
    lastState = state
    for watcher in stateWatchers.values { watcher.yield(state) }
  }

  func nextID() -> UInt64 {
    lastID += 1
    return lastID
  }

  /// Runs a step on the loop, in its turn.
  nonisolated func later(_ body: @escaping @Sendable (isolated Adapter) -> Void) {
    loop.execute { self.assumeIsolated(body) }
  }

  /// Starts an operation of the backend and waits for its end.
  ///
  /// - Throws: what the operation is completed with, ``endReason``, `cancelled`.
  func perform<Value: Sendable>(
    _ start: (@escaping RadioCompletion<Value>) -> EndOperation
  ) async throws(RadioError) -> Value {
    let id = nextID()
    return try await loop.withLocalWaiter { (waiter: Waiter<Value, RadioError>) in
      if let endReason { return waiter.resume(.failure(endReason)) }
      var isOver = false
      let end = start { result in
        isOver = true
        self.operations[id] = nil
        waiter.resume(result)
      }
      guard !isOver else { return }
      operations[id] = end
      waiter.whenCancelled = { end(.cancelled) }
    }
  }
}

/// Whether a radio can be used.
public enum AdapterState: Hashable, Sendable {
  /// It can be used.
  case poweredOn
  /// It is switched off.
  case poweredOff
  /// It was closed or unplugged.
  case gone
}
