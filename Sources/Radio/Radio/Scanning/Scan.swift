import AttoEventLoop
import AttoLinks

/// One consumer of what an adapter receives. The loop's thread only.
final class Scan {
  let options: ScanOptions
  private let loop: Loop
  private var sink: ScanEvents.Sink
  private var shown: [BluetoothAddress: Discovery] = [:]
  private var timeout: LoopTimer?
  private var isEnded = false

  init(_ options: ScanOptions, on loop: Loop, sink: ScanEvents.Sink) {
    self.options = options
    self.loop = loop
    self.sink = sink
  }

  func startTimeout(_ expired: @escaping () -> Void) {
    guard let time = options.timeout else { return }
    timeout = LoopTimer(after: time, on: loop, expired)
  }

  /// Ends the scan and its sequence; more than once does nothing.
  func end(throwing error: RadioError? = nil) {
    guard !isEnded else { return }
    isEnded = true
    timeout?.cancel()
    sink.finish(throwing: error)
  }

  /// Reports a device if the scan selects it and it is new or says something new.
  func receive(_ device: Discovery) {
    let device = options.isActive ? device : device.withoutScanResponse
    guard !isEnded, options.selects(device) else { return }
    let before = shown.updateValue(device, forKey: device.address)
    guard let before else { return sink.yield(.found(device)) }
    // The strength of a signal changes all the time, and is not reported alone.
    let isNews =
      before.advertisement != device.advertisement || before.scanResponse != device.scanResponse
      || before.isConnectable != device.isConnectable
    if isNews || options.reportsDuplicates { sink.yield(.seen(device)) }
  }

  func lose(_ address: BluetoothAddress) {
    guard !isEnded, shown.removeValue(forKey: address) != nil else { return }
    sink.yield(.gone(address))
  }
}
