package import AttoRadio

/// The parameters that the kernel uses for an adapter where no program gives others (MGMT_OP_READ_DEF_SYSTEM_CONFIG).
package struct AdapterDefaults: Hashable, Sendable {
  /// The numbers of parameters of two octets, as the kernel's mgmt_config.c has them.
  private enum Kind {
    /// Interval and window.
    static let discovery: [UInt16] = [0x0011, 0x0012]
    static let monitor: [UInt16] = [0x0013, 0x0014]
    static let supervisionTimeout: UInt16 = 0x001A
  }

  /// The supervision timeout of links, in units of 10 ms.
  package var supervisionTimeout: UInt16?
  /// When the radio listens in active scans.
  package var activeScans: ScanTiming?
  /// When the radio listens in passive scans by advertisement monitors.
  package var passiveScans: ScanTiming?

  package init(
    supervisionTimeout: UInt16? = nil, activeScans: ScanTiming? = nil,
    passiveScans: ScanTiming? = nil
  ) {
    self.supervisionTimeout = supervisionTimeout
    (self.activeScans, self.passiveScans) = (activeScans, passiveScans)
  }

  /// Reads parameters, each a number, a length and a value. What stands behind a malformed one is left out.
  init(_ parameters: [UInt8]) {
    var reader = ManagementReader(parameters)
    var values: [UInt16: UInt16] = [:]
    while !reader.rest.isEmpty {
      let kind: UInt16 = reader.integer()
      let length: UInt8 = reader.integer()
      let value = reader.octets(Int(length))
      guard !reader.isShort else { break }
      if value.count == 2 { values[kind] = UInt16(octets: value) }
    }
    func timing(_ kinds: [UInt16]) -> ScanTiming? {
      guard let interval = values[kinds[0]], let window = values[kinds[1]] else { return nil }
      return ScanTiming(interval: interval, window: window)
    }
    supervisionTimeout = values[Kind.supervisionTimeout]
    (activeScans, passiveScans) = (timing(Kind.discovery), timing(Kind.monitor))
  }

  /// The timings as parameters of MGMT_OP_SET_DEF_SYSTEM_CONFIG.
  var scanOctets: [UInt8] {
    [(Kind.discovery, activeScans), (Kind.monitor, passiveScans)].flatMap { kinds, timing in
      timing.map { timing in
        zip(kinds, [timing.interval, timing.window]).flatMap { kind, value in
          kind.octets(2) + [2] + value.octets(2)
        }
      } ?? []
    }
  }
}
