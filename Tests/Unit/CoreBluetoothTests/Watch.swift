import Foundation
import Testing

@testable import AttoCoreBluetooth

/// A central as in an app, which logs all callbacks.
final class Watch: NSObject, CBCentralManagerDelegate, CBPeripheralDelegate {
  let log = EventLog()
  private(set) var manager: CBCentralManager!
  /// Retained, as in an app.
  let found = Locked<CBPeripheral?>(nil)
  /// The objects of `willRestoreState`.
  let restored = Locked<[CBPeripheral]>([])
  /// The number of services of the one that was found, before its link can change that.
  let restoredServices = Locked<Int?>(nil)
  let queue: DispatchQueue

  /// The name to look for: other tests advertise too.
  let wanted: String

  /// - Parameter identifier: the restore identifier.
  init(
    _ radio: CBRadio, for wanted: String, queue: DispatchQueue = DispatchQueue(label: "watch"),
    restoring identifier: String? = nil
  ) {
    self.queue = queue
    self.wanted = wanted
    super.init()
    manager = CBCentralManager(
      delegate: self, queue: queue,
      options: identifier.map { [CBCentralManagerOptionRestoreIdentifierKey: $0] }, radio: radio)
  }

  var peripheral: CBPeripheral { get throws { try #require(found.value, "not found") } }

  func characteristic(_ uuid: String) throws -> CBCharacteristic {
    let all = try peripheral.services?.flatMap { $0.characteristics ?? [] } ?? []
    return try #require(
      all.first { $0.uuid == CBUUID(string: uuid) }, "no characteristic \(uuid)")
  }

  /// Releases the manager and the peripheral.
  func release() {
    found.value = nil
    manager = nil
  }

  /// Releases the manager only.
  func releaseManager() { manager = nil }

  /// Scans for the strap, connects, and discovers its characteristics.
  func getReady() async throws {
    try await log.next("state poweredOn")
    manager.scanForPeripherals(withServices: [CBUUID(string: "180D")])
    try await log.next("found")
    manager.stopScan()
    let peripheral: CBPeripheral = try self.peripheral
    // At once: the peer's name is reported soon after the connection.
    peripheral.delegate = self
    manager.connect(peripheral)
    try await log.next("connected")
    peripheral.discoverServices([CBUUID(string: "180D")])
    try await log.next("services [\"180D\"] well")
    peripheral.discoverCharacteristics(nil, for: try #require(peripheral.services?.first))
    try await log.next("characteristics")
  }

  let channel = Locked<CBL2CAPChannel?>(nil)

  func peripheral(
    _ peripheral: CBPeripheral, didOpen channel: CBL2CAPChannel?, error: (any Error)?
  ) {
    self.channel.value = channel
    log.add("channel " + (channel.map { "\($0.psm) " } ?? "") + text(error))
  }

  private func text(_ error: (any Error)?) -> String {
    switch error {
    case nil: "well"
    case let error as CBError: "CBError \(error.code.rawValue)"
    case let error as CBATTError: "CBATTError \(error.code.rawValue)"
    case .some(let error): "\(error)"
    }
  }

  func centralManager(_ central: CBCentralManager, willRestoreState dict: [String: Any]) {
    let peripherals = dict[CBCentralManagerRestoredStatePeripheralsKey] as? [CBPeripheral] ?? []
    restored.value = peripherals
    found.value = peripherals.first { $0.services != nil }
    restoredServices.value = found.value?.services?.count
    for peripheral in peripherals { peripheral.delegate = self }
    let scan = dict[CBCentralManagerRestoredStateScanServicesKey] as? [CBUUID]
    let options = dict[CBCentralManagerRestoredStateScanOptionsKey] as? [String: Any]
    let repeats = options?[CBCentralManagerScanOptionAllowDuplicatesKey] as? NSNumber
    log.add(
      "restore \(peripherals.map(\.state.rawValue)) \(scan?.map(\.uuidString) ?? [])"
        + " \(repeats?.boolValue ?? false)")
  }
  func centralManagerDidUpdateState(_ central: CBCentralManager) {
    dispatchPrecondition(condition: .onQueue(queue))
    log.add("state \(central.state)")
  }
  func centralManager(
    _ central: CBCentralManager, didDiscover peripheral: CBPeripheral,
    advertisementData: [String: Any], rssi RSSI: NSNumber
  ) {
    guard advertisementData[CBAdvertisementDataLocalNameKey] as? String == wanted else { return }
    found.withLock { $0 = $0 ?? peripheral }
    log.add(
      "found \(RSSI) "
        + "\((advertisementData[CBAdvertisementDataIsConnectable] as? NSNumber)?.boolValue ?? false)"
    )
  }
  func centralManager(_ central: CBCentralManager, didConnect peripheral: CBPeripheral) {
    log.add("connected \(peripheral.state.rawValue)")
  }
  func centralManager(
    _ central: CBCentralManager, didFailToConnect peripheral: CBPeripheral, error: (any Error)?
  ) {
    log.add("failed \(text(error))")
  }
  func centralManager(
    _ central: CBCentralManager, didDisconnectPeripheral peripheral: CBPeripheral,
    error: (any Error)?
  ) {
    log.add("disconnected \(text(error))")
  }
  func centralManager(
    _ central: CBCentralManager, connectionEventDidOccur event: CBConnectionEvent,
    for peripheral: CBPeripheral
  ) {
    log.add("event \(event.rawValue)")
  }
  func peripheralDidUpdateName(_ peripheral: CBPeripheral) {
    log.add("name \(peripheral.name ?? "-")")
  }
  func peripheral(_ peripheral: CBPeripheral, didModifyServices invalidatedServices: [CBService]) {
    log.add("modified \(invalidatedServices.map(\.uuid.uuidString))")
  }
  func peripheral(_ peripheral: CBPeripheral, didReadRSSI RSSI: NSNumber, error: (any Error)?) {
    log.add("rssi \(RSSI)")
  }
  func peripheral(_ peripheral: CBPeripheral, didDiscoverServices error: (any Error)?) {
    log.add("services \(peripheral.services?.map(\.uuid.uuidString) ?? []) \(text(error))")
  }
  func peripheral(
    _ peripheral: CBPeripheral, didDiscoverIncludedServicesFor service: CBService,
    error: (any Error)?
  ) {
    log.add("included \(service.includedServices?.map(\.uuid.uuidString) ?? []) \(text(error))")
  }
  func peripheral(
    _ peripheral: CBPeripheral, didDiscoverCharacteristicsFor service: CBService,
    error: (any Error)?
  ) {
    log.add("characteristics \(service.characteristics?.count ?? 0) \(text(error))")
  }
  func peripheral(
    _ peripheral: CBPeripheral, didUpdateValueFor characteristic: CBCharacteristic,
    error: (any Error)?
  ) {
    log.add(
      "value \(characteristic.uuid.uuidString) "
        + "\(characteristic.value.map { Array($0.prefix(4)) } ?? []) "
        + "of \(characteristic.value?.count ?? 0) \(text(error))")
  }
  func peripheral(
    _ peripheral: CBPeripheral, didWriteValueFor characteristic: CBCharacteristic,
    error: (any Error)?
  ) {
    log.add("written \(characteristic.uuid.uuidString) \(text(error))")
  }
  func peripheral(
    _ peripheral: CBPeripheral, didUpdateNotificationStateFor characteristic: CBCharacteristic,
    error: (any Error)?
  ) {
    log.add(
      "notifying \(characteristic.uuid.uuidString) \(characteristic.isNotifying) \(text(error))")
  }
  func peripheral(
    _ peripheral: CBPeripheral, didDiscoverDescriptorsFor characteristic: CBCharacteristic,
    error: (any Error)?
  ) {
    log.add(
      "descriptors \(characteristic.descriptors?.map(\.uuid.uuidString) ?? []) \(text(error))")
  }
  func peripheral(
    _ peripheral: CBPeripheral, didUpdateValueFor descriptor: CBDescriptor, error: (any Error)?
  ) {
    log.add("descriptor \(descriptor.value.map { "\($0)" } ?? "-") \(text(error))")
  }
  func peripheral(
    _ peripheral: CBPeripheral, didWriteValueFor descriptor: CBDescriptor, error: (any Error)?
  ) {
    log.add("described \(text(error))")
  }
  func peripheralIsReady(toSendWriteWithoutResponse peripheral: CBPeripheral) { log.add("room") }
}

extension DispatchQueue {
  /// Suspends a serial queue from a block on it, so that no other block runs. A queue that is suspended
  /// from outside may still start blocks.
  func suspendFromWithin() async {
    await withCheckedContinuation { suspended in
      async {
        self.suspend()
        suspended.resume()
      }
    }
  }
}
