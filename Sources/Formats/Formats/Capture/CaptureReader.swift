/// Reads a capture file incrementally, record by record.
///
/// # Theory
///
/// The reader does no I/O. The caller appends bytes in pieces of any size and calls ``next()`` until
/// it returns nil. Memory holds at most one record and the last piece, so pipes and files of any
/// length can be read. The format is detected from the first bytes, regardless of the file name.
///
/// The reader first waits for enough bytes to detect the format and then reads records of that
/// format, skipping pcapng blocks without records. After an error it cannot continue, because in
/// these formats only a record's header says where the next record starts.
public struct CaptureReader: Sendable {
  /// The longest record, and the longest pcapng block that is parsed, in bytes.
  public static let recordLimit = 262_144
  /// The largest number of interfaces in a section of a pcapng file.
  public static let interfaceLimit = 1024
  /// The number of bytes that identify every format.
  public static let tellingLength = 16

  /// The supported file formats.
  public enum Format: String, Sendable {
    /// Written by Android, BlueZ's btmon, and ``CaptureWriter``.
    case btsnoop
    /// Written by tcpdump.
    case pcap
    /// Written by Wireshark and ``CaptureWriter``.
    case pcapng
    /// Written by BlueZ's hcidump by default.
    case hcidump
  }

  /// The format; nil until it is known.
  public private(set) var format: Format?
  /// The number of records read so far.
  public internal(set) var recordCount = 0

  var buffer = CaptureBuffer()
  /// Bytes still to skip of a block without a record.
  var skipping = 0
  /// The part that the reader waits for, named in the error if the file ends before it.
  var awaited = (part: "the header", length: CaptureReader.tellingLength)
  var layout = Layout.undecided

  enum Layout: Sendable {
    case undecided
    case btsnoop(CaptureLinkType)
    case pcap(CaptureLinkType, isBig: Bool, nanoseconds: Int64)
    case pcapng(PcapngSection)
    case hcidump
  }

  /// Creates a reader at the start of a file.
  public init() {}

  /// Adds the next bytes of the file. Call ``next()`` until it returns nil before appending more, so
  /// that the buffer stays small.
  public mutating func append(_ octets: some Collection<UInt8>) { buffer.append(octets) }

