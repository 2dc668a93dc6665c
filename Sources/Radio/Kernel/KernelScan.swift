import EventLoop
import Links

/// One consumer of what an adapter receives. The loop's thread only.
final class KernelScan {
  let options: ScanOptions
  private let loop: Loop
  private var sink: ScanEvents.Sink
  private var shown: [BluetoothAddress: Discovery] = [:]
  private var timeout: OneTimer?
  private(set) var isEnded = false

  init(_ options: ScanOptions, on loop: Loop, sink: ScanEvents.Sink) {
    self.options = options
    self.loop = loop
    self.sink = sink
  }

  /// Begins to count the time.
  func start(_ ranOut: @escaping () -> Void) {
    guard let time = options.timeout else { return }
    timeout = OneTimer(after: time, on: loop, ranOut)
  }

  /// Ends the scan and its sequence; more than once does nothing.
  func end(throwing error: RadioError? = nil) {
    guard !isEnded else { return }
    isEnded = true
    timeout?.cancel()
    sink.finish(throwing: error)
  }

  func take(_ discovery: Discovery) {
    guard !isEnded, options.admits(discovery) else { return }
    let before = shown.updateValue(discovery, forKey: discovery.address)
    guard let before else { return sink.yield(.found(discovery)) }
    // The strength of a signal always changes; it alone is no news.
    let isNews =
      before.advertisement != discovery.advertisement
      || before.scanResponse != discovery.scanResponse
      || before.isConnectable != discovery.isConnectable
    if isNews || options.reportsDuplicates { sink.yield(.seen(discovery)) }
  }

  func lose(_ address: BluetoothAddress) {
    guard !isEnded, shown.removeValue(forKey: address) != nil else { return }
    sink.yield(.gone(address))
  }
}
