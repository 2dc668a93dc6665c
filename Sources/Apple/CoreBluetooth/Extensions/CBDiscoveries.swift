import Foundation

/// The devices that a scan finds. Not in Apple's framework.
///
/// The scan begins with the iteration and ends with it: when the loop is left or its task cancelled.
/// The sequence ends with the scan: by its timeout, by `stopScan()`, or by another scan of the
/// manager. At most 1024 discoveries are queued; further ones are dropped.
///
/// Throws `CBError` `operationCancelled` while Bluetooth is not on, and when it is switched off.
public struct CBDiscoveries: AsyncSequence {
  public typealias Element = CBDiscovery

  let manager: CBCentralManager
  let services: [CBUUID]?
  let options: [String: Any]?

  public func makeAsyncIterator() -> Iterator {
    let source = AsyncQueue<CBDiscovery>(limit: CentralEngine.discoveryLimit)
    if !manager.scan(for: services, options, telling: source) {
      source.finish(CBError(.operationCancelled))
    }
    return Iterator(source, holding: manager)
  }

  public struct Iterator: AsyncIteratorProtocol {
    private let source: AsyncQueue<CBDiscovery>
    private let onRelease: ReleaseAction
    /// Retained: a manager that is released ends its scan.
    private let manager: CBCentralManager

    init(_ source: AsyncQueue<CBDiscovery>, holding manager: CBCentralManager) {
      self.source = source
      self.manager = manager
      let held = UncheckedBox(WeakReference(manager))
      onRelease = ReleaseAction { held.content.object?.endScan(of: source) }
    }

    public mutating func next(
      isolation actor: isolated (any Actor)?
    ) async throws -> CBDiscovery? {
      try await source.next(isolation: actor)
    }
  }
}

extension CBCentralManager {
  /// Returns the devices that a scan finds. The delegate is called too.
  ///
  /// - Parameters:
  ///   - serviceUUIDs: report only devices that advertise one of these; nil: all.
  ///   - options: `CBCentralManagerScanOption...Key`.
  public func discoveries(
    withServices serviceUUIDs: [CBUUID]? = nil, options: [String: Any]? = nil
  ) -> CBDiscoveries {
    CBDiscoveries(manager: self, services: serviceUUIDs, options: options)
  }
}
