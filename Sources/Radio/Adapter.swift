public import EventLoop
public import Links

/// A radio: the virtual air's, or one of the kernel's. A program written against this runs on
/// either.
///
/// Every function may be called from any thread. Every `await` ends: with a value, an error, the
/// timeout, or the cancellation of the caller's task.
public protocol Adapter: AnyObject, Sendable {
  /// Where everything runs, and what links belong to.
  var loop: Loop { get }

  /// The address that peers see.
  var address: BluetoothAddress { get async }

  /// Whether the radio can be used.
  var state: AdapterState { get async }

  /// Begins to advertise, until the result is stopped or released, or the adapter is closed.
  ///
  /// - Throws: `alreadyAdvertising`, `advertisingData` if the fields do not fit, `invalidInterval`,
  ///   `addressInUse`, `closed`, or an error of the system.
  func advertise(_ parameters: AdvertisingParameters) async throws(RadioError) -> Advertisement

  /// What is received from now on, beginning with those that are on the air already. The scan
  /// begins at once and ends when the result is released, its task is cancelled, its timeout is
  /// over, or the adapter is closed.
  func scan(_ options: ScanOptions) -> ScanEvents

  /// Connects as soon as the peer advertises and takes connections.
  ///
  /// - Parameter timeout: nil waits for as long as the task is not cancelled.
  /// - Throws: `notFound`, `notConnectable` or `timedOut` after the timeout, according to how far
  ///   it came; `refused` at once; `cancelled`, `closed`, or an error of the system.
  func connect(
    to peer: BluetoothAddress, timeout: Duration?
  ) async throws(RadioError) -> ConnectedLink

  // MARK: Channels

  /// Opens a channel beside ATT to a peer to which there is a link. If the peer wants the link to
  /// be encrypted for it, it is; that pairs, if need be.
  ///
  /// - Parameter psm: where the peer listens, 0x0001 to 0x00FF.
  /// - Throws: `channelRefused`; `notConnected` on the air if there is no link; `timedOut`,
  ///   `cancelled`, `closed`, or an error of the system.
  func openChannel(
    _ psm: UInt16, to peer: BluetoothAddress, timeout: Duration
  ) async throws(RadioError) -> Channel

  /// Takes channels at a PSM that the radio chooses, until the result is stopped or released, or
  /// the adapter is closed.
  ///
  /// - Parameter requiresEncryption: whether a peer's link must be encrypted.
  /// - Throws: `tooManyChannels` if no PSM is left, `closed`, or an error of the system.
  func publishChannel(requiresEncryption: Bool) async throws(RadioError) -> PublishedChannel

  // MARK: Pairing

  /// Makes an agent answer from now on when peers pair; nil: as it was in the beginning.
  ///
  /// - Throws: what the radio throws when it is set up for that.
  func setAgent(_ agent: (any PairingAgent)?) async throws(RadioError)

  /// What the agent can show and enter; nil without one.
  var agentCapability: PairingCapability? { get async }

  /// Pairs with a peer that advertises, or to which there is a link already.
  ///
  /// - Throws: `pairing` with why it failed, `timedOut`, `cancelled`, what connecting throws, or an
  ///   error of the system.
  func pair(with peer: BluetoothAddress, timeout: Duration) async throws(RadioError)

  /// Forgets the keys of a peer, and ends a link with it.
  ///
  /// - Throws: an error of the radio if there are no keys.
  func unpair(_ peer: BluetoothAddress) async throws(RadioError)

  /// Why pairing with a peer failed last, or encrypting with an earlier key: for one whose link
  /// has ended over it.
  ///
  /// - Parameter time: how long to wait for a failure that has not been told yet.
  /// - Returns: nil if it has not failed since the peer connected.
  func pairingFailure(
    of peer: BluetoothAddress, within time: Duration
  ) async -> PairingFailure?

  /// Ends advertising, scans and attempts to connect. Links that were taken live on.
  func close() async
}

/// Whether a radio can be used.
public enum AdapterState: Hashable, Sendable {
  /// It can be used.
  case poweredOn
  /// It is there, but switched off.
  case poweredOff
  /// Closed, or unplugged.
  case gone
}
