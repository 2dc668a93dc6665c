import Atto

extension CaptureFormat {
  /// What a file of the kernel's monitor begins with: btsnoop's datalink 2001, as btmon writes it, or
  /// LINKTYPE_BLUETOOTH_LINUX_MONITOR (254).
  var monitorHeader: [UInt8] {
    switch self {
    case .btsnoop: Array("btsnoop\0".utf8) + big(1) + big(2001)
    case .pcapng: section + interface(254)
    }
  }

  /// One record of the monitor in the file.
  func record(_ record: MonitorRecord) -> [UInt8] {
    // Adapter, then kind.
    let place = UInt32(record.adapter) << 16 | UInt32(record.kind)
    switch self {
    case .btsnoop:
      return entry(record.octets, missing: record.missing, flags: place, record.time)
    case .pcapng:
      return entry(big(place) + record.octets, missing: record.missing, flags: 0, record.time)
    }
  }
}
