// A source as for iOS that uses Apple's logging. It must compile.
import CoreBluetooth
import os.log

extension OSLog {
  private static let subsystem = "com.example.monitor"
  static let radio = OSLog(subsystem: subsystem, category: "radio")
}

final class LoggingDelegate: NSObject, CBCentralManagerDelegate, CBPeripheralDelegate {
  private let logger = Logger(subsystem: "com.example.monitor", category: "central")
  private var attempts = 0

  func centralManagerDidUpdateState(_ central: CBCentralManager) {
    os_log("state %d", log: .radio, type: .info, central.state.rawValue)
    switch central.state {
    case .poweredOn: logger.notice("powered on")
    default: logger.warning("state is \(central.state.rawValue, privacy: .public)")
    }
  }

  func centralManager(
    _ central: CBCentralManager, didDiscover peripheral: CBPeripheral,
    advertisementData: [String: Any], rssi RSSI: NSNumber
  ) {
    os_log("Discovered %{public}@ at %d", String(describing: peripheral.name), RSSI.intValue)
    os_log(.debug, log: .radio, "Discovered %s", peripheral.name ?? "nobody")
    logger.log("found \(peripheral) at \(RSSI) dBm, \(self.attempts)")
    logger.log(level: .debug, "\(peripheral.identifier, privacy: .private(mask: .hash))")
    logger.trace(
      "\(advertisementData.count, format: .hex(includePrefix: true), align: .right(columns: 6))")
  }

  func centralManager(
    _ central: CBCentralManager, didFailToConnect peripheral: CBPeripheral, error: Error?
  ) {
    os_log(
      "Failed to connect to %@. %s", peripheral, String(describing: error?.localizedDescription))
    logger.error("\(error?.localizedDescription ?? "", privacy: .public)")
    if let error { logger.fault("\(error) \(RSSIUnavailable, format: .fixed(precision: 2))") }
    logger.critical("\(central.isScanning, format: .answer) \(Self.self)")
  }
  private let RSSIUnavailable = 127.0
}
