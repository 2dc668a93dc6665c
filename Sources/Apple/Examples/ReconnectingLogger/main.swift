// Prints all values that devices with a service notify, and reconnects automatically.
//
// Usage: ReconnectingLogger [SERVICE-UUID]   (default: 180D, Heart Rate)
import CoreBluetooth

final class Logger: NSObject, CBCentralManagerDelegate, CBPeripheralDelegate {
  private let service: CBUUID
  private var manager: CBCentralManager!
  private var devices: Set<CBPeripheral> = []

  init(_ service: CBUUID) {
    self.service = service
    super.init()
    manager = CBCentralManager(delegate: self, queue: nil)
  }

  private func log(_ peripheral: CBPeripheral, _ text: String) {
    print("\(peripheral.name ?? peripheral.identifier.uuidString): \(text)")
  }

  func centralManagerDidUpdateState(_ central: CBCentralManager) {
    guard central.state == .poweredOn else { return devices.removeAll() }
    central.scanForPeripherals(withServices: [service])
  }

  func centralManager(
    _ central: CBCentralManager, didDiscover peripheral: CBPeripheral,
    advertisementData: [String: Any], rssi RSSI: NSNumber
  ) {
    guard devices.insert(peripheral).inserted else { return }
    peripheral.delegate = self
    central.connect(peripheral, options: [CBConnectPeripheralOptionEnableAutoReconnect: true])
  }

  func centralManager(_ central: CBCentralManager, didConnect peripheral: CBPeripheral) {
    log(peripheral, "connected")
    peripheral.discoverServices([service])
  }

  func centralManager(
    _ central: CBCentralManager, didDisconnectPeripheral peripheral: CBPeripheral,
    timestamp: CFAbsoluteTime, isReconnecting: Bool, error: (any Error)?
  ) {
    log(peripheral, "lost\(isReconnecting ? ", reconnecting" : "")")
  }

  func peripheral(_ peripheral: CBPeripheral, didDiscoverServices error: (any Error)?) {
    for service in peripheral.services ?? [] {
      peripheral.discoverCharacteristics(nil, for: service)
    }
  }

  func peripheral(
    _ peripheral: CBPeripheral, didDiscoverCharacteristicsFor service: CBService,
    error: (any Error)?
  ) {
    for characteristic in service.characteristics ?? []
    where !characteristic.properties.isDisjoint(with: [.notify, .indicate]) {
      peripheral.setNotifyValue(true, for: characteristic)
    }
  }

  func peripheral(
    _ peripheral: CBPeripheral, didUpdateValueFor characteristic: CBCharacteristic,
    error: (any Error)?
  ) {
    let octets = (characteristic.value ?? Data()).map { String(format: "%02x", $0) }.joined()
    log(peripheral, "\(characteristic.uuid) \(octets)")
  }
}

let logger = Logger(CBUUID(string: CommandLine.arguments.dropFirst().first ?? "180D"))
RunLoop.main.run()
