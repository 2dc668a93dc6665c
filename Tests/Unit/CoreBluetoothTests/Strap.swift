import Foundation

@testable import AttoCoreBluetooth

/// A peripheral as in an app: a heart rate, a control point, a long and a cached value, an inbox.
final class Strap: NSObject, CBPeripheralManagerDelegate {
  let log = EventLog()
  let rate = CBMutableCharacteristic(
    type: CBUUID(string: "2A37"), properties: [.notify], value: nil, permissions: [])
  let alarm = CBMutableCharacteristic(
    type: CBUUID(string: "FF01"), properties: [.indicate], value: nil, permissions: [])
  let point = CBMutableCharacteristic(
    type: CBUUID(string: "2A39"), properties: [.write], value: nil, permissions: [.writeable])
  let long = CBMutableCharacteristic(
    type: CBUUID(string: "FF02"), properties: [.read, .write], value: nil,
    permissions: [.readable, .writeable])
  let cached = CBMutableCharacteristic(
    type: CBUUID(string: "2A38"), properties: [.read], value: Data([1]), permissions: [.readable])
  let inbox = CBMutableCharacteristic(
    type: CBUUID(string: "FF03"), properties: [.writeWithoutResponse], value: nil,
    permissions: [.writeable])
  let secret = CBMutableCharacteristic(
    type: CBUUID(string: "FF04"), properties: [.read], value: nil,
    permissions: [.readEncryptionRequired])
  let silent = CBMutableCharacteristic(
    type: CBUUID(string: "FF05"), properties: [.read, .write], value: nil,
    permissions: [.readable, .writeable])
  let service = CBMutableService(type: CBUUID(string: "180D"), primary: true)
  let battery = CBMutableService(type: CBUUID(string: "180F"), primary: false)
  let content = Locked(Data((0..<600).prefix(500).map { UInt8($0 & 0xFF) }))
  let received = Locked(Data())
  let kept = Locked<[CBATTRequest]>([])
  private(set) var manager: CBPeripheralManager!
  let queue = DispatchQueue(label: "strap")

  let name: String

  /// The objects of `willRestoreState`.
  let restored = Locked<[CBMutableService]>([])

  /// - Parameter identifier: the restore identifier.
  init(_ radio: CBRadio, name: String, restoring identifier: String? = nil) {
    self.name = name
    super.init()
    let text = CBMutableDescriptor(type: CBUUID(string: "2901"), value: "long one")
    long.descriptors = [text]
    service.characteristics = [rate, alarm, point, long, cached, inbox, secret, silent]
    battery.characteristics = [
      CBMutableCharacteristic(
        type: CBUUID(string: "2A19"), properties: .read, value: Data([99]),
        permissions: .readable)
    ]
    service.includedServices = [battery]
    manager = CBPeripheralManager(
      delegate: self, queue: queue,
      options: identifier.map { [CBPeripheralManagerOptionRestoreIdentifierKey: $0] },
      radio: radio)
  }

  func peripheralManager(_ peripheral: CBPeripheralManager, willRestoreState dict: [String: Any]) {
    let services = dict[CBPeripheralManagerRestoredStateServicesKey] as? [CBMutableService] ?? []
    restored.value = services
    let data = dict[CBPeripheralManagerRestoredStateAdvertisementDataKey] as? [String: Any]
    let name = data?[CBAdvertisementDataLocalNameKey] as? String
    log.add("restore \(services.map(\.uuid.uuidString)) \(name ?? "-") \(peripheral.isAdvertising)")
  }

  /// Releases the manager.
  func release() { manager = nil }

  let channel = Locked<CBL2CAPChannel?>(nil)

  func peripheralManager(
    _ peripheral: CBPeripheralManager, didPublishL2CAPChannel PSM: CBL2CAPPSM,
    error: (any Error)?
  ) {
    let code = (error as? CBError)?.code.rawValue
    log.add("published \(PSM)\(code.map { " CBError \($0)" } ?? error.map { " \($0)" } ?? "")")
  }

