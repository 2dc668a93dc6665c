/// The files that other tools read.
enum CaptureFormat {
  /// What Android and BlueZ write: version 1, datalink 1002 (HCI UART, H4).
  case btsnoop
  /// What Wireshark writes, with LINKTYPE_BLUETOOTH_HCI_H4_WITH_PHDR (201).
  case pcapng

  static let endings = ".btsnoop or .pcapng"

  init?(path: String) {
    if path.hasSuffix(".btsnoop") || path.hasSuffix(".snoop") {
      self = .btsnoop
    } else if path.hasSuffix(".pcapng") {
      self = .pcapng
    } else {
      return nil
    }
  }

  /// What the file begins with.
  var header: [UInt8] {
    switch self {
    case .btsnoop: Array("btsnoop\0".utf8) + big(1) + big(1002)
    case .pcapng: section + interface(201)
    }
  }

  /// One PDU in the file.
  ///
  /// - Parameters:
  ///   - microseconds: since 1970.
  ///   - missing: octets that there were behind these.
  func record(
    _ hci: [UInt8], isSent: Bool, microseconds: Int64, missing: Int = 0
  ) -> [UInt8] {
    let direction: UInt32 = isSent ? 0 : 1
    switch self {
    case .btsnoop:
      return entry(hci, missing: missing, flags: direction, microseconds)
    case .pcapng:
      // The direction goes before the octets, most significant first.
      return entry(big(direction) + hci, missing: missing, flags: 0, microseconds)
    }
  }

  /// - Parameter flags: btsnoop's; pcapng has none.
  func entry(
    _ octets: [UInt8], missing: Int, flags: UInt32, _ microseconds: Int64
  ) -> [UInt8] {
    let count = UInt32(octets.count)
    let whole = count + UInt32(missing)
    switch self {
    case .btsnoop:
      // Its clock begins in the year 0.
      let time = UInt64(bitPattern: microseconds &+ 0x00DC_DDB3_0F2F_8000)
      return big(whole) + big(count) + big(flags) + big(0)
        + big(UInt32(time >> 32)) + big(UInt32(truncatingIfNeeded: time)) + octets
    case .pcapng:
      let time = UInt64(bitPattern: microseconds)
      let padding = [UInt8](repeating: 0, count: (4 - octets.count % 4) % 4)
      return block(
        6,
        little(0) + little(UInt32(time >> 32)) + little(UInt32(truncatingIfNeeded: time))
          + little(count) + little(whole) + octets + padding)
    }
  }

  /// Section header block: version 1.0, of unknown length.
  var section: [UInt8] {
    block(0x0A0D_0D0A, little(0x1A2B_3C4D) + [1, 0, 0, 0] + [UInt8](repeating: 0xFF, count: 8))
  }

  /// Interface description block: whole PDUs; times are microseconds, as where nothing is said.
  func interface(_ linkType: UInt8) -> [UInt8] { block(1, [linkType, 0, 0, 0] + little(0)) }

  private func block(_ type: UInt32, _ body: [UInt8]) -> [UInt8] {
    let count = UInt32(body.count + 12)
    return little(type) + little(count) + body + little(count)
  }

  func big(_ number: UInt32) -> [UInt8] { little(number).reversed() }

  private func little(_ number: UInt32) -> [UInt8] {
    (0..<4).map { UInt8(truncatingIfNeeded: number >> (8 * $0)) }
  }
}
