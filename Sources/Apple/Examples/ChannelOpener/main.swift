// Opens the L2CAP channel of ChannelPublisher, sends a megabyte over its stream, and checks the count
// and sum that the publisher answers.
import CoreBluetooth

final class Opener: NSObject, CBCentralManagerDelegate, CBPeripheralDelegate, StreamDelegate {
  private let service = CBUUID(string: "7E570010-A770-4BBE-9AF0-5E1D0A7B1E00")
  private let place = CBUUID(string: CBUUIDL2CAPPSMCharacteristicString)
  private let payload = Data((0..<1_048_576).map { UInt8(truncatingIfNeeded: $0 &* 7 &+ $0 >> 8) })
  private var manager: CBCentralManager!
  private var publisher: CBPeripheral?
  private var channel: CBL2CAPChannel?
  private var sent = 0
  private var answer = ""
  private var begin = Date()

  override init() {
    super.init()
    manager = CBCentralManager(delegate: self, queue: nil)
  }

  func centralManagerDidUpdateState(_ central: CBCentralManager) {
    if central.state == .poweredOn { central.scanForPeripherals(withServices: [service]) }
  }

  func centralManager(
    _ central: CBCentralManager, didDiscover peripheral: CBPeripheral,
    advertisementData: [String: Any], rssi RSSI: NSNumber
  ) {
    publisher = peripheral
    central.stopScan()
    central.connect(peripheral)
  }

  func centralManager(_ central: CBCentralManager, didConnect peripheral: CBPeripheral) {
    peripheral.delegate = self
    peripheral.discoverServices([service])
  }

  func centralManager(
    _ central: CBCentralManager, didDisconnectPeripheral peripheral: CBPeripheral,
    error: (any Error)?
  ) {
    fail("disconnected: \(error?.localizedDescription ?? "by this app")")
  }

  func peripheral(_ peripheral: CBPeripheral, didDiscoverServices error: (any Error)?) {
    guard let found = peripheral.services?.first else { return fail("no service") }
    peripheral.discoverCharacteristics([place], for: found)
  }

  func peripheral(
    _ peripheral: CBPeripheral, didDiscoverCharacteristicsFor service: CBService,
    error: (any Error)?
  ) {
    guard let found = service.characteristics?.first else { return fail("no PSM") }
    peripheral.readValue(for: found)
  }

  func peripheral(
    _ peripheral: CBPeripheral, didUpdateValueFor characteristic: CBCharacteristic,
    error: (any Error)?
  ) {
    guard let value = characteristic.value, value.count == 2 else { return fail("no PSM") }
    let psm = CBL2CAPPSM(value[0]) | CBL2CAPPSM(value[1]) << 8
    print("opening \(psm)")
    peripheral.openL2CAPChannel(psm)
  }

  func peripheral(
    _ peripheral: CBPeripheral, didOpen channel: CBL2CAPChannel?, error: (any Error)?
  ) {
    guard let channel else { return fail(error?.localizedDescription ?? "no channel") }
    // Retained: a channel closes when it is released.
    self.channel = channel
    begin = Date()
    for stream in [channel.inputStream, channel.outputStream] as [Foundation.Stream] {
      stream.delegate = self
      stream.schedule(in: .main, forMode: .default)
      stream.open()
    }
  }

  func stream(_ stream: Foundation.Stream, handle event: Foundation.Stream.Event) {
    switch event {
    case .hasSpaceAvailable: send()
    case .hasBytesAvailable: receive()
    case .endEncountered: fail("the other end closed the channel")
    case .errorOccurred: fail(stream.streamError?.localizedDescription ?? "unknown error")
    default: break
    }
  }

  /// Writes while the stream has room. hasSpaceAvailable comes when there is more.
  private func send() {
    guard let channel else { return }
    while sent < payload.count, channel.outputStream.hasSpaceAvailable {
      let piece = Array(payload[sent..<min(payload.count, sent + 16_384)])
      let count = channel.outputStream.write(piece, maxLength: piece.count)
      guard count > 0 else { return }
      sent += count
    }
  }

  /// Reads the count and sum that the publisher answers.
  private func receive() {
    guard let channel else { return }
    var piece = [UInt8](repeating: 0, count: 100)
    let count = channel.inputStream.read(&piece, maxLength: piece.count)
    guard count > 0 else { return }
    answer += String(decoding: piece[..<count], as: UTF8.self)
    guard answer.hasSuffix("\n") else { return }
    let expected = "\(payload.count) \(payload.reduce(0) { $0 &+ UInt64($1) })\n"
    guard answer == expected else {
      return fail("the publisher has \(answer), expected \(expected)")
    }
    let seconds = Date().timeIntervalSince(begin)
    print("sent \(payload.count) octets in \(String(format: "%.2f", seconds)) s over a channel")
    exit(0)
  }

  private func fail(_ text: String) {
    print("failed: \(text)")
    exit(1)
  }
}

let opener = Opener()
RunLoop.main.run()
