// A heart-rate monitor. It scans for a sensor, connects, subscribes, and prints the heart rate.
//
// The code is the same as for Apple's framework. Only the last line is for Linux: it runs the main
// queue, on which the callbacks come.
import CoreBluetooth

final class HeartRateMonitor: NSObject, CBCentralManagerDelegate, CBPeripheralDelegate {
  private let heartRate = CBUUID(string: "180D")
  private let measurement = CBUUID(string: "2A37")
  private var manager: CBCentralManager!
  private var sensor: CBPeripheral?

  override init() {
    super.init()
    manager = CBCentralManager(
      delegate: self, queue: nil,
      options: [CBCentralManagerOptionRestoreIdentifierKey: "heart-rate-monitor"])
  }

  func centralManager(_ central: CBCentralManager, willRestoreState dict: [String: Any]) {
    let peripherals = dict[CBCentralManagerRestoredStatePeripheralsKey] as? [CBPeripheral]
    sensor = peripherals?.first
    sensor?.delegate = self
    print("restored: \(peripherals?.count ?? 0) peripherals")
  }

  func centralManagerDidUpdateState(_ central: CBCentralManager) {
    switch central.state {
    case .poweredOn where sensor == nil:
      print("scanning")
      central.scanForPeripherals(withServices: [heartRate])
    case .poweredOn: break  // The restored peripheral reconnects by itself.
    default: print("Bluetooth is not available: \(central.state)")
    }
  }

  func centralManager(
    _ central: CBCentralManager, didDiscover peripheral: CBPeripheral,
    advertisementData: [String: Any], rssi RSSI: NSNumber
  ) {
    print("discovered \(peripheral.name ?? "unknown"), \(RSSI) dBm")
    sensor = peripheral
    central.stopScan()
    central.connect(peripheral)
  }

  func centralManager(_ central: CBCentralManager, didConnect peripheral: CBPeripheral) {
    print("connected")
    peripheral.delegate = self
    // After a restoration, the services are known. The subscription is active, unless the former
    // process was killed before it subscribed.
    let known = (peripheral.services ?? []).flatMap { $0.characteristics ?? [] }
    if !known.contains(where: \.isNotifying) { peripheral.discoverServices([heartRate]) }
  }

  func centralManager(
    _ central: CBCentralManager, didDisconnectPeripheral peripheral: CBPeripheral,
    error: (any Error)?
  ) {
    print("disconnected: \(error?.localizedDescription ?? "by this app")")
    central.connect(peripheral)
  }

  func peripheral(_ peripheral: CBPeripheral, didDiscoverServices error: (any Error)?) {
    for service in peripheral.services ?? [] {
      peripheral.discoverCharacteristics([measurement], for: service)
    }
  }

  func peripheral(
    _ peripheral: CBPeripheral, didDiscoverCharacteristicsFor service: CBService,
    error: (any Error)?
  ) {
    for characteristic in service.characteristics ?? []
    where characteristic.properties.contains(.notify) {
      peripheral.setNotifyValue(true, for: characteristic)
    }
  }

  func peripheral(
    _ peripheral: CBPeripheral, didUpdateValueFor characteristic: CBCharacteristic,
    error: (any Error)?
  ) {
    guard characteristic.uuid == measurement, let value = characteristic.value, value.count > 1
    else { return }
    // Bit 0 of the flags says whether the rate has 8 or 16 bits.
    print("heart rate: \(value[0] & 1 == 0 ? Int(value[1]) : Int(value[1]) | Int(value[2]) << 8)")
  }
}

let monitor = HeartRateMonitor()
RunLoop.main.run()
