import CoreBluetooth

// A firmware updater and its device, written as for iOS. The updater is a class for views to observe,
// with one async function on continuations that the delegate methods resume.

enum Firmware {
  static var service: CBUUID { CBUUID(string: "D0F00001-4D2E-4B1A-9C3F-7A5B8E2C6F10") }
  static var control: CBUUID { CBUUID(string: "D0F00002-4D2E-4B1A-9C3F-7A5B8E2C6F10") }
  static var data: CBUUID { CBUUID(string: "D0F00003-4D2E-4B1A-9C3F-7A5B8E2C6F10") }

  enum Command: UInt8 { case begin = 1, finish = 2, receipt = 0x10, result = 0x20 }

  static func checksum(_ data: Data) -> UInt32 {
    data.reduce(2_166_136_261) { ($0 ^ UInt32($1)) &* 16_777_619 }
  }

  static func octets(_ number: UInt32) -> Data {
    withUnsafeBytes(of: number.littleEndian) { Data($0) }
  }

  static func number(_ data: Data) -> UInt32 {
    data.prefix(4).reversed().reduce(0) { $0 << 8 | UInt32($1) }
  }
}

/// `@unchecked Sendable`: all state is used on the manager's queue only.
final class FirmwareUpdater: NSObject, @unchecked Sendable {
  enum Failure: Error, Equatable { case notFound, disconnected, refused(UInt8), busy }

  private let queue = DispatchQueue(label: "updater")
  private var central: CBCentralManager!
  private var device: CBPeripheral?
  private var control: CBCharacteristic?
  private var data: CBCharacteristic?
  private var image = Data()
  private var sent = 0
  private var continuation: CheckedContinuation<Void, any Error>?
  private var verdict: Result<Void, any Error>?
  private(set) var progress = 0.0
  private(set) var fullStops = 0

  override init() {
    super.init()
    central = CBCentralManager(delegate: self, queue: queue)
  }

  /// Finds the device, sends the image and waits for the result.
  func update(with image: Data) async throws {
    try await withCheckedThrowingContinuation {
      (continuation: CheckedContinuation<Void, any Error>) in
      queue.async { [self] in
        guard self.continuation == nil else { return continuation.resume(throwing: Failure.busy) }
        self.continuation = continuation
        self.image = image
        sent = 0
        if central.state == .poweredOn { scan() }
      }
    }
  }

  private func scan() {
    if let known = central.retrieveConnectedPeripherals(withServices: [Firmware.service]).first {
      device = known
      return central.connect(known)
    }
    central.scanForPeripherals(withServices: [Firmware.service])
  }

  /// Returns the result after disconnecting, so that the device can be connected again.
  private func finish(_ result: Result<Void, any Error>) {
    guard let device else { return resume(with: result) }
    verdict = result
    central.cancelPeripheralConnection(device)
  }

  private func resume(with result: Result<Void, any Error>) {
    let waiting = continuation
    continuation = nil
    waiting?.resume(with: result)
  }

  private func pump() {
    guard let device, let data else { return }
    let size = device.maximumWriteValueLength(for: .withoutResponse)
    while sent < image.count {
      guard device.canSendWriteWithoutResponse else {
        fullStops += 1
        return
      }
      let end = min(image.count, sent + size)
      device.writeValue(image.subdata(in: sent..<end), for: data, type: .withoutResponse)
      sent = end
    }
    if sent == image.count, let control {
      sent += 1
      device.writeValue(
        Data([Firmware.Command.finish.rawValue]), for: control, type: .withResponse)
    }
  }
}

extension FirmwareUpdater: CBCentralManagerDelegate {
  func centralManagerDidUpdateState(_ central: CBCentralManager) {
    if central.state == .poweredOn, continuation != nil { scan() }
  }

  func centralManager(
    _ central: CBCentralManager, didDiscover peripheral: CBPeripheral,
    advertisementData: [String: Any], rssi RSSI: NSNumber
  ) {
    central.stopScan()
    device = peripheral
    central.connect(peripheral, options: nil)
  }

  func centralManager(_ central: CBCentralManager, didConnect peripheral: CBPeripheral) {
    peripheral.delegate = self
    peripheral.discoverServices([Firmware.service])
  }

  func centralManager(
    _ central: CBCentralManager, didDisconnectPeripheral peripheral: CBPeripheral, error: Error?
  ) {
    device = nil
    let result = verdict ?? .failure(Failure.disconnected)
    verdict = nil
    resume(with: result)
  }
}

extension FirmwareUpdater: CBPeripheralDelegate {
  func peripheral(_ peripheral: CBPeripheral, didDiscoverServices error: Error?) {
    guard let service = peripheral.services?.first else {
      return finish(.failure(error ?? Failure.notFound))
    }
    peripheral.discoverCharacteristics([Firmware.control, Firmware.data], for: service)
  }

