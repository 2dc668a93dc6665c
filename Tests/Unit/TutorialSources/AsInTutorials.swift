import CoreBluetooth

// Five small clients as in tutorials: `switch` over states, global queues, filters by UUID and by name,
// `contains` on properties, chunks, timers, clean-up in loops. They must compile, without any of this
// module's extensions.

// MARK: Both roles, restored in the background

final class BothRoles: NSObject {
  private lazy var central = CBCentralManager(
    delegate: self, queue: DispatchQueue.global(qos: .utility),
    options: [
      CBCentralManagerOptionRestoreIdentifierKey: "both-central",
      CBCentralManagerOptionShowPowerAlertKey: NSNumber(value: false),
    ])
  private lazy var peripheral = CBPeripheralManager(
    delegate: self, queue: DispatchQueue.global(),
    options: [CBPeripheralManagerOptionRestoreIdentifierKey: "both-peripheral"])
  private let serviceUUID = CBUUID(string: "0000FFF0-0000-1000-8000-00805F9B34FB")
  private let known = UUID(uuidString: "C3E1A7B2-52B3-4C14-8E35-6B1B9F8F2A11")!
  private var value = CBMutableCharacteristic(
    type: CBUUID(string: "FFF1"),
    properties: [.read, .notify, .writeWithoutResponse, .notifyEncryptionRequired], value: nil,
    permissions: [.readable, .writeable, .readEncryptionRequired])

  func start() {
    switch CBManager.authorization {
    case .allowedAlways, .notDetermined: break
    case .denied, .restricted: return
    @unknown default: return
    }
    if central.state == .poweredOn { reconnect() }
    _ = peripheral.isAdvertising
  }

  private func reconnect() {
    if let last = central.retrievePeripherals(withIdentifiers: [known]).first {
      central.connect(
        last,
        options: [
          CBConnectPeripheralOptionNotifyOnConnectionKey: true,
          CBConnectPeripheralOptionStartDelayKey: NSNumber(value: 2),
        ])
    } else if let other = central.retrieveConnectedPeripherals(withServices: [serviceUUID]).first {
      central.connect(other, options: nil)
    } else {
      central.registerForConnectionEvents(options: [.serviceUUIDs: [serviceUUID]])
    }
  }
}

extension BothRoles: CBCentralManagerDelegate {
  func centralManagerDidUpdateState(_ central: CBCentralManager) {
    if #available(iOS 13.0, *), central.authorization == .denied { return }
    guard case .poweredOn = central.state else { return }
    reconnect()
  }

  func centralManager(_ central: CBCentralManager, willRestoreState dict: [String: Any]) {
    let restored = dict[CBCentralManagerRestoredStatePeripheralsKey] as! [CBPeripheral]? ?? []
    for one in restored where one.state == .connected { one.discoverServices([serviceUUID]) }
  }

  func centralManager(
    _ central: CBCentralManager, didDisconnectPeripheral peripheral: CBPeripheral,
    timestamp: CFAbsoluteTime, isReconnecting: Bool, error: Error?
  ) {
    guard !isReconnecting else { return }
    central.connect(peripheral)
  }

  func centralManager(
    _ central: CBCentralManager, didDisconnectPeripheral peripheral: CBPeripheral, error: Error?
  ) {
    central.connect(peripheral, options: nil)
  }
}

extension BothRoles: CBPeripheralManagerDelegate {
  func peripheralManagerDidUpdateState(_ peripheral: CBPeripheralManager) {
    switch peripheral.state {
    case .poweredOn:
      let service = CBMutableService(type: serviceUUID, primary: true)
      value.descriptors = [
        CBMutableDescriptor(
          type: CBUUID(string: CBUUIDCharacteristicUserDescriptionString), value: "A value")
      ]
      service.characteristics = [value]
      peripheral.removeAllServices()
      peripheral.add(service)
    case .poweredOff, .unauthorized, .unsupported, .resetting, .unknown:
      peripheral.stopAdvertising()
    @unknown default: break
    }
  }

