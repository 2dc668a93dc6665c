/// What is wrong with a capture file, and where.
public struct CaptureFault: Error, Equatable, Sendable {
  /// The record, counted from 1 as other tools count frames; 0 before the first.
  public var record: Int
  /// Octets before the place in the file.
  public var offset: Int
  /// What is wrong there, as a clause.
  public var what: String
  /// Whether the file merely ends too early: all before that is as it was written.
  public var isTruncation: Bool

  init(record: Int, offset: Int, _ what: String, isTruncation: Bool = false) {
    self.record = record
    self.offset = offset
    self.what = what
    self.isTruncation = isTruncation
  }
}

extension CaptureFault: CustomStringConvertible {
  /// `record 12 at offset 345: ...`; the header of a file belongs to no record.
  public var description: String {
    (record > 0 ? "record \(record) at offset \(offset): " : "at offset \(offset): ") + what
  }
}
