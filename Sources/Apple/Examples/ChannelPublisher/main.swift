// Publishes an L2CAP channel and puts its PSM into Apple's characteristic for it. Answers each received
// megabyte with its count and sum.
//
// Usage: ChannelPublisher [encrypted]   (encrypted: require an encrypted link)
import CoreBluetooth

final class Publisher: NSObject, CBPeripheralManagerDelegate, StreamDelegate {
  private let expected = 1_048_576
  private let isEncrypted: Bool
  private var manager: CBPeripheralManager!
  private var place: CBMutableService?
  /// Retained: a channel closes when it is released.
  private var channel: CBL2CAPChannel?
  private var count = 0
  private var sum: UInt64 = 0

  init(isEncrypted: Bool) {
    self.isEncrypted = isEncrypted
    super.init()
    manager = CBPeripheralManager(delegate: self, queue: nil)
  }

  func peripheralManagerDidUpdateState(_ peripheral: CBPeripheralManager) {
    guard peripheral.state == .poweredOn else {
      return print("Bluetooth is not available: \(peripheral.state)")
    }
    peripheral.publishL2CAPChannel(withEncryption: isEncrypted)
  }

  func peripheralManager(
    _ peripheral: CBPeripheralManager, didPublishL2CAPChannel PSM: CBL2CAPPSM,
    error: (any Error)?
  ) {
    if let error { return print("not published: \(error.localizedDescription)") }
    print("published at \(PSM)")
    if let place { peripheral.remove(place) }
    let psm = CBMutableCharacteristic(
      type: CBUUID(string: CBUUIDL2CAPPSMCharacteristicString), properties: [.read],
      value: withUnsafeBytes(of: PSM.littleEndian) { Data($0) }, permissions: [.readable])
    let service = CBMutableService(
      type: CBUUID(string: "7E570010-A770-4BBE-9AF0-5E1D0A7B1E00"), primary: true)
    service.characteristics = [psm]
    place = service
    peripheral.add(service)
  }

  func peripheralManager(
    _ peripheral: CBPeripheralManager, didUnpublishL2CAPChannel PSM: CBL2CAPPSM,
    error: (any Error)?
  ) {
    print("unpublished: \(PSM)")
  }

  func peripheralManager(
    _ peripheral: CBPeripheralManager, didAdd service: CBService, error: (any Error)?
  ) {
    if let error { return print("not added: \(error.localizedDescription)") }
    peripheral.startAdvertising([CBAdvertisementDataServiceUUIDsKey: [service.uuid]])
  }

  func peripheralManagerDidStartAdvertising(
    _ peripheral: CBPeripheralManager, error: (any Error)?
  ) {
    print(error.map { "not advertising: \($0.localizedDescription)" } ?? "advertising")
  }

  func peripheralManager(
    _ peripheral: CBPeripheralManager, didOpen channel: CBL2CAPChannel?, error: (any Error)?
  ) {
    guard let channel else { return print("not opened: \(error?.localizedDescription ?? "")") }
    print("opened by \(channel.peer.identifier)")
    self.channel = channel
    (count, sum) = (0, 0)
    for stream in [channel.inputStream, channel.outputStream] as [Foundation.Stream] {
      stream.delegate = self
      stream.schedule(in: .main, forMode: .default)
      stream.open()
    }
  }

  func stream(_ stream: Foundation.Stream, handle event: Foundation.Stream.Event) {
    switch event {
    case .hasBytesAvailable: receive()
    case .endEncountered: end("closed by the other end")
    case .errorOccurred: end(stream.streamError?.localizedDescription ?? "unknown error")
    default: break
    }
  }

  private func receive() {
    guard let channel else { return }
    var piece = [UInt8](repeating: 0, count: 16_384)
    while channel.inputStream.hasBytesAvailable {
      let length = channel.inputStream.read(&piece, maxLength: piece.count)
      guard length > 0 else { return }
      count += length
      sum = piece[..<length].reduce(sum) { $0 &+ UInt64($1) }
    }
    guard count >= expected else { return }
    print("received \(count) \(sum)")
    let answer = Array("\(count) \(sum)\n".utf8)
    (count, sum) = (0, 0)
    // The answer is short: it fits into an empty stream.
    if channel.outputStream.write(answer, maxLength: answer.count) != answer.count {
      end("cannot send the answer")
    }
  }

  private func end(_ why: String) {
    guard let channel else { return }
    print("the channel has ended: \(why)")
    channel.inputStream.close()
    channel.outputStream.close()
    self.channel = nil
  }
}

let publisher = Publisher(isEncrypted: CommandLine.arguments.dropFirst().first == "encrypted")
RunLoop.main.run()