  func peripheralManager(
    _ peripheral: CBPeripheralManager, willRestoreState dict: [String: Any]
  ) {
    guard
      let services = dict[CBPeripheralManagerRestoredStateServicesKey] as? [CBMutableService],
      let first = services.first?.characteristics?.first as? CBMutableCharacteristic
    else { return }
    value = first
    print(first.subscribedCentrals?.map { $0.identifier } ?? [])
  }
}

// MARK: Practical tips

enum FieldTips {
  static func describe(_ properties: CBCharacteristicProperties) -> [String] {
    var words: [String] = []
    if properties.contains(.broadcast) { words.append("broadcast") }
    if properties.contains(.read) { words.append("read") }
    if properties.contains(.writeWithoutResponse) { words.append("write without response") }
    if properties.contains(.write) { words.append("write") }
    if properties.contains(.notify) || properties.contains(.indicate) { words.append("notify") }
    if properties.contains(.authenticatedSignedWrites) { words.append("signed") }
    if properties.contains(.extendedProperties) { words.append("extended") }
    return words
  }

  static func explain(_ error: Error?) -> String {
    guard let error else { return "no error" }
    switch error {
    case let error as CBError where error.code == .peripheralDisconnected: return "it left"
    case CBError.connectionTimeout: return "timeout"
    case let error as CBATTError where error.code == .insufficientAuthentication: return "pair"
    default:
      let other = error as NSError
      return "\(other.domain) \(other.code) \(other.localizedDescription)"
    }
  }

  static func maker(of data: [String: Any]) -> UInt16? {
    guard let data = data[CBAdvertisementDataManufacturerDataKey] as? Data, data.count >= 2 else {
      return nil
    }
    return UInt16(data[0]) | UInt16(data[1]) << 8
  }
}

// MARK: A central, step by step

class StepByStep: NSObject, CBCentralManagerDelegate, CBPeripheralDelegate {
  var manager: CBCentralManager?
  var target: CBPeripheral?
  var timer: DispatchSourceTimer?
  let wanted = "Sensor"

  override init() {
    super.init()
    manager = CBCentralManager(delegate: self, queue: nil)
  }

  func centralManagerDidUpdateState(_ central: CBCentralManager) {
    var message = ""
    switch central.state {
    case .unknown: message = "unknown"
    case .resetting: message = "resetting"
    case .unsupported: message = "unsupported"
    case .unauthorized: message = "unauthorized"
    case .poweredOff: message = "off"
    case .poweredOn:
      message = "on"
      manager?.scanForPeripherals(withServices: nil, options: nil)
      let timer = DispatchSource.makeTimerSource(queue: .main)
      timer.schedule(deadline: .now() + 10)
      timer.setEventHandler { [weak self] in
        guard let self = self, self.manager?.isScanning == true else { return }
        self.manager?.stopScan()
      }
      timer.resume()
      self.timer = timer
    @unknown default: message = "new"
    }
    print(message)
  }

  func centralManager(
    _ central: CBCentralManager, didDiscover peripheral: CBPeripheral,
    advertisementData: [String: Any], rssi RSSI: NSNumber
  ) {
    guard
      peripheral.name == wanted || (advertisementData["kCBAdvDataLocalName"] as? String) == wanted
    else { return }
    manager?.stopScan()
    target = peripheral
    target?.delegate = self
    manager?.connect(target!, options: nil)
  }

  func centralManager(_ central: CBCentralManager, didConnect peripheral: CBPeripheral) {
    peripheral.discoverServices(nil)
    peripheral.readRSSI()
  }

  func centralManager(
    _ central: CBCentralManager, didFailToConnect peripheral: CBPeripheral, error: Error?
  ) {
    if let target = target { manager?.cancelPeripheralConnection(target) }
  }

  func peripheral(_ peripheral: CBPeripheral, didDiscoverServices error: Error?) {
    peripheral.services?.forEach { peripheral.discoverCharacteristics(nil, for: $0) }
  }

