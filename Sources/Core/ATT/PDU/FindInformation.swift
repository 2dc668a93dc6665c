/// Find Information Request: asks for the handles and types of attributes. Vol 3, Part F,
/// 3.4.3.1.
public struct FindInformationRequest: Equatable, Sendable {
  /// The first handle. A peer may send a start and end that are not a valid ``HandleRange``.
  public let start: AttributeHandle
  /// The last handle.
  public let end: AttributeHandle

  /// Creates the PDU from its fields.
  public init(_ range: HandleRange) {
    start = range.start
    end = range.end
  }

  init?(_ octets: RawSpan) {
    guard octets.byteCount == 5 else { return nil }
    start = octets.handle(at: 1)
    end = octets.handle(at: 3)
  }

  /// Appends the 5 octets of the PDU; traps without room.
  public func encode(into out: inout OutputRawSpan) {
    out.append(Opcode.findInformationRequest)
    out.append(start)
    out.append(end)
  }
}

/// Find Information Response: handles with their types, all of one width. Vol 3, Part F,
/// 3.4.3.2.
public struct FindInformationResponse: ~Escapable {
  /// 1 for 16-bit UUIDs, 2 for 128-bit ones.
  public let format: UInt8
  @usableFromInline let entries: RawSpan

  @_lifetime(copy octets)
  init?(_ octets: RawSpan) {
    guard octets.byteCount >= 6 else { return nil }
    format = octets.octet(at: 1)
    guard format == 1 || format == 2 else { return nil }
    entries = octets.from(2)
    guard entries.byteCount % Self.stride(format) == 0 else { return nil }
  }

  @inlinable static func stride(_ format: UInt8) -> Int { format == 1 ? 4 : 18 }

  /// The number of attributes listed, at least one.
  @inlinable public var count: Int { entries.byteCount / Self.stride(format) }

  /// One listed attribute.
  @inlinable public subscript(index: Int) -> (handle: AttributeHandle, type: BluetoothUUID) {
    let stride = Self.stride(format)
    let offset = index * stride
    return (entries.handle(at: offset), entries.uuid(at: offset + 2, length: stride - 2))
  }

  /// One listed attribute of a response with ``format`` 1, as one number: the handle in the lower
  /// half, the type in the upper. For fast comparisons.
  @inlinable public func shortEntry(at index: Int) -> UInt32 {
    precondition(format == 1 && index >= 0 && index < count, "no entry of this form")
    // In bounds, because entries take 4 octets each.
    return UInt32(
      littleEndian: unsafe entries.unsafeLoadUnaligned(
        fromUncheckedByteOffset: index &* 4, as: UInt32.self))
  }

  /// Appends the start of the PDU; ``append(_:_:to:)`` adds to it.
  static public func begin(format: UInt8, into out: inout OutputRawSpan) {
    out.append(Opcode.findInformationResponse)
    out.append(format)
  }

  /// Adds one attribute. Returns false, and adds nothing, if there is no room.
  @inlinable static public func append(
    _ handle: AttributeHandle, _ type: BluetoothUUID, to out: inout OutputRawSpan
  ) -> Bool {
    if let short = type.short { return append(handle, short: short, to: &out) }
    guard out.freeCapacity >= 18 else { return false }
    out.append(handle)
    out.append(type)
    return true
  }

  /// Adds one attribute with a type of 16 bits. Returns false, and adds nothing, if there is no
  /// room.
  @inlinable static public func append(
    _ handle: AttributeHandle, short type: UInt16, to out: inout OutputRawSpan
  ) -> Bool {
    guard out.freeCapacity >= 4 else { return false }
    // In one piece, because a response lists many.
    out.append(shortEntry(handle, type).littleEndian, as: UInt32.self)
    return true
  }

  /// An attribute in the form of ``shortEntry(at:)``.
  @inlinable static public func shortEntry(_ handle: AttributeHandle, _ type: UInt16) -> UInt32 {
    UInt32(type) << 16 | UInt32(handle.rawValue)
  }
}