  func peripheral(
    _ peripheral: CBPeripheral, didDiscoverCharacteristicsFor service: CBService, error: Error?
  ) {
    control = service.characteristics?.first { $0.uuid == Firmware.control }
    data = service.characteristics?.first { $0.uuid == Firmware.data }
    guard let control, data != nil else { return finish(.failure(error ?? Failure.notFound)) }
    peripheral.setNotifyValue(true, for: control)
  }

  func peripheral(
    _ peripheral: CBPeripheral, didUpdateNotificationStateFor characteristic: CBCharacteristic,
    error: Error?
  ) {
    guard error == nil, characteristic.isNotifying else { return }
    var begin = Data([Firmware.Command.begin.rawValue])
    begin += Firmware.octets(UInt32(image.count)) + Firmware.octets(Firmware.checksum(image))
    peripheral.writeValue(begin, for: characteristic, type: .withResponse)
  }

  func peripheral(
    _ peripheral: CBPeripheral, didWriteValueFor characteristic: CBCharacteristic, error: Error?
  ) {
    if let error = error as? CBATTError {
      return finish(.failure(Failure.refused(UInt8(truncatingIfNeeded: error.code.rawValue))))
    }
    pump()
  }

  func peripheralIsReady(toSendWriteWithoutResponse peripheral: CBPeripheral) { pump() }

  func peripheral(
    _ peripheral: CBPeripheral, didUpdateValueFor characteristic: CBCharacteristic, error: Error?
  ) {
    guard let value = characteristic.value, let first = value.first else { return }
    switch Firmware.Command(rawValue: first) {
    case .receipt: progress = Double(Firmware.number(value.dropFirst())) / Double(image.count)
    case .result where value.count > 1 && value[1] == 0: finish(.success(()))
    case .result: finish(.failure(Failure.refused(value.count > 1 ? value[1] : 0xFF)))
    default: break
    }
  }
}

/// Receives an image, notifies the progress and, at the end, whether the image is complete.
final class FirmwareTarget: NSObject, CBPeripheralManagerDelegate {
  static let limit = 4_000_000
  private var manager: CBPeripheralManager!
  private let control = CBMutableCharacteristic(
    type: Firmware.control, properties: [.write, .notify], value: nil, permissions: [.writeable])
  private let data = CBMutableCharacteristic(
    type: Firmware.data, properties: [.writeWithoutResponse], value: nil,
    permissions: [.writeable])
  private var expected = 0
  private var checksum: UInt32 = 0
  private var image = Data()
  private var packets = 0
  private var notices: [Data] = []
  /// The last complete image.
  private(set) var installed: Data?

  init(queue: DispatchQueue) {
    super.init()
    manager = CBPeripheralManager(delegate: self, queue: queue)
  }

  func peripheralManagerDidUpdateState(_ peripheral: CBPeripheralManager) {
    guard peripheral.state == .poweredOn else { return }
    let service = CBMutableService(type: Firmware.service, primary: true)
    service.characteristics = [control, data]
    peripheral.add(service)
    peripheral.startAdvertising([CBAdvertisementDataServiceUUIDsKey: [Firmware.service]])
  }

  func peripheralManager(
    _ peripheral: CBPeripheralManager, didReceiveWrite requests: [CBATTRequest]
  ) {
    for request in requests {
      let value = request.value ?? Data()
      if request.characteristic.uuid == Firmware.data {
        image += value
        packets += 1
        if packets % 64 == 0 {
          notify(Data([Firmware.Command.receipt.rawValue]) + Firmware.octets(UInt32(image.count)))
        }
        continue
      }
      switch value.first.flatMap(Firmware.Command.init(rawValue:)) {
      case .begin where value.count == 9:
        expected = Int(Firmware.number(value.dropFirst()))
        guard expected <= Self.limit else {
          return peripheral.respond(to: request, withResult: CBATTError.Code(rawValue: 0x81)!)
        }
        checksum = Firmware.number(value.dropFirst(5))
        (image, packets) = (Data(), 0)
        peripheral.respond(to: request, withResult: .success)
      case .finish:
        peripheral.respond(to: request, withResult: .success)
        let isWhole = image.count == expected && Firmware.checksum(image) == checksum
        if isWhole { installed = image }
        notify(Data([Firmware.Command.result.rawValue, isWhole ? 0 : 1]))
      default: peripheral.respond(to: request, withResult: .requestNotSupported)
      }
    }
  }

  func peripheralManagerIsReady(toUpdateSubscribers peripheral: CBPeripheralManager) { drain() }

  private func notify(_ value: Data) {
    notices.append(value)
    drain()
  }

  private func drain() {
    while let next = notices.first,
      manager.updateValue(next, for: control, onSubscribedCentrals: nil)
    {
      notices.removeFirst()
    }
  }
}
