/// Read By Type Request: values of all attributes of a type. Vol 3, Part F, 3.4.4.1.
public struct ReadByTypeRequest: Equatable, Sendable {
  /// The first handle. A peer may send a start and end that are not a valid ``HandleRange``.
  public let start: AttributeHandle
  /// The last handle.
  public let end: AttributeHandle
  /// The type of the attributes.
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
  ///
  /// - Parameter inFull: whether a type that has a 16-bit form is sent as 128 bits.
  public func encode(into out: inout OutputRawSpan, inFull: Bool = false) {
    out.append(Opcode.readByTypeRequest)
    out.append(start)
    out.append(end)
    out.append(type, inFull: inFull)
  }
}

/// Read By Type Response: handles with values, all of one length. Vol 3, Part F, 3.4.4.2.
public struct ReadByTypeResponse: ~Escapable {
  /// Octets of each pair: 2 to 255.
  public let pairLength: Int
  @usableFromInline let entries: RawSpan

  /// The longest value in a pair, whose length field is one octet.
  public static let maximumValueLength = 253

  @_lifetime(copy octets)
  init?(_ octets: RawSpan) {
    guard octets.byteCount >= 4 else { return nil }
    pairLength = Int(octets.octet(at: 1))
    entries = octets.from(2)
    guard pairLength >= 2, entries.byteCount % pairLength == 0 else { return nil }
  }

  /// The number of attributes listed, at least one.
  @inlinable public var count: Int { entries.byteCount / pairLength }

  /// The handle at an index; traps if it is out of range.
  @inlinable public func handle(at index: Int) -> AttributeHandle {
    entries.handle(at: index * pairLength)
  }

  /// The value, cut where it was longer than ATT_MTU - 4 or 253 octets.
  @_lifetime(copy self)
  @inlinable public func value(at index: Int) -> RawSpan {
    precondition(index >= 0 && index < count, "no pair of this index")
    // In bounds, because pairs take `pairLength` octets each, 2 at least.
    let start = index &* pairLength
    return unsafe entries.extracting(unchecked: start &+ 2..<start &+ pairLength)
  }

  /// Appends the start of the PDU; ``append(_:_:to:)`` adds pairs of `valueLength` + 2 octets.
  static public func begin(valueLength: Int, into out: inout OutputRawSpan) {
    out.append(Opcode.readByTypeResponse)
    out.append(UInt8(valueLength + 2))
  }

  /// Adds one pair. Returns false, and adds nothing, if there is no room.
  @inlinable static public func append(
    _ handle: AttributeHandle, _ value: RawSpan, to out: inout OutputRawSpan
  ) -> Bool {
    guard out.freeCapacity >= 2 + value.byteCount else { return false }
    out.append(handle)
    out.append(value)
    return true
  }
}
