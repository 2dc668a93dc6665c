// Receives a megabyte that TransferSender writes without response, and notifies the count and sum of
// the received octets.
import CoreBluetooth

final class Receiver: NSObject, CBPeripheralManagerDelegate {
  private let expected = 1_048_576
  private let inbox = CBMutableCharacteristic(
    type: CBUUID(string: "7E570002-A770-4BBE-9AF0-5E1D0A7B1E00"),
    properties: [.writeWithoutResponse], value: nil, permissions: [.writeable])
  private let result = CBMutableCharacteristic(
    type: CBUUID(string: "7E570003-A770-4BBE-9AF0-5E1D0A7B1E00"), properties: [.notify],
    value: nil, permissions: [.readable])
  private var received = Data()
  private var manager: CBPeripheralManager!

  override init() {
    super.init()
    manager = CBPeripheralManager(delegate: self, queue: .main)
  }

  func peripheralManagerDidUpdateState(_ peripheral: CBPeripheralManager) {
    guard peripheral.state == .poweredOn else { return }
    let service = CBMutableService(
      type: CBUUID(string: "7E570001-A770-4BBE-9AF0-5E1D0A7B1E00"), primary: true)
    service.characteristics = [inbox, result]
    peripheral.add(service)
    peripheral.startAdvertising([CBAdvertisementDataServiceUUIDsKey: [service.uuid]])
    print("waiting")
  }

  func peripheralManager(
    _ peripheral: CBPeripheralManager, didReceiveWrite requests: [CBATTRequest]
  ) {
    for request in requests { received += request.value ?? Data() }
    guard received.count >= expected else { return }
    let text = "\(received.count) \(received.reduce(0) { $0 &+ UInt64($1) })"
    print("received \(text)")
    received = Data()
    peripheral.updateValue(Data(text.utf8), for: result, onSubscribedCentrals: nil)
  }
}

let receiver = Receiver()
RunLoop.main.run()
