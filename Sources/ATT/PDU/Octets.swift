// Little-endian access to borrowed octets. Reads are checked by `RawSpan` itself: an offset
// out of bounds is a bug of ours and traps. Each PDU type checks its length once, in its
// initialiser, so that no offset depends on what a peer sent.

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

  /// A UUID of 2 or 16 octets, as it travels: least significant octet first.
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
  /// A UUID as it stands in a value: 2, 4 or 16 octets; nil for any other length.
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

  /// Whether the octets are the same.
  public func isEqual(to other: RawSpan) -> Bool {
    guard byteCount == other.byteCount else { return false }
    for offset in 0..<byteCount where octet(at: offset) != other.octet(at: offset) {
      return false
    }
    return true
  }
}

extension OutputRawSpan {
  /// Appends a number, least significant octet first. Traps without room for it.
  @_lifetime(self: copy self)
  @inlinable @inline(__always) public mutating func append(_ value: UInt16) {
    append(value.littleEndian, as: UInt16.self)
  }

  /// Appends it as it goes on the wire; traps if there is no room.
  @_lifetime(self: copy self)
  @inlinable @inline(__always) public mutating func append(_ handle: AttributeHandle) {
    append(handle.rawValue)
  }

  /// Appends it as it goes on the wire; traps if there is no room.
  @_lifetime(self: copy self)
  @inlinable @inline(__always) public mutating func append(_ opcode: Opcode) {
    append(opcode.rawValue)
  }

  /// Appends a UUID in its shortest travelling form, 2 or 16 octets.
  @_lifetime(self: copy self)
  @inlinable public mutating func append(_ uuid: BluetoothUUID) {
    if let short = uuid.short {
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

  /// Appends as many octets as there is room for, from the first on.
  ///
  /// The copy goes through raw memory because appending one octet at a time costs a check for
  /// each; the count is the smaller of what is there and what is free, so it stays in both.
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
