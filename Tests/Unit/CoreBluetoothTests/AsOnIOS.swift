import CoreBluetooth
import TestSupport
import Testing

// Sources as in tutorials for iOS, with every delegate method and without this module's extensions.
// They must compile. `AsOnIOSTests` runs a part of them.

final class EveryCentralMethod: NSObject, CBCentralManagerDelegate {
  var centralManager: CBCentralManager?
  var peripherals: [CBPeripheral] = []
  var events: [String] = []

  func start() {
    centralManager = CBCentralManager(
      delegate: self, queue: DispatchQueue.global(qos: .background),
      options: [CBCentralManagerOptionShowPowerAlertKey: true])
  }

  func centralManagerDidUpdateState(_ central: CBCentralManager) {
    switch central.state {
    case .unknown: events.append("unknown")
    case .resetting: events.append("resetting")
    case .unsupported: events.append("unsupported")
    case .unauthorized: events.append("unauthorized")
    case .poweredOff: events.append("off")
    case .poweredOn:
      central.scanForPeripherals(
        withServices: [CBUUID(string: "180D"), CBUUID(string: "180F")],
        options: [CBCentralManagerScanOptionAllowDuplicatesKey: NSNumber(value: true)])
    @unknown default: fatalError()
    }
  }

  func centralManager(_ central: CBCentralManager, willRestoreState dict: [String: Any]) {
    if let restored = dict[CBCentralManagerRestoredStatePeripheralsKey] as? [CBPeripheral] {
      peripherals = restored
    }
    _ = dict[CBCentralManagerRestoredStateScanServicesKey] as? [CBUUID]
    _ = dict[CBCentralManagerRestoredStateScanOptionsKey] as? [String: Any]
  }

  func centralManager(
    _ central: CBCentralManager, didDiscover peripheral: CBPeripheral,
    advertisementData: [String: Any], rssi RSSI: NSNumber
  ) {
    guard RSSI.intValue > -90, RSSI != 127 else { return }
    let name = advertisementData[CBAdvertisementDataLocalNameKey] as? String
    let services = advertisementData[CBAdvertisementDataServiceUUIDsKey] as? [CBUUID] ?? []
    let power = advertisementData[CBAdvertisementDataTxPowerLevelKey] as? NSNumber
    let data = advertisementData[CBAdvertisementDataServiceDataKey] as? [CBUUID: Data]
    let maker = advertisementData[CBAdvertisementDataManufacturerDataKey] as? Data
    let connectable = advertisementData[CBAdvertisementDataIsConnectable] as? Bool
    events.append("\(name ?? "") \(services) \(power ?? 0) \(data ?? [:]) \(maker?.count ?? 0)")
    if !peripherals.contains(peripheral), connectable ?? true {
      peripherals.append(peripheral)
      central.connect(
        peripheral, options: [CBConnectPeripheralOptionNotifyOnDisconnectionKey: true])
    }
  }

  func centralManager(_ central: CBCentralManager, didConnect peripheral: CBPeripheral) {
    events.append("connected \(peripheral.identifier.uuidString)")
  }
  func centralManager(
    _ central: CBCentralManager, didFailToConnect peripheral: CBPeripheral, error: Error?
  ) {
    events.append(error?.localizedDescription ?? "")
  }
  func centralManager(
    _ central: CBCentralManager, didDisconnectPeripheral peripheral: CBPeripheral, error: Error?
  ) {
    if let error = error as? CBError, error.code == .connectionTimeout { events.append("timeout") }
    do {
      if let error { throw error }
    } catch CBError.peripheralDisconnected {
      events.append("it left")
    } catch {}
    peripherals.removeAll { $0 == peripheral }
  }
  func centralManager(
    _ central: CBCentralManager, connectionEventDidOccur event: CBConnectionEvent,
    for peripheral: CBPeripheral
  ) {
    switch event {
    case .peerConnected: central.connect(peripheral)
    case .peerDisconnected: break
    @unknown default: break
    }
  }
  func centralManager(
    _ central: CBCentralManager, didUpdateANCSAuthorizationFor peripheral: CBPeripheral
  ) {}
}

final class EveryPeripheralMethod: NSObject, CBPeripheralDelegate {
  var rx: CBCharacteristic?

