// Little-endian access to borrowed octets. `RawSpan` checks each access: an
// offset out of bounds is a bug in Atto and traps. Each PDU type checks its length once, in its
// initializer, so that no offset depends on the peer.

extension RawSpan {
  /// One octet; traps beyond the end.
  @inlinable public func octet(at offset: Int) -> UInt8 {
    unsafeLoad(fromByteOffset: offset, as: UInt8.self)
  }

  @inlinable @inline(__always) func uint16(at offset: Int) -> UInt16 {
    UInt16(littleEndian: unsafeLoadUnaligned(fromByteOffset: offset, as: UInt16.self))
  }

  @inlinable @inline(__always) func handle(at offset: Int) -> AttributeHandle {
    AttributeHandle(uint16(at: offset))
  }

  /// A UUID of 2 or 16 octets, least significant octet first.
  @inlinable @inline(__always) func uuid(at offset: Int, length: Int) -> BluetoothUUID {
    if length == 2 { return BluetoothUUID(uint16(at: offset)) }
    return BluetoothUUID(
      high: UInt64(littleEndian: unsafeLoadUnaligned(fromByteOffset: offset + 8, as: UInt64.self)),
      low: UInt64(littleEndian: unsafeLoadUnaligned(fromByteOffset: offset, as: UInt64.self)))
  }

  @inline(__always) @_lifetime(copy self) func from(_ offset: Int) -> RawSpan {
    extracting(droppingFirst: offset)
  }
}

extension RawSpan {
  /// The UUID that a value of 2, 4 or 16 octets holds; nil for any other length.
  @inlinable public var uuid: BluetoothUUID? {
    switch byteCount {
    case 2, 16: uuid(at: 0, length: byteCount)
    case 4:
      BluetoothUUID(UInt32(littleEndian: unsafeLoadUnaligned(fromByteOffset: 0, as: UInt32.self)))
    default: nil
    }
  }

  /// A copy that outlives the receive buffer.
  public var owned: [UInt8] {
    unsafe withUnsafeBytes { unsafe [UInt8]($0) }
  }

  /// Whether the octets are equal.
  public func isEqual(to other: RawSpan) -> Bool {
    guard byteCount == other.byteCount else { return false }
    for offset in 0..<byteCount where octet(at: offset) != other.octet(at: offset) {
      return false
    }
    return true
  }
}

extension OutputRawSpan {
  /// Appends a number, least significant octet first; traps without room.
  @_lifetime(self: copy self)
  @inlinable @inline(__always) public mutating func append(_ value: UInt16) {
    append(value.littleEndian, as: UInt16.self)
  }

  /// Appends the number; traps without room.
  @_lifetime(self: copy self)
  @inlinable @inline(__always) public mutating func append(_ handle: AttributeHandle) {
    append(handle.rawValue)
  }

  /// Appends the number; traps without room.
  @_lifetime(self: copy self)
  @inlinable @inline(__always) public mutating func append(_ opcode: Opcode) {
    append(opcode.rawValue)
  }

  /// Appends a UUID in its shortest form, 2 or 16 octets, or always as 16; traps without room.
  @_lifetime(self: copy self)
  @inlinable public mutating func append(_ uuid: BluetoothUUID, inFull: Bool = false) {
    if !inFull, let short = uuid.short {
      append(short)
    } else {
      append(uuid.low.littleEndian, as: UInt64.self)
      append(uuid.high.littleEndian, as: UInt64.self)
    }
  }

  /// Appends octets; traps without room for all of them.
  @_lifetime(self: copy self)
  @inlinable public mutating func append(_ octets: RawSpan) {
    precondition(octets.byteCount <= freeCapacity)
    append(fitting: octets)
  }

  /// Appends as many of the octets as fit.
  ///
  /// Copies raw memory, because appending single octets would check each of them. The count is the
  /// smaller of both sizes, so the copy stays in bounds.
  @_lifetime(self: copy self)
  @inlinable public mutating func append(fitting octets: RawSpan) {
    let count = Swift.min(octets.byteCount, freeCapacity)
    guard count > 0 else { return }
    unsafe octets.withUnsafeBytes { source in
      unsafe withUnsafeMutableBytes { target, used in
        unsafe (target.baseAddress! + used).copyMemory(
          from: source.baseAddress!, byteCount: count)
        used += count
      }
    }
  }
}
