internal import Atto
import Foundation

/// Not Apple's: seconds after which a scan ends by itself; a number.
public let CBCentralManagerScanOptionTimeoutKey: String = "AttoScanOptionTimeout"

/// Not Apple's: seconds without a sign of a device after which a delegate that is a
/// ``CBCentralManagerPresenceDelegate`` is told that it has gone; a number.
public let CBCentralManagerScanOptionGoneTimeoutKey: String = "AttoScanOptionGoneTimeout"

/// Not Apple's: a delegate that is also told when devices have gone, and scans have ended.
public protocol CBCentralManagerPresenceDelegate: CBCentralManagerDelegate {
  /// A device that this scan had discovered is on the air no more: after the time of
  /// `CBCentralManagerScanOptionGoneTimeoutKey`; without it on the virtual air at once, and on the
  /// kernel's radio some 25 s after it was last received.
  func centralManager(_ central: CBCentralManager, didLose peripheral: CBPeripheral)
  /// A scan has ended by itself: its time was over, or the radio could not go on.
  func centralManagerDidEndScan(_ central: CBCentralManager)
}

extension CBCentralManagerPresenceDelegate {
  public func centralManager(_ central: CBCentralManager, didLose peripheral: CBPeripheral) {}
  public func centralManagerDidEndScan(_ central: CBCentralManager) {}
}

extension CBCentralManager {
  func lost(_ identifier: UUID, _ address: BluetoothAddress, in scan: UInt64) {
    guard own.value.scan == scan, let delegate = delegate as? any CBCentralManagerPresenceDelegate
    else {
      return
    }
    delegate.centralManager(
      self,
      didLose: peripheral(identifier, address, name: KnownPeers.peer(identifier)?.name))
  }

  /// A scan has ended by itself. Another that the app has begun by now goes on.
  func scanEnded(_ scan: UInt64) {
    let (isCurrent, source) = own.withLock { own -> (Bool, Handover<CBDiscovery>?) in
      guard own.scan == scan else { return (false, nil) }
      defer { own.discoveries = nil }
      own.scan = nil
      return (true, own.discoveries)
    }
    guard isCurrent else { return }
    source?.finish()
    (delegate as? any CBCentralManagerPresenceDelegate)?.centralManagerDidEndScan(self)
  }
}
