// A heart-rate sensor. It publishes the Heart Rate service, advertises it, and notifies a new value
// five times a second.
//
// The code is the same as for Apple's framework. Only the last line is for Linux: it runs the main
// queue, on which the callbacks come.
import CoreBluetooth

final class HeartRateSensor: NSObject, CBPeripheralManagerDelegate {
  private let heartRate = CBUUID(string: "180D")
  private var manager: CBPeripheralManager!
  private var measurement: CBMutableCharacteristic?
  private var timer: DispatchSourceTimer?
  private var beats: UInt8 = 60

  override init() {
    super.init()
    manager = CBPeripheralManager(
      delegate: self, queue: nil,
      options: [CBPeripheralManagerOptionRestoreIdentifierKey: "heart-rate-sensor"])
  }

  func peripheralManager(
    _ peripheral: CBPeripheralManager, willRestoreState dict: [String: Any]
  ) {
    let services = dict[CBPeripheralManagerRestoredStateServicesKey] as? [CBMutableService]
    measurement = services?.first?.characteristics?.first as? CBMutableCharacteristic
    print("restored: \(services?.count ?? 0) services")
  }

  func peripheralManagerDidUpdateState(_ peripheral: CBPeripheralManager) {
    switch peripheral.state {
    case .poweredOn:
      guard measurement != nil else { return publish() }
      // If Bluetooth was off in the meantime, advertising has stopped.
      if !peripheral.isAdvertising { advertise() }
      beat()
    default: print("Bluetooth is not available: \(peripheral.state)")
    }
  }

  private func publish() {
    let measurement = CBMutableCharacteristic(
      type: CBUUID(string: "2A37"), properties: [.notify], value: nil, permissions: [.readable])
    let location = CBMutableCharacteristic(
      type: CBUUID(string: "2A38"), properties: [.read], value: Data([2]),
      permissions: [.readable])
    let service = CBMutableService(type: heartRate, primary: true)
    service.characteristics = [measurement, location]
    self.measurement = measurement
    manager.add(service)
  }

  func peripheralManager(
    _ peripheral: CBPeripheralManager, didAdd service: CBService, error: (any Error)?
  ) {
    if let error { return print("not added: \(error.localizedDescription)") }
    advertise()
    // Values of a service that is not published are dropped.
    beat()
  }

  private func advertise() {
    manager.startAdvertising([
      CBAdvertisementDataLocalNameKey: "Heart",
      CBAdvertisementDataServiceUUIDsKey: [heartRate],
    ])
  }

  func peripheralManagerDidStartAdvertising(
    _ peripheral: CBPeripheralManager, error: (any Error)?
  ) {
    print(error.map { "not advertising: \($0.localizedDescription)" } ?? "advertising")
  }

  func peripheralManager(
    _ peripheral: CBPeripheralManager, central: CBCentral,
    didSubscribeTo characteristic: CBCharacteristic
  ) {
    print("subscribed: \(central.identifier)")
  }

  private func beat() {
    guard timer == nil else { return }
    let timer = DispatchSource.makeTimerSource(queue: .main)
    timer.schedule(deadline: .now(), repeating: .milliseconds(200))
    timer.setEventHandler { [weak self] in
      guard let self, let measurement else { return }
      beats = beats >= 180 ? 60 : beats + 1
      manager.updateValue(Data([0, beats]), for: measurement, onSubscribedCentrals: nil)
    }
    timer.resume()
    self.timer = timer
  }
}

let sensor = HeartRateSensor()
RunLoop.main.run()
