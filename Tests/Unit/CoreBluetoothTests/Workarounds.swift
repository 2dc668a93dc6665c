import CoreBluetooth
import TestSupport
import Testing

// The lines of the page Workarounds.md, each as in an app. They must compile, and the test compares
// them with the page.

private final class WorkaroundsApp: NSObject, CBCentralManagerPresenceDelegate,
  CBPeripheralDelegate,
  CBPeripheralManagerDelegate
{
  private let heartRate = CBUUID(string: "180D")
  private var pieces: ArraySlice<Data> = []

  func centralManagerDidUpdateState(_ central: CBCentralManager) {
    central.scanForPeripherals(withServices: [heartRate])
    let brief = [CBCentralManagerScanOptionTimeoutKey: 10]
    central.scanForPeripherals(withServices: nil, options: brief)
    let patient = [CBCentralManagerScanOptionGoneTimeoutKey: 30]
    central.scanForPeripherals(withServices: nil, options: patient)
  }

  func centralManager(_ central: CBCentralManager, didLose peripheral: CBPeripheral) {
    let address = peripheral.address
    print("\(address) has gone; random: \(peripheral.hasRandomAddress)")
  }

  func centralManager(
    _ central: CBCentralManager, didDisconnectPeripheral peripheral: CBPeripheral, error: Error?
  ) {
    central.connect(peripheral)
    central.connect(peripheral, options: [CBConnectPeripheralOptionEnableAutoReconnect: true])
  }

  func restored() -> CBCentralManager {
    let kept = [CBCentralManagerOptionRestoreIdentifierKey: "monitor"]
    return CBCentralManager(delegate: self, queue: nil, options: kept)
  }

  func send(_ payload: Data, _ peripheral: CBPeripheral, _ inbox: CBCharacteristic) {
    let size = peripheral.maximumWriteValueLength(for: .withoutResponse)
    let pieces = MessageFraming.pieces(of: payload, size: size)
    self.pieces = pieces[...]
    go(on: peripheral, inbox)
  }

  func go(on peripheral: CBPeripheral, _ inbox: CBCharacteristic) {
    while peripheral.canSendWriteWithoutResponse, let piece = pieces.popFirst() {
      peripheral.writeValue(piece, for: inbox, type: .withoutResponse)
    }
  }

  func peripheralManagerDidUpdateState(_ peripheral: CBPeripheralManager) {}

  func tell(
    _ value: Data, _ manager: CBPeripheralManager, _ characteristic: CBMutableCharacteristic,
    _ central: CBCentral
  ) {
    let limit = central.maximumUpdateValueLength
    guard value.count <= limit else { return }
    guard manager.updateValue(value, for: characteristic, onSubscribedCentrals: nil) else { return }
  }

  func awaited(
    _ central: CBCentralManager, _ inbox: CBCharacteristic, _ outbox: CBCharacteristic,
    _ payload: Data
  ) async throws {
    for try await found in central.discoveries(withServices: [heartRate]) {
      let peripheral = found.peripheral
      try await central.openConnection(to: peripheral)
      peripheral.showsGenericServices = true
      let services = try await peripheral.discoverAll()
      guard let characteristic = services.first?.characteristics?.first else { return }
      let value = try await peripheral.read(characteristic)
      try await peripheral.write(value, to: characteristic)
      try await peripheral.sendMessage(payload, to: inbox)
      for try await value in peripheral.notifications(for: characteristic) {
        print(value)
        break
      }
      for try await message in peripheral.messages(from: outbox) {
        print(message)
        break
      }
      break
    }
  }
}

@Suite(.oneByOne) struct WorkaroundTests {
  /// The code in the second column of the page's table is in this file.
  @Test func compilesTheLinesOfThePage() throws {
    let here = URL(fileURLWithPath: #filePath)
    let page = here.deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent().deletingLastPathComponent()
      .appendingPathComponent("Sources/Apple/CoreBluetooth/CoreBluetooth.docc/Workarounds.md")
    func flat(_ text: some StringProtocol) -> String {
      text.split(whereSeparator: \.isWhitespace).joined(separator: " ")
    }
    // Without this function.
    let all = try String(contentsOf: here, encoding: .utf8)
    let source = flat(all.components(separatedBy: "@Suite")[0])
    let rows = try String(contentsOf: page, encoding: .utf8).split(separator: "\n")
      .filter { $0.hasPrefix("| ") }.dropFirst()
    #expect(rows.count >= 20)
    for row in rows {
      let columns = row.split(separator: "|")
      let code = columns[1].split(separator: "`")
      try #require(columns.count == 3 && code.count >= 2, "\(row)")
      #expect(source.contains(flat(code[1])), "not compiled here: \(code[1])")
    }
  }
}