  func peripheral(
    _ peripheral: CBPeripheral, didDiscoverCharacteristicsFor service: CBService, error: Error?
  ) {
    for characteristic in service.characteristics! as [CBCharacteristic] {
      switch characteristic.uuid.uuidString {
      case "FFF1": peripheral.setNotifyValue(true, for: characteristic)
      case "FFF2":
        peripheral.writeValue("on".data(using: .utf8)!, for: characteristic, type: .withResponse)
      default: print(FieldTips.describe(characteristic.properties))
      }
    }
  }

  func peripheral(
    _ peripheral: CBPeripheral, didWriteValueFor characteristic: CBCharacteristic, error: Error?
  ) {
    print(FieldTips.explain(error))
  }
}

// MARK: Large data in chunks

final class ChunkSender: NSObject, CBPeripheralManagerDelegate {
  private var manager: CBPeripheralManager!
  private var transfer: CBMutableCharacteristic?
  private var central: CBCentral?
  private var data = Data()
  private var index = 0
  static var sendingEOM: Bool { false }

  func peripheralManagerDidUpdateState(_ peripheral: CBPeripheralManager) {
    if peripheral.state != .poweredOn { return }
    let transfer = CBMutableCharacteristic(
      type: CBUUID(string: "08590F7E-DB05-467E-8757-72F6FAEB13D4"),
      properties: [.notify, .writeWithoutResponse], value: nil,
      permissions: [.readable, .writeable])
    let service = CBMutableService(
      type: CBUUID(string: "E20A39F4-73F5-4BC4-A12F-17D1AD07A961"), primary: true)
    service.characteristics = [transfer]
    manager = peripheral
    manager.add(service)
    self.transfer = transfer
    manager.startAdvertising([CBAdvertisementDataServiceUUIDsKey: [service.uuid]])
  }

  func peripheralManager(
    _ peripheral: CBPeripheralManager, central: CBCentral,
    didSubscribeTo characteristic: CBCharacteristic
  ) {
    index = 0
    self.central = central
    send()
  }

  func peripheralManager(
    _ peripheral: CBPeripheralManager, central: CBCentral,
    didUnsubscribeFrom characteristic: CBCharacteristic
  ) {
    self.central = nil
  }

  func peripheralManagerIsReady(toUpdateSubscribers peripheral: CBPeripheralManager) { send() }

  func peripheralManager(
    _ peripheral: CBPeripheralManager, didReceiveWrite requests: [CBATTRequest]
  ) {
    for request in requests {
      guard let value = request.value, let text = String(data: value, encoding: .utf8) else {
        continue
      }
      print("\(request.central.identifier) \(request.offset) \(text)")
    }
  }

  private func send() {
    guard let transfer = transfer, let central = central else { return }
    var didSend = true
    while didSend, index < data.count {
      var amount = data.count - index
      amount = min(amount, central.maximumUpdateValueLength)
      let chunk = data.subdata(in: index..<(index + amount))
      didSend = manager.updateValue(chunk, for: transfer, onSubscribedCentrals: [central])
      if didSend { index += amount }
    }
    if index >= data.count {
      manager.updateValue("EOM".data(using: .utf8)!, for: transfer, onSubscribedCentrals: nil)
    }
  }
}

final class ChunkReceiver: NSObject, CBPeripheralDelegate {
  private var discovered: CBPeripheral?
  private var transfer: CBCharacteristic?
  private var data = Data()
  private var iterations = 0

  private func cleanUp(_ manager: CBCentralManager) {
    guard let discovered = discovered, case .connected = discovered.state else { return }
    for service in (discovered.services ?? [] as [CBService]) {
      for characteristic in (service.characteristics ?? [] as [CBCharacteristic]) {
        if characteristic.uuid == transfer?.uuid && characteristic.isNotifying {
          discovered.setNotifyValue(false, for: characteristic)
        }
      }
    }
    manager.cancelPeripheralConnection(discovered)
  }

