import AttoRadio

/// When an adapter of the kernel listens, for the scans of this process. The loop's thread only.
///
/// # Theory
/// The kernel keeps a timing for discovery and one for advertisement monitors, for all programs, and reads
/// it when it begins to scan. It carries out commands in the order in which they are sent, so a scan that is
/// started next has the new timing. The old one is read before, and set again when no scan asks for another.
final class KernelScanTiming {
  private weak var channel: ManagementChannel?
  private let index: UInt16
  private let host: RadioHost
  private var wanted: ScanTiming?
  /// What the adapter had before; nil until it is known.
  private var before: AdapterDefaults?
  private var isReading = false

  init(_ channel: ManagementChannel, _ index: UInt16, _ host: RadioHost) {
    (self.channel, self.index, self.host) = (channel, index, host)
  }

  /// - Parameter timing: nil: as before.
  func want(_ timing: ScanTiming?) {
    guard timing != wanted else { return }
    wanted = timing
    guard let timing else { return restore() }
    read()
    set(AdapterDefaults(activeScans: timing, passiveScans: timing)) { [weak self] error in
      self?.wanted = nil
      self?.host.scanRefused(error)
    }
  }

  private func read() {
    guard before == nil, !isReading else { return }
    isReading = true
    channel?.send(.readDefaultConfiguration, index) { [weak self] reply in
      guard let self else { return }
      isReading = false
      if case .success(let answer) = reply { before = AdapterDefaults(answer) }
      if wanted == nil { restore() }
    }
  }

  private func restore() {
    guard let defaults = before else { return }
    before = nil
    set(defaults) { _ in }
  }

  private func set(_ defaults: AdapterDefaults, failed: @escaping (RadioError) -> Void) {
    channel?.send(.setDefaultConfiguration, index, defaults.scanOctets) { reply in
      if case .failure(let error) = reply { failed(error) }
    }
  }
}

extension RadioHost {
  /// Ends all scans, since the kernel has refused one.
  func scanRefused(_ error: RadioError) {
    if case .management(_, .invalidIndex, let index?) = error {
      // The adapter was there when the scan started. The event of its removal follows.
      scanFailed(.unplugged("hci\(index)"))
    } else {
      scanFailed(error)
    }
  }
}
