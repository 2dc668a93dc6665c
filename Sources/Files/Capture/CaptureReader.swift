/// Reads a capture file as it comes, record by record.
///
/// # Theory
///
/// It does no I/O: octets are appended in pieces of any size, and ``next()`` is asked for records
/// until it has none. So pipes and files that are longer than the memory are read alike, and what is
/// held is at most one record and the last piece. The format is told by the first octets, whatever
/// the file is called.
///
/// States: *undecided*, until enough is there to tell the format; one for each format; *skipping*
/// octets of a block that carries no record. A fault is the end: nothing after it can be trusted,
/// since nothing in these formats tells where a record begins but the record before it.
public struct CaptureReader: Sendable {
  /// Octets of a record, and of a pcapng block that is looked into.
  public static let recordLimit = 262_144
  /// Interfaces that one section of a pcapng file describes.
  public static let interfaceLimit = 1024
  /// Octets by which every format can be told.
  public static let tellingLength = 16

  /// The formats.
  public enum Format: String, Sendable {
    /// What Android, BlueZ's btmon and `--capture` write.
    case btsnoop
    /// What tcpdump writes.
    case pcap
    /// What Wireshark and `--capture` write.
    case pcapng
    /// What BlueZ's hcidump writes unless told otherwise.
    case hcidump
  }

  /// The format, once it can be told.
  public private(set) var format: Format?
  /// Records that were read.
  public internal(set) var recordCount = 0

  var buffer = CaptureBuffer()
  /// Octets of an uninteresting block that are still to come.
  var skipping = 0
  /// What is waited for, for the message of a file that ends before it.
  var awaited = (what: "the header", length: CaptureReader.tellingLength)
  var layout = Layout.undecided

  enum Layout: Sendable {
    case undecided
    case btsnoop(CaptureLinkType)
    case pcap(CaptureLinkType, isBig: Bool, nanoseconds: Int64)
    case pcapng(PcapngSection)
    case hcidump
  }

  /// One that has read nothing.
  public init() {}

  /// Adds what comes next in the file. To keep little in memory, ``next()`` is asked until it has
  /// no record before more is appended.
  public mutating func append(_ octets: some Collection<UInt8>) { buffer.append(octets) }

  /// The next record; nil if the octets for it have not been appended yet.
  ///
  /// - Throws: where the file is none of a known format, or breaks its own; nothing can be read
  ///   after that.
  public mutating func next() throws(CaptureFault) -> CaptureRecord? {
    while true {
      if skipping > 0 {
        let length = min(skipping, buffer.count)
        buffer.drop(length)
        skipping -= length
        guard skipping == 0 else { return nil }
      }
      switch layout {
      case .undecided: guard try begin() else { return nil }
      case .btsnoop(let type): return try btsnoop(type)
      case .pcap(let type, let isBig, let unit): return try pcap(type, isBig, unit)
      case .hcidump: return try hcidump()
      case .pcapng(var section):
        switch try block(&section) {
        case .record(let record): return record
        case .incomplete: return nil
        case .passed: layout = .pcapng(section)
        }
      }
    }
  }

  /// To be called at the end of the file, once ``next()`` has returned nil.
  ///
  /// - Throws: if the file ends in the middle of something.
  public mutating func finish() throws(CaptureFault) {
    if case .undecided = layout {
      // A file may be shorter than what decides: then what is there says which it meant to be.
      guard buffer.count > 0 else { throw fault("the file is empty", isTruncation: true) }
      guard Self.format(of: Array(buffer.prefix(buffer.count))) != nil else { throw unknown() }
    }
    guard buffer.count > 0 || skipping > 0 else { return }
    throw fault(
      skipping > 0
        ? "the file ends \(skipping) octets before the end of a block"
        : "the file ends after \(buffer.count) octets of \(awaited.what), which has"
          + " \(awaited.length)",
      isTruncation: true)
  }

  /// The format that a file with this beginning has; nil if it is no capture.
  ///
  /// - Parameter prefix: the first ``tellingLength`` octets, or all of a shorter file.
  public static func format(of prefix: [UInt8]) -> Format? {
    if prefix.starts(with: btsnoopMagic) { return .btsnoop }
    guard prefix.count >= 4 else { return nil }
    if prefix.starts(with: [0x0A, 0x0D, 0x0D, 0x0A]) { return .pcapng }
    if pcapMagic(prefix) != nil { return .pcap }
    return looksLikeHCIDump(prefix) ? .hcidump : nil
  }

  // MARK: - For the formats

  /// A fault of the record that begins here.
  func fault(_ what: String, isTruncation: Bool = false) -> CaptureFault {
    if case .undecided = layout {
      return CaptureFault(record: 0, offset: buffer.offset, what, isTruncation: isTruncation)
    }
    return CaptureFault(
      record: recordCount + 1, offset: buffer.offset, what, isTruncation: isTruncation)
  }

  /// Whether so many octets have come; notes what is waited for if not.
  mutating func has(_ length: Int, of what: String) -> Bool {
    guard buffer.count < length else { return true }
    awaited = (what, length)
    return false
  }

  /// Throws unless a record of this length is read at all.
  func check(length: UInt32) throws(CaptureFault) {
    guard length <= Self.recordLimit else {
      throw fault("it says that it has \(length) octets; at most \(Self.recordLimit) are read")
    }
  }

  /// Takes a record out of the buffer, which holds it whole.
  mutating func record(
    header: Int, length: Int, time: Int64?, _ type: CaptureLinkType, _ flags: CaptureFlags
  ) -> CaptureRecord {
    recordCount += 1
    let offset = buffer.offset
    buffer.drop(header)
    let octets = buffer.take(length)
    return CaptureRecord(
      number: recordCount, offset: offset, time: time, content: type.content(octets, flags))
  }

  // MARK: - The beginning

  /// Reads the header of the file; false if it has not come yet.
  private mutating func begin() throws(CaptureFault) -> Bool {
    guard has(Self.tellingLength, of: "the header") else { return false }
    guard let found = Self.format(of: Array(buffer.prefix(Self.tellingLength))) else {
      throw unknown()
    }
    format = found
    switch found {
    case .btsnoop: layout = .btsnoop(try btsnoopHeader())
    case .pcap:
      guard has(24, of: "the header") else { return false }
      layout = try pcapHeader()
    case .pcapng: layout = .pcapng(PcapngSection())
    case .hcidump: layout = .hcidump
    }
    return true
  }

  private func unknown() -> CaptureFault {
    let isCompressed = buffer.count >= 2 && buffer[0] == 0x1F && buffer[1] == 0x8B
    return fault(
      isCompressed
        ? "this is compressed (gzip): unpack it first"
        : "this is neither btsnoop, pcap, pcapng nor what hcidump writes")
  }
}
