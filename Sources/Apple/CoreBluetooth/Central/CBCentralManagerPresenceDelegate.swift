internal import Atto
import Foundation

/// A delegate that is also told when devices have gone and when scans end. Not in Apple's framework.
public protocol CBCentralManagerPresenceDelegate: CBCentralManagerDelegate {
  /// A device that this scan discovered has gone: it was silent for the time of
  /// `CBCentralManagerScanOptionGoneTimeoutKey`. Without that option: at once on the virtual air, and
  /// about 25 s after its last advertisement on the kernel's radio.
  func centralManager(_ central: CBCentralManager, didLose peripheral: CBPeripheral)
  /// A scan has ended without the app: by its timeout, or because the radio failed.
  func centralManagerDidEndScan(_ central: CBCentralManager)
}

extension CBCentralManagerPresenceDelegate {
  public func centralManager(_ central: CBCentralManager, didLose peripheral: CBPeripheral) {}
  public func centralManagerDidEndScan(_ central: CBCentralManager) {}
}

extension CBCentralManager {
  func lost(_ identifier: UUID, _ address: BluetoothAddress, in scan: UInt64) {
    guard own.value.scan == scan, let delegate = delegate as? any CBCentralManagerPresenceDelegate
    else { return }
    delegate.centralManager(
      self, didLose: peripheral(identifier, address, name: KnownPeers.name(of: identifier)))
  }

  /// A scan has ended without the app, which may have begun another by now.
  func scanEnded(_ scan: UInt64) {
    let (isCurrent, source) = own.withLock { own -> (Bool, AsyncQueue<CBDiscovery>?) in
      guard own.scan == scan else { return (false, nil) }
      own.scan = nil
      return (true, own.discoveries.take())
    }
    guard isCurrent else { return }
    observers.check()
    source?.finish()
    (delegate as? any CBCentralManagerPresenceDelegate)?.centralManagerDidEndScan(self)
  }

  /// Ends the sequence that receives the discoveries.
  func finishDiscoveries(_ error: CBError? = nil) {
    own.withLock { $0.discoveries.take() }?.finish(error)
  }
}

/// A device that a scan found.
public struct CBDiscovery {
  /// The peripheral. The app must retain it to use it.
  public let peripheral: CBPeripheral
  /// The advertisement, by `CBAdvertisementData...Key`.
  public let advertisementData: [String: Any]
  /// The signal strength in dBm; 127 if it is not known.
  public let rssi: NSNumber
}
