import ATT
import EventLoop
import Links

/// One scan on the virtual air. The loop's thread only.
///
/// It turns what an observer sees into events for its consumer. Advertisers repeat themselves
/// only where the consumer wants duplicates: one timer for the scan, set to the earliest moment
/// at which one of them is due. Without that nothing runs while nothing changes.
final class AirScan {
  private struct Shown {
    var discovery: Discovery
    /// Nanoseconds between two advertisements.
    var interval: Int64
    /// When the next one is due, on the loop's clock.
    var due: Int64
  }

  private let options: ScanOptions
  private let loop: Loop
  private var sink: ScanEvents.Sink
  private var observer: AirObserver?
  private var shown: [BluetoothAddress: Shown] = [:]
  private var timeout: OneTimer?
  private var repeating: OneTimer?
  private var isEnded = false

  init(_ options: ScanOptions, on loop: Loop, sink: ScanEvents.Sink) {
    self.options = options
    self.loop = loop
    self.sink = sink
  }

  func start(_ folder: AirFolder) {
    if let time = options.timeout {
      timeout = OneTimer(after: time, on: loop) { [unowned self] in end() }
    }
    let observer = AirObserver(folder, on: loop) { [unowned self] change in take(change) }
    self.observer = observer
    do {
      try observer.start()
      setTimer()
    } catch {
      end(throwing: error)
    }
  }

  /// Ends the scan and its sequence; more than once does nothing.
  func end(throwing error: RadioError? = nil) {
    guard !isEnded else { return }
    isEnded = true
    timeout?.cancel()
    repeating?.cancel()
    observer?.end()
    shown = [:]
    sink.finish(throwing: error)
  }

  private func take(_ change: AirObserver.Change) {
    guard !isEnded else { return }
    switch change {
    case .appeared(let address, let record), .changed(let address, let record):
      let discovery = Discovery(address, record, isActive: options.isActive)
      guard options.admits(discovery) else { return }
      let interval = record.interval * 1000
      let isNew = shown[address] == nil
      // A change of nothing that this scan receives, such as the response of a passive one.
      guard isNew || shown[address]?.discovery != discovery || options.reportsDuplicates else {
        return
      }
      shown[address] = Shown(
        discovery: discovery, interval: interval, due: loop.now + interval)
      sink.yield(isNew ? .found(discovery) : .seen(discovery))
      setTimer()
    case .left(let address):
      guard shown.removeValue(forKey: address) != nil else { return }
      sink.yield(.gone(address))
      setTimer()
    case .failed(let error): end(throwing: error)
    }
  }

  private func setTimer() {
    guard options.reportsDuplicates, !isEnded else { return }
    repeating?.cancel()
    repeating = nil
    guard let due = shown.values.lazy.map(\.due).min() else { return }
    repeating = OneTimer(after: .nanoseconds(max(0, due - loop.now)), on: loop) { [unowned self] in
      repeatDue()
    }
  }

  private func repeatDue() {
    let now = loop.now
    for address in shown.keys.sorted(by: { $0.value < $1.value }) {
      guard let radio = shown[address], radio.due <= now else { continue }
      // A loop that was held up skips what it missed rather than catching up.
      let next = radio.due + radio.interval
      shown[address]?.due = next > now ? next : now + radio.interval
      sink.yield(.seen(radio.discovery))
    }
    setTimer()
  }
}

extension Discovery {
  init(_ address: BluetoothAddress, _ record: AirRecord, isActive: Bool) {
    self.init(
      address: address, rssi: record.rssi, isConnectable: record.isConnectable,
      advertisement: record.advertisement,
      scanResponse: isActive ? record.scanResponse : [])
  }
}
