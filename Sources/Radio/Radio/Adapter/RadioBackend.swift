package import AttoLinks

/// Called once with the result of an operation. Later calls have no effect.
package typealias RadioCompletion<Value> = (Result<Value, RadioError>) -> Void
/// Ends an operation early: it is completed with the error.
package typealias EndOperation = (RadioError) -> Void

/// What an ``Adapter`` needs of a radio. Used on the loop's thread only, except before it is given
/// to its adapter. Members without documentation are those of the adapter with the same name.
package protocol RadioBackend: AnyObject {
  var host: RadioHost { get }
  var address: BluetoothAddress { get }
  var name: String { get }
  var index: UInt16? { get }
  var reportsDepartures: Bool { get }
  var isPoweredOn: Bool { get }
  /// The agent, and what it is asked and told.
  var agents: AgentCalls { get }
  /// What only adapters with a controller can do; nil for others.
  var controller: (any RadioController)? { get }

  /// Opens the radio. Called once, before everything else.
  nonisolated(nonsending) func open() async throws(RadioError)
  /// Gives up everything. Called once, after everything else was ended.
  func close(_ reason: RadioError)

  // MARK: Scanning

  /// The devices that the present scan has received.
  var devices: [Discovery] { get }
  /// - Parameters:
  ///   - isActive: whether scan responses are to be asked for. Otherwise they may be reported.
  ///   - timing: when the radio is to listen; nil: as without this process.
  func scan(_ demand: ScanDemand, isActive: Bool, timing: ScanTiming?) throws(RadioError)
  /// Returns when a scan has ended for which there is no demand any more.
  nonisolated(nonsending) func scanEnded() async

  // MARK: Advertising

  /// Puts an advertisement on the air, and accepts connections if it is connectable.
  nonisolated(nonsending) func advertise(
    _ id: UInt64, _ parameters: AdvertisingParameters, _ octets: LegacyAdvertisement
  ) async throws(RadioError)
  nonisolated(nonsending) func updateAdvertisement(
    _ id: UInt64, _ parameters: AdvertisingParameters, _ octets: LegacyAdvertisement
  ) async throws(RadioError)
  /// Takes an advertisement off the air; does nothing if it is not there.
  func endAdvertisement(_ id: UInt64)
  /// There is room again for connections: see ``RadioHost/hasRoom``.
  func acceptMore()

  // MARK: Connecting

  func connect(
    to peer: PeerTarget, timing: AirTiming?, timeout: Duration?,
    _ completion: @escaping RadioCompletion<ConnectedLink>
  ) -> EndOperation

  // MARK: Channels

  func openChannel(
    _ psm: UInt16, to peer: BluetoothAddress, timeout: Duration,
    _ completion: @escaping RadioCompletion<Channel>
  ) -> EndOperation
  /// Offers the channels that peers open to a publication. Returns the PSM.
  ///
  /// - Parameter psm: one that this adapter has not published; nil: the backend chooses.
  func publish(
    _ publication: ChannelPublication, at psm: UInt16?
  ) throws(RadioError) -> UInt16
  func unpublish(_ psm: UInt16)

  // MARK: Pairing

  /// The agent was replaced.
  nonisolated(nonsending) func agentChanged() async throws(RadioError)
  /// Pairs with a peer. Completes with its address.
  func pair(
    with peer: PeerTarget, timeout: Duration,
    _ completion: @escaping RadioCompletion<BluetoothAddress>
  ) -> EndOperation
  nonisolated(nonsending) func unpair(_ peer: BluetoothAddress) async throws(RadioError)
}

/// What only adapters with a controller can do, as functions of ``Adapter`` with the same names. An
/// optional part of a ``RadioBackend``.
package protocol RadioController: AnyObject {
  nonisolated(nonsending) func powerOn() async throws(RadioError)
  nonisolated(nonsending) func powerOff() async throws(RadioError)
  nonisolated(nonsending) func connectionInformation(
    of peer: BluetoothAddress
  ) async throws(RadioError) -> ConnectionInformation
  nonisolated(nonsending) func loadConnectionParameters(
    _ parameters: [BluetoothAddress: PreferredConnectionParameters]
  ) async throws(RadioError)
  func hasLink(with peer: BluetoothAddress) -> Bool
  func updateConnection(
    with peer: BluetoothAddress, _ parameters: PreferredConnectionParameters
  ) -> Bool
  /// Throws if ``RadioHost/linkChanged(_:)`` is never called.
  func requireLinkEvents() throws(RadioError)
  nonisolated(nonsending) func prepareSubrating() async throws(RadioError)
  nonisolated(nonsending) func requestSubrate(
    with peer: BluetoothAddress, _ request: SubrateRequest
  ) async throws(RadioError)
  nonisolated(nonsending) func requestFrameSpace(
    with peer: BluetoothAddress, microseconds: ClosedRange<UInt16>
  ) async throws(RadioError)
  nonisolated(nonsending) func disconnect(_ peer: BluetoothAddress) async throws(RadioError)
}

/// What a backend is to receive.
package enum ScanDemand: Hashable, Sendable {
  /// Nothing: no scan is under way.
  case nothing
  /// Devices, and what changes about them.
  case changes
  /// Every advertisement.
  case duplicates
}

/// How a backend reports to its adapter. The loop's thread only. Does nothing once the adapter was
/// released.
package final class RadioHost {
  weak var adapter: Adapter?

  package init() {}

  /// A device was received, perhaps again.
  package func saw(_ device: Discovery) { adapter?.assumeIsolated { $0.saw(device) } }

  package func lost(_ device: BluetoothAddress) { adapter?.assumeIsolated { $0.lost(device) } }

  /// Nothing more can be received: ends all scans.
  package func scanFailed(_ error: RadioError) {
    adapter?.assumeIsolated { $0.endScans(throwing: error) }
  }

  /// Whether a connection that is accepted now can be delivered.
  package var hasRoom: Bool { adapter?.assumeIsolated { $0.hasRoom } ?? false }

  /// A central has connected. The link is closed if no advertisement takes it.
  package func accepted(_ link: ConnectedLink) { adapter?.assumeIsolated { $0.deliver(link) } }

  /// A connection could not be accepted. Called once until one is accepted again.
  package func acceptFailed(_ error: LinkError) {
    adapter?.assumeIsolated { $0.acceptFailed(error) }
  }

  /// A link has begun, or its parameters have changed.
  package func linkChanged(_ change: LinkChange) {
    adapter?.assumeIsolated { $0.linkChanged(change) }
  }

  package func publication(_ psm: UInt16) -> ChannelPublication? {
    adapter?.assumeIsolated { $0.publications[psm] }
  }

  /// ``RadioBackend/isPoweredOn`` may have changed.
  package func powerChanged() { adapter?.assumeIsolated { $0.powerChanged() } }

  /// The radio was removed.
  package func ended(_ reason: RadioError) { adapter?.assumeIsolated { $0.shutDown(reason) } }
}
