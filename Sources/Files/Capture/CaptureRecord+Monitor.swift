extension CaptureRecord {
  /// A record of Linux' monitor as it comes from the kernel, and not from a file.
  ///
  /// - Parameters:
  ///   - kind: HCI_MON_*: 3 is an event, 4 and 5 are ACL data sent and received.
  ///   - octets: what follows the monitor's header.
  ///   - isCut: whether there was more of it.
  ///   - number: counted from 1.
  ///   - time: microseconds since 1970.
  public init(
    monitor kind: UInt16, adapter: UInt16, octets: [UInt8], isCut: Bool, number: Int, time: Int64
  ) {
    let (nanoseconds, isFar) = time.multipliedReportingOverflow(by: 1000)
    let flags = CaptureFlags(
      word: UInt32(adapter) << 16 | UInt32(kind), isSent: nil, isCut: isCut)
    self.init(
      number: number, offset: 0, time: isFar ? nil : nanoseconds,
      content: CaptureLinkType.monitor.content(octets, flags))
  }
}
