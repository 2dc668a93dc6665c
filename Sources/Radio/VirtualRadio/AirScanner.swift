import AttoATT
import AttoEventLoop
import AttoLinks
import AttoRadio

/// Receives advertisements of the virtual air for the scans of one radio, which does not hear itself.
/// The loop's thread only.
///
/// Advertisements are repeated only if duplicates are in demand, each by a timer of its own. Otherwise
/// nothing runs while nothing changes.
final class AirScanner {
  private let folder: AirFolder
  private let own: BluetoothAddress
  private let loop: Loop
  private let host: RadioHost
  private var demand = ScanDemand.nothing
  private var observer: AirObserver?
  /// Empty unless duplicates are in demand.
  private var repetitions: [BluetoothAddress: LoopTimer] = [:]

  /// - Parameter own: the address of the radio.
  init(_ folder: AirFolder, for own: BluetoothAddress, on loop: Loop, host: RadioHost) {
    self.folder = folder
    self.own = own
    self.loop = loop
    self.host = host
  }

  /// The devices that are on the air.
  var devices: [Discovery] {
    (observer?.records ?? [:]).filter { $0.key != own }.sorted { $0.key.value < $1.key.value }
      .map { Discovery($0, $1) }
  }

  func scan(_ demand: ScanDemand) throws(RadioError) {
    let before = self.demand
    self.demand = demand
    guard demand != .nothing else { return stop() }
    if demand != .duplicates { endRepetitions() }
    if let observer {
      guard before != demand else { return }
      for (address, record) in observer.records { repeatLater(address, record) }
    } else {
      let observer = AirObserver(folder, on: loop) { [unowned self] in receive($0) }
      self.observer = observer
      do throws(RadioError) {
        try observer.start()
      } catch {
        stop()
        throw error
      }
    }
  }

  func stop() {
    demand = .nothing
    observer?.end()
    observer = nil
    endRepetitions()
  }

  private func receive(_ change: AirObserver.Change) {
    switch change {
    case .shown(own, _), .left(own): break
    case .shown(let address, let record):
      repeatLater(address, record)
      host.saw(Discovery(address, record))
    case .left(let address):
      repetitions.removeValue(forKey: address)?.cancel()
      host.lost(address)
    case .failed(let error): host.scanFailed(error)
    }
  }

  /// Reports a device again after its interval, and so on, if duplicates are in demand.
  private func repeatLater(_ address: BluetoothAddress, _ record: AirRecord) {
    guard demand == .duplicates, address != own else { return }
    repetitions[address]?.cancel()
    let interval = Duration.microseconds(record.interval)
    repetitions[address] = LoopTimer(after: interval, on: loop) { [unowned self] in
      repeatLater(address, record)
      host.saw(Discovery(address, record))
    }
  }

  private func endRepetitions() {
    for timer in repetitions.values { timer.cancel() }
    repetitions = [:]
  }
}

extension Discovery {
  fileprivate init(_ address: BluetoothAddress, _ record: AirRecord) {
    self.init(
      address: address, rssi: record.rssi, isConnectable: record.isConnectable,
      advertisement: record.advertisement, scanResponse: record.scanResponse)
  }
}