  private func write() {
    guard let peripheral = discovered, let transfer = transfer else { return }
    while iterations < 5 && peripheral.canSendWriteWithoutResponse {
      let mtu = peripheral.maximumWriteValueLength(for: .withoutResponse)
      let bytes = min(mtu, data.count)
      var raw = [UInt8](repeating: 0, count: bytes)
      data.copyBytes(to: &raw, count: bytes)
      let packet = Data(bytes: &raw, count: bytes)
      peripheral.writeValue(packet, for: transfer, type: .withoutResponse)
      iterations += 1
    }
  }

  func peripheralIsReady(toSendWriteWithoutResponse peripheral: CBPeripheral) { write() }

  func peripheral(_ peripheral: CBPeripheral, didModifyServices invalidatedServices: [CBService]) {
    for service in invalidatedServices where service.uuid == CBUUID(string: "180D") {
      peripheral.discoverServices([service.uuid])
    }
  }

  func peripheral(
    _ peripheral: CBPeripheral, didUpdateValueFor characteristic: CBCharacteristic, error: Error?
  ) {
    guard let value = characteristic.value, let text = String(data: value, encoding: .utf8) else {
      return
    }
    if text == "EOM" {
      let whole = data
      DispatchQueue.main.async { print(String(data: whole, encoding: .utf8) ?? "") }
    } else {
      data.append(value)
    }
  }
}

// MARK: A heart-rate sensor

extension CBUUID {
  static var heartRateService: CBUUID {
    CBUUID(string: "0x180D".replacingOccurrences(of: "0x", with: ""))
  }
  static var bodyLocation: CBUUID { CBUUID(data: Data([0x2A, 0x38])) }
}

final class HeartRateView: NSObject, CBCentralManagerDelegate, CBPeripheralDelegate {
  private var central: CBCentralManager!
  private var sensor: CBPeripheral!

  func centralManagerDidUpdateState(_ central: CBCentralManager) {
    if central.state == CBManagerState.poweredOn {
      central.scanForPeripherals(withServices: [.heartRateService])
    }
  }

  func centralManager(
    _ central: CBCentralManager, didDiscover peripheral: CBPeripheral,
    advertisementData: [String: Any], rssi RSSI: NSNumber
  ) {
    sensor = peripheral
    sensor.delegate = self
    central.stopScan()
    central.connect(sensor)
  }

  func centralManager(_ central: CBCentralManager, didConnect peripheral: CBPeripheral) {
    sensor.discoverServices([.heartRateService])
  }

  func peripheral(_ peripheral: CBPeripheral, didDiscoverServices error: Error?) {
    guard let services = peripheral.services else { return }
    for service in services {
      print(service)
      peripheral.discoverCharacteristics(nil, for: service)
    }
  }

  func peripheral(
    _ peripheral: CBPeripheral, didDiscoverCharacteristicsFor service: CBService, error: Error?
  ) {
    guard let characteristics = service.characteristics else { return }
    for characteristic in characteristics {
      if characteristic.properties.contains(.read) { peripheral.readValue(for: characteristic) }
      if characteristic.properties.contains(.notify) {
        peripheral.setNotifyValue(true, for: characteristic)
      }
    }
  }

  func peripheral(
    _ peripheral: CBPeripheral, didUpdateValueFor characteristic: CBCharacteristic, error: Error?
  ) {
    switch characteristic.uuid {
    case .bodyLocation: print(location(from: characteristic))
    case CBUUID(string: "2A37"): print(rate(from: characteristic))
    default: print("Unhandled Characteristic UUID: \(characteristic.uuid)")
    }
  }

  private func location(from characteristic: CBCharacteristic) -> String {
    guard let data = characteristic.value, let byte = data.first else { return "Error" }
    return byte == 1 ? "Chest" : "Other"
  }

  private func rate(from characteristic: CBCharacteristic) -> Int {
    guard let data = characteristic.value else { return -1 }
    let bytes = [UInt8](data)
    return bytes[0] & 0x01 == 0 ? Int(bytes[1]) : (Int(bytes[2]) << 8) + Int(bytes[1])
  }
}
