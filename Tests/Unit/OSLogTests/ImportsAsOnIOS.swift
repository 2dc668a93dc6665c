// Imports of single headers and of OSLog, as in libraries for iOS. They only have to compile.
import OSLog
import class CoreBluetooth.CBUUID
import CoreBluetooth.CBAdvertisementData
import CoreBluetooth.CBCentralManager
import CoreBluetooth.CBCharacteristic
import CoreBluetooth.CBError
import CoreBluetooth.CBManager
import CoreBluetooth.CBPeripheral
import CoreBluetooth.CBPeripheralManager
import CoreBluetooth.CBService
import CoreBluetooth.CBUUID

enum Imports {
  static let log = Logger(subsystem: "com.example.app", category: "imports")

  static func note(_ peripheral: CBPeripheral, _ service: CBUUID) {
    log.info("\(service.uuidString) of \(peripheral.identifier)")
    let began: CFAbsoluteTime = CFAbsoluteTimeGetCurrent()
    let elapsed: CFTimeInterval = CFAbsoluteTimeGetCurrent() - began
    log.debug("\(elapsed)")
  }
}