  func peripheralDidUpdateName(_ peripheral: CBPeripheral) {}
  func peripheral(_ peripheral: CBPeripheral, didModifyServices invalidatedServices: [CBService]) {
    peripheral.discoverServices(invalidatedServices.map { $0.uuid })
  }
  func peripheralDidUpdateRSSI(_ peripheral: CBPeripheral, error: Error?) {}
  func peripheral(_ peripheral: CBPeripheral, didReadRSSI RSSI: NSNumber, error: Error?) {}
  func peripheral(_ peripheral: CBPeripheral, didDiscoverServices error: Error?) {
    guard let services = peripheral.services else { return }
    for service in services where service.isPrimary {
      peripheral.discoverCharacteristics(nil, for: service)
      peripheral.discoverIncludedServices(nil, for: service)
    }
  }
  func peripheral(
    _ peripheral: CBPeripheral, didDiscoverIncludedServicesFor service: CBService, error: Error?
  ) {}
  func peripheral(
    _ peripheral: CBPeripheral, didDiscoverCharacteristicsFor service: CBService, error: Error?
  ) {
    service.characteristics?.forEach { characteristic in
      if characteristic.properties.contains(.read) {
        peripheral.readValue(for: characteristic)
      }
      if characteristic.properties.contains(.notify) {
        peripheral.setNotifyValue(true, for: characteristic)
      }
      if characteristic.uuid.isEqual(CBUUID(string: "2A39")) { rx = characteristic }
      peripheral.discoverDescriptors(for: characteristic)
    }
  }
  func peripheral(
    _ peripheral: CBPeripheral, didUpdateValueFor characteristic: CBCharacteristic, error: Error?
  ) {
    if let error = error as? CBATTError {
      switch error.code {
      case .insufficientEncryption, .insufficientAuthentication: break
      case .readNotPermitted: break
      default: break
      }
    }
    switch characteristic.uuid {
    case CBUUID(string: "2A37"): _ = characteristic.value?.first
    default: break
    }
  }
  func peripheral(
    _ peripheral: CBPeripheral, didWriteValueFor characteristic: CBCharacteristic, error: Error?
  ) {}
  func peripheral(
    _ peripheral: CBPeripheral, didUpdateNotificationStateFor characteristic: CBCharacteristic,
    error: Error?
  ) {
    guard let rx, error == nil, characteristic.isNotifying else { return }
    let text = Data("hello".utf8)
    let chunk = peripheral.maximumWriteValueLength(for: .withoutResponse)
    for start in stride(from: 0, to: text.count, by: max(1, chunk)) {
      let end = min(start + chunk, text.count)
      if peripheral.canSendWriteWithoutResponse {
        peripheral.writeValue(text[start..<end], for: rx, type: .withoutResponse)
      }
    }
  }
  func peripheral(
    _ peripheral: CBPeripheral, didDiscoverDescriptorsFor characteristic: CBCharacteristic,
    error: Error?
  ) {
    for descriptor in characteristic.descriptors ?? []
    where descriptor.uuid.uuidString == CBUUIDCharacteristicUserDescriptionString {
      peripheral.readValue(for: descriptor)
    }
  }
  func peripheral(
    _ peripheral: CBPeripheral, didUpdateValueFor descriptor: CBDescriptor, error: Error?
  ) {
    _ = descriptor.value as? String
    _ = (descriptor.value as? NSNumber)?.intValue
  }
  func peripheral(
    _ peripheral: CBPeripheral, didWriteValueFor descriptor: CBDescriptor, error: Error?
  ) {}
  func peripheralIsReady(toSendWriteWithoutResponse peripheral: CBPeripheral) {}
  func peripheral(_ peripheral: CBPeripheral, didOpen channel: CBL2CAPChannel?, error: Error?) {
    channel?.inputStream.open()
    channel?.outputStream.open()
    _ = channel?.psm
  }
}

final class EveryPeripheralManagerMethod: NSObject, CBPeripheralManagerDelegate {
  lazy var manager = CBPeripheralManager(delegate: self, queue: nil)
  let characteristic = CBMutableCharacteristic(
    type: CBUUID(string: "FFF1"), properties: [.read, .write, .notify], value: nil,
    permissions: [.readable, .writeable])
  var pending = [Data]()

