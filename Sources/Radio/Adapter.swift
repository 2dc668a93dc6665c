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

  /// Ends advertising, scans and attempts to connect. Links that were taken live on.
  func close() async
}

/// Whether a radio can be used.
public enum AdapterState: Hashable, Sendable {
  case poweredOn
  case poweredOff
  /// Closed, or unplugged.
  case gone
}