  /// Returns the next record, or nil if its bytes have not been appended yet.
  ///
  /// - Throws: ``CaptureFault`` if the format is unknown or violated. Nothing can be read afterwards.
  public mutating func next() throws(CaptureFault) -> CaptureRecord? {
    while true {
      if skipping > 0 {
        let length = min(skipping, buffer.count)
        buffer.drop(length)
        skipping -= length
        guard skipping == 0 else { return nil }
      }
      switch layout {
      case .undecided: guard try detectFormat() else { return nil }
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

  /// Checks that the file is complete. Call it at the end of the file, after ``next()`` returned nil.
  ///
  /// - Throws: ``CaptureFault`` if the file ends inside a record or header.
  public mutating func finish() throws(CaptureFault) {
    if case .undecided = layout {
      guard buffer.count > 0 else { throw fault("the file is empty", isTruncation: true) }
      guard Self.format(of: Array(buffer.prefix(buffer.count))) != nil else {
        throw unknownFormat()
      }
    }
    guard buffer.count > 0 || skipping > 0 else { return }
    throw fault(
      skipping > 0
        ? "the file ends \(skipping) octets before the end of a block"
        : "the file ends after \(buffer.count) of \(awaited.length) octets of \(awaited.part)",
      isTruncation: true)
  }

  /// Returns the format of a file, or nil if it is not a capture.
  ///
  /// - Parameter prefix: the first ``tellingLength`` bytes, or all of a shorter file.
  public static func format(of prefix: [UInt8]) -> Format? {
    if prefix.starts(with: btsnoopMagic) { return .btsnoop }
    guard prefix.count >= 4 else { return nil }
    if prefix.starts(with: [0x0A, 0x0D, 0x0D, 0x0A]) { return .pcapng }
    if pcapMagic(prefix) != nil { return .pcap }
    return looksLikeHCIDump(prefix) ? .hcidump : nil
  }

  // MARK: - Used by the formats

  /// An error in the current record.
  func fault(_ reason: String, isTruncation: Bool = false) -> CaptureFault {
    let record = if case .undecided = layout { 0 } else { recordCount + 1 }
    return CaptureFault(
      record: record, offset: buffer.offset, reason: reason, isTruncation: isTruncation)
  }

  /// Whether the buffer holds so many bytes. If not, remembers what the reader waits for.
  mutating func has(_ length: Int, of part: String) -> Bool {
    guard buffer.count < length else { return true }
    awaited = (part, length)
    return false
  }

  func check(length: UInt32) throws(CaptureFault) {
    guard length <= Self.recordLimit else {
      throw fault("a length of \(length) octets is over the limit of \(Self.recordLimit)")
    }
  }

  /// Removes a complete record from the buffer.
  mutating func record(
    header: Int, length: Int, time: Int64?, _ type: CaptureLinkType, _ flags: CaptureFlags
  ) -> CaptureRecord {
    recordCount += 1
    let offset = buffer.offset
    buffer.drop(header)
    let octets = Array(buffer.prefix(length))
    buffer.drop(length)
    return CaptureRecord(
      number: recordCount, offset: offset, time: time, content: type.content(octets, flags))
  }

  // MARK: - Format detection

  /// Reads the file's header; false if it is not complete yet.
  private mutating func detectFormat() throws(CaptureFault) -> Bool {
    guard has(Self.tellingLength, of: "the header") else { return false }
    guard let found = Self.format(of: Array(buffer.prefix(Self.tellingLength))) else {
      throw unknownFormat()
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

  private func unknownFormat() -> CaptureFault {
    let isCompressed = buffer.count >= 2 && buffer[0] == 0x1F && buffer[1] == 0x8B
    return fault(
      isCompressed
        ? "the file is compressed with gzip: unpack it first"
        : "the file is not btsnoop, pcap, pcapng or the output of hcidump")
  }
}

/// An error in a capture file.
public struct CaptureFault: Error, Equatable, Sendable {
  /// The number of the record, from 1; 0 in the file's header.
  public var record: Int
  /// The offset in the file, in bytes.
  public var offset: Int
  /// The problem, as a clause.
  public var reason: String
  /// Whether the file merely ends too early, so that everything before is valid.
  public var isTruncation = false
}

extension CaptureFault: CustomStringConvertible {
  /// `record 12 at offset 345: ...`, without a record in the file's header.
  public var description: String {
    (record > 0 ? "record \(record) at offset \(offset): " : "at offset \(offset): ") + reason
  }
}

/// The part of a file that was appended and not yet read. Its accessors require that the caller has
/// checked ``count``.
struct CaptureBuffer: Sendable {
  private var octets: [UInt8] = []
  private var start = 0
  /// The offset of the first unread byte in the file.
  private(set) var offset = 0

  var count: Int { octets.count - start }

  mutating func append(_ more: some Collection<UInt8>) {
    octets.removeFirst(start)
    start = 0
    octets += more
  }

  subscript(index: Int) -> UInt8 { octets[start + index] }

  func prefix(_ length: Int) -> ArraySlice<UInt8> { octets[start..<start + length] }

  mutating func drop(_ length: Int) {
    start += length
    offset += length
  }

  func number32(at index: Int, isBig: Bool) -> UInt32 {
    octets.number32(at: start + index, isBig: isBig)
  }
}

// The caller has checked the length.
extension Array where Element == UInt8 {
  func number16(at index: Int, isBig: Bool) -> UInt16 {
    let (first, second) = (UInt16(self[index]), UInt16(self[index + 1]))
    return isBig ? first << 8 | second : second << 8 | first
  }

  func number32(at index: Int, isBig: Bool) -> UInt32 {
    let first = UInt32(number16(at: index, isBig: isBig))
    let second = UInt32(number16(at: index + 2, isBig: isBig))
    return isBig ? first << 16 | second : second << 16 | first
  }
}