  func peripheralManagerDidUpdateState(_ peripheral: CBPeripheralManager) {
    guard peripheral.state == .poweredOn else { return }
    let service = CBMutableService(type: CBUUID(string: "FFF0"), primary: true)
    service.characteristics = [characteristic]
    peripheral.add(service)
    peripheral.publishL2CAPChannel(withEncryption: false)
  }
  func peripheralManager(_ peripheral: CBPeripheralManager, willRestoreState dict: [String: Any]) {
    _ = dict[CBPeripheralManagerRestoredStateServicesKey] as? [CBMutableService]
    _ = dict[CBPeripheralManagerRestoredStateAdvertisementDataKey] as? [String: Any]
  }
  func peripheralManagerDidStartAdvertising(_ peripheral: CBPeripheralManager, error: Error?) {}
  func peripheralManager(
    _ peripheral: CBPeripheralManager, didAdd service: CBService, error: Error?
  ) {
    peripheral.startAdvertising([
      CBAdvertisementDataLocalNameKey: "Name",
      CBAdvertisementDataServiceUUIDsKey: [service.uuid],
    ])
  }
  func peripheralManager(
    _ peripheral: CBPeripheralManager, central: CBCentral,
    didSubscribeTo characteristic: CBCharacteristic
  ) {
    peripheral.setDesiredConnectionLatency(.low, for: central)
    pending = [Data(count: central.maximumUpdateValueLength)]
    flush()
  }
  func peripheralManager(
    _ peripheral: CBPeripheralManager, central: CBCentral,
    didUnsubscribeFrom characteristic: CBCharacteristic
  ) {}
  func peripheralManager(_ peripheral: CBPeripheralManager, didReceiveRead request: CBATTRequest) {
    guard let value = characteristic.value, request.offset <= value.count else {
      return peripheral.respond(to: request, withResult: .invalidOffset)
    }
    request.value = value.subdata(in: request.offset..<value.count)
    peripheral.respond(to: request, withResult: .success)
  }
  func peripheralManager(
    _ peripheral: CBPeripheralManager, didReceiveWrite requests: [CBATTRequest]
  ) {
    for request in requests where request.characteristic.uuid == characteristic.uuid {
      characteristic.value = request.value
    }
    peripheral.respond(to: requests[0], withResult: CBATTError.success)
  }
  func peripheralManagerIsReady(toUpdateSubscribers peripheral: CBPeripheralManager) { flush() }
  func peripheralManager(
    _ peripheral: CBPeripheralManager, didPublishL2CAPChannel PSM: CBL2CAPPSM, error: Error?
  ) {}
  func peripheralManager(
    _ peripheral: CBPeripheralManager, didUnpublishL2CAPChannel PSM: CBL2CAPPSM, error: Error?
  ) {}
  func peripheralManager(
    _ peripheral: CBPeripheralManager, didOpen channel: CBL2CAPChannel?, error: Error?
  ) {}

  private func flush() {
    while let next = pending.first,
      manager.updateValue(next, for: characteristic, onSubscribedCentrals: nil)
    {
      pending.removeFirst()
    }
  }
}

@Suite(.oneByOne) struct AsOnIOSTests {
  @Test func comparesUUIDs() {
    let short = CBUUID(string: "180d")
    let long = CBUUID(string: "0000180D-0000-1000-8000-00805F9B34FB")
    #expect(short == long)
    #expect(short.hash == long.hash)
    #expect(Set([short, long]).count == 1)
    #expect(short.uuidString == "180D")
    #expect(long.uuidString == "180D")
    #expect(short.data == Data([0x18, 0x0D]))
    #expect(CBUUID(data: Data([0x18, 0x0D])) == short)
    let own = UUID()
    #expect(CBUUID(nsuuid: own).uuidString == own.uuidString)
    #expect(CBUUID(data: CBUUID(nsuuid: own).data) == CBUUID(nsuuid: own))
    #expect(CBUUID(string: "12345678").data == Data([0x12, 0x34, 0x56, 0x78]))
  }

  @Test func namesErrors() {
    let error: any Error = CBError(.connectionTimeout)
    #expect(error.localizedDescription == "The connection has timed out unexpectedly.")
    #expect((error as? CBError)?.code == .connectionTimeout)
    #expect((error as NSError).domain == CBErrorDomain)
    #expect((error as NSError).code == 6)
    let left: any Error = CBError(.peripheralDisconnected)
    #expect(left.localizedDescription == "The specified device has disconnected from us.")
    let refused: any Error = CBATTError(.readNotPermitted)
    #expect(refused.localizedDescription == "Reading is not permitted.")
    #expect(CBATTError.Code(rawValue: 0x80)?.rawValue == 0x80)
    for raw in 0...0xFF { #expect(CBATTError.Code(rawValue: raw)?.rawValue == raw) }
    #expect(CBATTError.Code(rawValue: 0x05) == .insufficientAuthentication)
    #expect(CBATTError.Code(rawValue: -1)?.rawValue == -1)
    #expect(CBATTError.Code.unlikelyError.rawValue == 0x0E)
    #expect(CBError.Code.unknownDevice.rawValue == 12)
    #expect(CBError.errorDomain == "CBErrorDomain")
  }

  @Test func framesMessages() throws {
    let messages = [Data(), Data("EOM".utf8), Data(count: 5000)]
    var framing = MessageFraming(limit: 5000)
    var got: [Data] = []
    for message in messages {
      for piece in MessageFraming.pieces(of: message, size: 20) {
        got += try framing.receive(piece)
      }
    }
    #expect(got == messages)
    #expect(throws: MessageFraming.TooLong.self) {
      _ = try framing.receive(MessageFraming.pieces(of: Data(count: 5001), size: 20)[0])
    }
  }

  @Test func startsWithoutAState() {
    let every = EveryCentralMethod()
    #expect(every.centralManager?.state == nil)
    #expect(CBManager.authorization == .allowedAlways || CBManager.authorization == .denied)
    #expect(CBCentralManager.supports([]))
    #expect(!CBCentralManager.supports(.extendedScanAndConnect))
  }
}
