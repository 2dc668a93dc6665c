import Foundation

// Not Apple's: a scan as a sequence.

/// What a scan tells of a device.
public struct CBDiscovery {
  public let peripheral: CBPeripheral
  /// `CBAdvertisementData...Key`
  public let advertisementData: [String: Any]
  /// dBm; 127 if it is not known.
  public let rssi: NSNumber
}

/// The devices that a scan finds. The scan begins with the iteration and ends with it: when the
/// loop is left, and when its task is cancelled, which ends the sequence too.
///
/// The sequence ends when the scan does: after its time, by `stopScan()`, or by another scan of the
/// manager. Discoveries that nobody takes wait, at most 1024; those that come then are dropped.
///
/// Throws `CBError` `operationCancelled` while Bluetooth is not on, and when it goes off.
public struct CBDiscoveries: AsyncSequence {
  public typealias Element = CBDiscovery

  let manager: CBCentralManager
  let services: [CBUUID]?
  let options: [String: Any]?

  public func makeAsyncIterator() -> Iterator {
    Iterator(manager.beginDiscoveries(services, options), holding: manager)
  }

  public struct Iterator: AsyncIteratorProtocol {
    private let source: Handover<CBDiscovery>
    private let lease: Lease
    /// A manager that is released scans no more.
    private let manager: CBCentralManager

    init(_ source: Handover<CBDiscovery>, holding manager: CBCentralManager) {
      self.source = source
      self.manager = manager
      let held = Carried(WeakReference(manager))
      lease = Lease { held.content.object?.endScan(of: source) }
    }

    public mutating func next() async throws -> CBDiscovery? { try await source.next() }

    public mutating func next(
      isolation actor: isolated (any Actor)?
    ) async throws -> CBDiscovery? {
      try await source.next(isolation: actor)
    }
  }
}

extension CBCentralManager {
  /// Devices, as a scan finds them; the delegate is told of them as well.
  ///
  /// - Parameters:
  ///   - serviceUUIDs: only devices that advertise one of these; nil: all.
  ///   - options: `CBCentralManagerScanOption...Key`.
  public func discoveries(
    withServices serviceUUIDs: [CBUUID]? = nil, options: [String: Any]? = nil
  ) -> CBDiscoveries {
    CBDiscoveries(manager: self, services: serviceUUIDs, options: options)
  }

  fileprivate func beginDiscoveries(
    _ services: [CBUUID]?, _ options: [String: Any]?
  ) -> Handover<CBDiscovery> {
    let source = Handover<CBDiscovery>(limit: CentralEngine.discoveryLimit)
    if !scan(for: services, options, telling: source) {
      source.finish(CBError(.operationCancelled))
    }
    return source
  }

  /// The scan that a sequence follows has ended.
  func finishDiscoveries(_ error: CBError? = nil) {
    let source = own.withLock { own in
      defer { own.discoveries = nil }
      return own.discoveries
    }
    source?.finish(error)
  }
}