  func peripheralManager(
    _ peripheral: CBPeripheralManager, didUnpublishL2CAPChannel PSM: CBL2CAPPSM,
    error: (any Error)?
  ) {
    let code = (error as? CBError)?.code.rawValue
    log.add("unpublished \(PSM) \(code.map { "CBError \($0)" } ?? "well")")
  }

  func peripheralManager(
    _ peripheral: CBPeripheralManager, didOpen channel: CBL2CAPChannel?, error: (any Error)?
  ) {
    self.channel.value = channel
    log.add("channel \(channel?.psm ?? 0) well")
  }

  func peripheralManagerDidUpdateState(_ peripheral: CBPeripheralManager) {
    log.add("state \(peripheral.state)")
    guard peripheral.state == .poweredOn, restored.value.isEmpty else { return }
    peripheral.add(battery)
    peripheral.add(service)
    peripheral.startAdvertising([
      CBAdvertisementDataLocalNameKey: name,
      CBAdvertisementDataServiceUUIDsKey: [service.uuid],
    ])
  }

  private func name(_ error: any Error) -> String {
    (error as? CBError).map { "CBError \($0.code)" } ?? "\(error)"
  }

  func peripheralManagerDidStartAdvertising(
    _ peripheral: CBPeripheralManager, error: (any Error)?
  ) {
    log.add("advertising \(error.map(name) ?? "begun")")
  }

  func peripheralManager(
    _ peripheral: CBPeripheralManager, didAdd service: CBService, error: (any Error)?
  ) {
    log.add("added \(service.uuid.uuidString) \(error.map(name) ?? "well")")
  }

  func peripheralManager(
    _ peripheral: CBPeripheralManager, central: CBCentral,
    didSubscribeTo characteristic: CBCharacteristic
  ) {
    log.add("subscribed \(characteristic.uuid.uuidString) \(central.maximumUpdateValueLength)")
  }

  func peripheralManager(
    _ peripheral: CBPeripheralManager, central: CBCentral,
    didUnsubscribeFrom characteristic: CBCharacteristic
  ) {
    log.add("unsubscribed \(characteristic.uuid.uuidString)")
  }

  func peripheralManager(
    _ peripheral: CBPeripheralManager, didReceiveRead request: CBATTRequest
  ) {
    // Stored before it is logged: a test that reads the log may release it at once.
    let isKept = request.characteristic === silent
    if isKept { kept.withLock { $0.append(request) } }
    log.add("read \(request.characteristic.uuid.uuidString) \(request.offset)")
    if isKept { return }
    let content = content.value
    guard request.offset <= content.count else {
      return peripheral.respond(to: request, withResult: .invalidOffset)
    }
    request.value = content.subdata(in: request.offset..<content.count)
    peripheral.respond(to: request, withResult: .success)
  }

  func peripheralManager(
    _ peripheral: CBPeripheralManager, didReceiveWrite requests: [CBATTRequest]
  ) {
    let first = requests[0]
    if first.characteristic === inbox, let value = first.value {
      received.withLock { $0.append(value) }
      log.add("inbox \(value.count)")
      return
    }
    // Stored before it is logged, as above.
    let isKept = first.characteristic === silent
    if isKept { kept.withLock { $0 += requests } }
    log.add("write \(first.characteristic.uuid.uuidString) in \(requests.count)")
    if isKept { return }
    if first.characteristic === point {
      return peripheral.respond(
        to: first,
        withResult: first.value == Data([1]) ? .success : CBATTError.Code(rawValue: 0x80)!)
    }
    var new = content.value
    for request in requests {
      guard request.offset <= new.count else {
        return peripheral.respond(to: first, withResult: .invalidOffset)
      }
      new = new.prefix(request.offset) + (request.value ?? Data())
    }
    content.value = new
    peripheral.respond(to: first, withResult: .success)
  }

  func peripheralManagerIsReady(toUpdateSubscribers peripheral: CBPeripheralManager) {
    log.add("ready")
  }
}
