// Writes a megabyte without response to TransferReceiver, without a timer and without loss: it writes
// while canSendWriteWithoutResponse is true, and continues in peripheralIsReady.
import CoreBluetooth

final class Sender: NSObject, CBCentralManagerDelegate, CBPeripheralDelegate {
  private let service = CBUUID(string: "7E570001-A770-4BBE-9AF0-5E1D0A7B1E00")
  private let payload = Data((0..<1_048_576).map { UInt8(truncatingIfNeeded: $0 &* 7 &+ $0 >> 8) })
  private var sent = 0
  private var manager: CBCentralManager!
  private var receiver: CBPeripheral?
  private var inbox: CBCharacteristic?
  private var begin = Date()

  override init() {
    super.init()
    manager = CBCentralManager(delegate: self, queue: .main)
  }

  func centralManagerDidUpdateState(_ central: CBCentralManager) {
    if central.state == .poweredOn { central.scanForPeripherals(withServices: [service]) }
  }

  func centralManager(
    _ central: CBCentralManager, didDiscover peripheral: CBPeripheral,
    advertisementData: [String: Any], rssi RSSI: NSNumber
  ) {
    receiver = peripheral
    central.stopScan()
    central.connect(peripheral)
  }

  func centralManager(_ central: CBCentralManager, didConnect peripheral: CBPeripheral) {
    peripheral.delegate = self
    peripheral.discoverServices([service])
  }

  func peripheral(_ peripheral: CBPeripheral, didDiscoverServices error: (any Error)?) {
    guard let found = peripheral.services?.first else { return fail("no service") }
    peripheral.discoverCharacteristics(nil, for: found)
  }

  func peripheral(
    _ peripheral: CBPeripheral, didDiscoverCharacteristicsFor service: CBService,
    error: (any Error)?
  ) {
    inbox = service.characteristics?.first { $0.properties.contains(.writeWithoutResponse) }
    guard inbox != nil,
      let result = service.characteristics?.first(where: {
        $0.properties.contains(.notify)
      })
    else { return fail("no inbox") }
    peripheral.setNotifyValue(true, for: result)
  }

  func peripheral(
    _ peripheral: CBPeripheral, didUpdateNotificationStateFor characteristic: CBCharacteristic,
    error: (any Error)?
  ) {
    begin = Date()
    send()
  }

  func peripheralIsReady(toSendWriteWithoutResponse peripheral: CBPeripheral) { send() }

  private func send() {
    guard let receiver, let inbox else { return }
    let size = receiver.maximumWriteValueLength(for: .withoutResponse)
    while sent < payload.count, receiver.canSendWriteWithoutResponse {
      let end = min(payload.count, sent + size)
      receiver.writeValue(payload.subdata(in: sent..<end), for: inbox, type: .withoutResponse)
      sent = end
    }
  }

  /// The receiver reports the count and the sum of its octets.
  func peripheral(
    _ peripheral: CBPeripheral, didUpdateValueFor characteristic: CBCharacteristic,
    error: (any Error)?
  ) {
    let text = String(decoding: characteristic.value ?? Data(), as: UTF8.self)
    let expected = "\(payload.count) \(payload.reduce(0) { $0 &+ UInt64($1) })"
    let seconds = Date().timeIntervalSince(begin)
    guard text == expected else { return fail("the receiver has \(text), expected \(expected)") }
    print("sent \(payload.count) octets in \(String(format: "%.2f", seconds)) s, none lost")
    exit(0)
  }

  private func fail(_ text: String) {
    print("failed: \(text)")
    exit(1)
  }
}

let sender = Sender()
RunLoop.main.run()
