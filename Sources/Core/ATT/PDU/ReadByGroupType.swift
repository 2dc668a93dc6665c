/// Read By Group Type Request: values of all groups of a type. Vol 3, Part F, 3.4.4.9.
public struct ReadByGroupTypeRequest: Equatable, Sendable {
  /// The first handle. A peer may send a start and end that are not a valid ``HandleRange``.
  public let start: AttributeHandle
  /// The last handle.
  public let end: AttributeHandle
  /// The type of the grouping attributes.
  public let type: BluetoothUUID

  /// Creates the PDU from its fields.
  public init(_ range: HandleRange, type: BluetoothUUID) {
    start = range.start
    end = range.end
    self.type = type
  }

  init?(_ octets: RawSpan) {
    guard octets.byteCount == 7 || octets.byteCount == 21 else { return nil }
    start = octets.handle(at: 1)
    end = octets.handle(at: 3)
    type = octets.uuid(at: 5, length: octets.byteCount - 5)
  }

  /// Appends the 7 or 21 octets of the PDU; traps without room.
  public func encode(into out: inout OutputRawSpan) {
    out.append(Opcode.readByGroupTypeRequest)
    out.append(start)
    out.append(end)
    out.append(type)
  }
}

/// Read By Group Type Response: groups with their ends and values, all of one length. Vol 3,
/// Part F, 3.4.4.10.
public struct ReadByGroupTypeResponse: ~Escapable {
  /// Octets of each entry: 4 to 255.
  public let entryLength: Int
  @usableFromInline let entries: RawSpan

  /// The longest value in an entry, whose length field is one octet.
  public static let maximumValueLength = 251

  @_lifetime(copy octets)
  init?(_ octets: RawSpan) {
    guard octets.byteCount >= 6 else { return nil }
    entryLength = Int(octets.octet(at: 1))
    entries = octets.from(2)
    guard entryLength >= 4, entries.byteCount % entryLength == 0 else { return nil }
  }

  /// The number of groups listed, at least one.
  @inlinable public var count: Int { entries.byteCount / entryLength }

  /// First and last handle of a group. A peer may send any number as the end.
  @inlinable public func group(at index: Int) -> (start: AttributeHandle, end: AttributeHandle) {
    (entries.handle(at: index * entryLength), entries.handle(at: index * entryLength + 2))
  }

  /// The value, cut where it was longer than ATT_MTU - 6 or 251 octets.
  @_lifetime(copy self)
  @inlinable public func value(at index: Int) -> RawSpan {
    entries.extracting(index * entryLength + 4..<(index + 1) * entryLength)
  }

  /// Appends the start of the PDU; ``append(_:end:_:to:)`` adds entries of `valueLength` + 4
  /// octets.
  static public func begin(valueLength: Int, into out: inout OutputRawSpan) {
    out.append(Opcode.readByGroupTypeResponse)
    out.append(UInt8(valueLength + 4))
  }

  /// Adds one group. Returns false, and adds nothing, if there is no room.
  @inlinable static public func append(
    _ start: AttributeHandle, end: AttributeHandle, _ value: RawSpan,
    to out: inout OutputRawSpan
  ) -> Bool {
    guard out.freeCapacity >= 4 + value.byteCount else { return false }
    out.append(start)
    out.append(end)
    out.append(value)
    return true
  }
}
