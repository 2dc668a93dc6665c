import AttoLinks
import Synchronization

extension Adapter {
  /// Scans. The sequence begins with the devices that are on the air already.
  ///
  /// The scan starts at once. It ends when the result is released, its task is cancelled, its
  /// timeout is over, or the adapter is closed.
  ///
  /// Scans of an adapter share what it hears: scan responses are asked for if one of them is active. A
  /// passive scan of the kernel requires Linux 5.10 and ends with `management` otherwise, as does one with a
  /// ``ScanOptions/timing`` before Linux 5.9.
  public nonisolated func scan(_ options: ScanOptions = ScanOptions()) -> ScanEvents {
    let id = scanIDs.add(1, ordering: .relaxed).newValue
    let (events, sink) = ScanEvents.make { self.later { $0.endScan(id) } }
    later { $0.startScan(id, options, sink) }
    return events
  }

  private func startScan(_ id: UInt64, _ options: ScanOptions, _ sink: ScanEvents.Sink) {
    let scan = Scan(options, on: loop, sink: sink)
    if let endReason { return scan.end(throwing: endReason) }
    guard state == .poweredOn else { return scan.end(throwing: .poweredOff(label)) }
    if !scans.isEmpty { for device in backend.devices { scan.receive(device) } }
    scans[id] = scan
    scan.startTimeout { [weak self] in self?.assumeIsolated { $0.endScan(id) } }
    do throws(RadioError) {
      try updateDemand()
    } catch {
      scans[id] = nil
      scan.end(throwing: error)
    }
  }

  private func updateDemand() throws(RadioError) {
    let reportsDuplicates = scans.values.contains(where: \.options.reportsDuplicates)
    try backend.scan(
      scans.isEmpty ? .nothing : reportsDuplicates ? .duplicates : .changes,
      isActive: scans.values.contains(where: \.options.isActive),
      timing: scans.values.compactMap(\.options.timing).max { $0.share < $1.share })
  }

  private func endScan(_ id: UInt64) {
    guard let scan = scans.removeValue(forKey: id) else { return }
    scan.end()
    do throws(RadioError) {
      try updateDemand()
    } catch {
      endScans(throwing: error)
    }
  }

  func endScans(throwing error: RadioError) {
    let ended = scans
    scans = [:]
    for scan in ended.values { scan.end(throwing: error) }
    // To receive nothing does not fail.
    try? backend.scan(.nothing, isActive: false, timing: nil)
  }

  func saw(_ device: Discovery) {
    for scan in scans.values { scan.receive(device) }
  }

  func lost(_ device: BluetoothAddress) {
    for scan in scans.values { scan.lose(device) }
  }
}
