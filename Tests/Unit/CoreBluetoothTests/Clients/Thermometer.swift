import CoreBluetooth

// A health thermometer and its app, written as for iOS, without this module's extensions.

/// The app: a state machine in which each callback is valid in one state.
final class ThermometerApp: NSObject, CBCentralManagerDelegate, CBPeripheralDelegate {
  enum State: Equatable {
    case off, scanning, connecting, discovering, subscribing, receiving
    case failed(String)
  }

  static var service: CBUUID { CBUUID(string: "1809") }
  static var measurement: CBUUID { CBUUID(string: "2A1C") }
  static var site: CBUUID { CBUUID(string: "2A1D") }

  private(set) var state = State.off { didSet { onState(state) } }
  private let onState: (State) -> Void
  private let onTemperature: (Double) -> Void
  private let onSite: (Int) -> Void
  private var central: CBCentralManager!
  private var device: CBPeripheral?

  init(
    queue: DispatchQueue, onState: @escaping (State) -> Void, onSite: @escaping (Int) -> Void,
    onTemperature: @escaping (Double) -> Void
  ) {
    self.onState = onState
    self.onSite = onSite
    self.onTemperature = onTemperature
    super.init()
    central = CBCentralManager(
      delegate: self, queue: queue, options: [CBCentralManagerOptionShowPowerAlertKey: true])
  }

  func centralManagerDidUpdateState(_ central: CBCentralManager) {
    switch central.state {
    case .poweredOn:
      state = .scanning
      central.scanForPeripherals(
        withServices: [Self.service],
        options: [CBCentralManagerScanOptionAllowDuplicatesKey: false])
    case .unauthorized: state = .failed("no permission")
    case .unsupported: state = .failed("no Bluetooth")
    case .poweredOff, .resetting, .unknown:
      device = nil
      state = .off
    @unknown default: state = .off
    }
  }

  func centralManager(
    _ central: CBCentralManager, didDiscover peripheral: CBPeripheral,
    advertisementData: [String: Any], rssi RSSI: NSNumber
  ) {
    guard state == .scanning, RSSI.intValue < 0,
      (advertisementData[CBAdvertisementDataIsConnectable] as? NSNumber)?.boolValue ?? false
    else { return }
    central.stopScan()
    device = peripheral
    peripheral.delegate = self
    state = .connecting
    central.connect(peripheral)
  }

  func centralManager(_ central: CBCentralManager, didConnect peripheral: CBPeripheral) {
    guard state == .connecting, peripheral == device else { return }
    state = .discovering
    peripheral.discoverServices([Self.service])
  }

  func centralManager(
    _ central: CBCentralManager, didFailToConnect peripheral: CBPeripheral, error: Error?
  ) {
    state = .failed(error?.localizedDescription ?? "no connection")
  }

  func centralManager(
    _ central: CBCentralManager, didDisconnectPeripheral peripheral: CBPeripheral, error: Error?
  ) {
    guard peripheral == device, error != nil else { return state = .off }
    // Out of range: it will come back.
    state = .connecting
    central.connect(peripheral)
  }

  func peripheral(_ peripheral: CBPeripheral, didDiscoverServices error: Error?) {
    guard let service = peripheral.services?.first(where: { $0.uuid == Self.service }) else {
      return state = .failed("no thermometer")
    }
    peripheral.discoverCharacteristics([Self.measurement, Self.site], for: service)
  }

  func peripheral(
    _ peripheral: CBPeripheral, didDiscoverCharacteristicsFor service: CBService, error: Error?
  ) {
    for characteristic in service.characteristics ?? [] {
      switch characteristic.uuid {
      case Self.site where characteristic.properties.contains(.read):
        peripheral.readValue(for: characteristic)
      case Self.measurement where characteristic.properties.contains(.indicate):
        state = .subscribing
        peripheral.setNotifyValue(true, for: characteristic)
      default: break
      }
    }
  }

  func peripheral(
    _ peripheral: CBPeripheral, didUpdateNotificationStateFor characteristic: CBCharacteristic,
    error: Error?
  ) {
    state = error == nil && characteristic.isNotifying ? .receiving : .failed("no indications")
  }

  func peripheral(
    _ peripheral: CBPeripheral, didUpdateValueFor characteristic: CBCharacteristic, error: Error?
  ) {
    guard error == nil, let value = characteristic.value else { return }
    switch characteristic.uuid {
    case Self.site: onSite(Int(value.first ?? 0))
    case Self.measurement: if let celsius = Self.celsius(value) { onTemperature(celsius) }
    default: break
    }
  }

  /// Flags, then a 32-bit float: mantissa of 24 bits and exponent of 8. The unit is bit 0.
  static func celsius(_ value: Data) -> Double? {
    guard value.count >= 5 else { return nil }
    let octets = [UInt8](value)
    let raw = UInt32(octets[1]) | UInt32(octets[2]) << 8 | UInt32(octets[3]) << 16
    let mantissa = Int32(bitPattern: raw << 8) >> 8
    let number = Double(mantissa) * pow(10, Double(Int8(bitPattern: octets[4])))
    return octets[0] & 1 == 0 ? number : (number - 32) / 1.8
  }
}

/// The thermometer: measures while a central is subscribed, one indication after another.
final class ThermometerDevice: NSObject, CBPeripheralManagerDelegate {
  private var manager: CBPeripheralManager!
  private let measurement = CBMutableCharacteristic(
    type: ThermometerApp.measurement, properties: [.indicate], value: nil,
    permissions: [.readable])
  private var waiting: [Data] = []
  private var tenths: Int32 = 366

  init(queue: DispatchQueue) {
    super.init()
    manager = CBPeripheralManager(delegate: self, queue: queue)
  }

  func peripheralManagerDidUpdateState(_ peripheral: CBPeripheralManager) {
    guard peripheral.state == .poweredOn else { return }
    let site = CBMutableCharacteristic(
      type: ThermometerApp.site, properties: .read, value: Data([6]), permissions: .readable)
    let service = CBMutableService(type: ThermometerApp.service, primary: true)
    service.characteristics = [measurement, site]
    peripheral.add(service)
  }

  func peripheralManager(
    _ peripheral: CBPeripheralManager, didAdd service: CBService, error: Error?
  ) {
    guard error == nil, !peripheral.isAdvertising else { return }
    peripheral.startAdvertising([
      CBAdvertisementDataLocalNameKey: "Thermo",
      CBAdvertisementDataServiceUUIDsKey: [service.uuid],
    ])
  }

  func peripheralManager(
    _ peripheral: CBPeripheralManager, central: CBCentral,
    didSubscribeTo characteristic: CBCharacteristic
  ) {
    // The queue is full: the rest is sent when there is room.
    for _ in 0..<50 {
      let raw = UInt32(bitPattern: tenths)
      waiting.append(
        Data([0, UInt8(raw & 0xFF), UInt8(raw >> 8 & 0xFF), UInt8(raw >> 16 & 0xFF), 0xFF]))
      tenths += 1
    }
    send()
  }

  func peripheralManagerIsReady(toUpdateSubscribers peripheral: CBPeripheralManager) { send() }

  private func send() {
    while let next = waiting.first,
      manager.updateValue(next, for: measurement, onSubscribedCentrals: nil)
    {
      waiting.removeFirst()
    }
  }
}
