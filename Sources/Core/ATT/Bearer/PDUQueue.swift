/// A first-in, first-out queue of whole PDUs in one block of memory.
///
/// The block grows as needed, is reused and never shrinks, so that a queue in steady state
/// allocates nothing. Its owner limits its size.
///
/// This is one of the few types with unsafe memory, because no type of the standard library can
/// encode a PDU in place at the end of a reusable block without filling it with zeros first. It is
/// memory-safe: `head <= tail <= capacity` holds after every call, the octets from `head` to `tail`
/// are initialized entries (two octets of length, then the PDU), and only this value, which cannot
/// be copied, has the block.
public struct PDUQueue: ~Copyable {
  @usableFromInline var block: UnsafeMutableRawPointer
  @usableFromInline var capacity: Int
  @usableFromInline var head = 0
  @usableFromInline var tail = 0
  /// The number of PDUs.
  @inlinable public var count: Int { entries }
  @usableFromInline var entries = 0

  /// Creates an empty queue.
  public init() {
    capacity = 0
    block = unsafe UnsafeMutableRawPointer(bitPattern: 8)!
  }

  deinit { if capacity > 0 { unsafe block.deallocate() } }

  /// Whether there is no PDU.
  @inlinable public var isEmpty: Bool { count == 0 }

  /// The size of the queue in octets, including two for each PDU.
  @inlinable public var byteCount: Int { tail - head }

  /// Encodes a PDU of at most `limit` octets (no more than 65535) at the end.
  ///
  /// If `encode` throws, the queue is as it was.
  ///
  /// - Returns: its length.
  @discardableResult @inlinable
  public mutating func append<E: Error>(
    limit: Int, _ encode: (inout OutputRawSpan) throws(E) -> Void
  ) throws(E) -> Int {
    precondition(limit <= Int(UInt16.max))
    reserve(limit + 2)
    let room = unsafe UnsafeMutableRawBufferPointer(start: block + tail + 2, count: limit)
    var out = unsafe OutputRawSpan(buffer: room, initializedCount: 0)
    try encode(&out)
    let length = unsafe out.finalize(for: room)
    unsafe (block + tail).storeBytes(of: UInt16(length), as: UInt16.self)
    tail += 2 + length
    entries += 1
    return length
  }

  /// The last PDU, whose length the caller knows.
  @inlinable
  @_lifetime(borrow self)
  borrowing func last(_ length: Int) -> RawSpan {
    let pdu = unsafe RawSpan(_unsafeStart: block + tail - length, byteCount: length)
    return unsafe _overrideLifetime(pdu, borrowing: self)
  }

  /// Appends a PDU.
  public mutating func append(_ pdu: RawSpan) {
    append(limit: pdu.byteCount) { (out: inout OutputRawSpan) in out.append(pdu) }
  }

  /// The first PDU, or nil.
  @inlinable
  public var first: RawSpan? {
    @_lifetime(borrow self)
    borrowing get {
      guard count > 0 else { return nil }
      let pdu = unsafe RawSpan(_unsafeStart: block + head + 2, byteCount: firstLength)
      return unsafe _overrideLifetime(pdu, borrowing: self)
    }
  }

  /// Calls `body` with the first PDU, in place. Returns nil if there is none.
  ///
  /// - Throws: what `body` throws.
  @inlinable
  public borrowing func withFirst<R, E: Error>(
    _ body: (RawSpan) throws(E) -> R
  ) throws(E) -> R? {
    guard let first else { return nil }
    return try body(first)
  }

  /// Calls `body` with each PDU from an index on, in order and in place.
  public borrowing func forEach(from place: Int, _ body: (RawSpan) -> Void) {
    var position = head
    for index in 0..<count {
      let length = unsafe Int((block + position).loadUnaligned(as: UInt16.self))
      if index >= place {
        body(unsafe RawSpan(_unsafeStart: block + position + 2, byteCount: length))
      }
      position += 2 + length
    }
  }

  /// Calls `body` with all entries, in order and in place. An entry is two octets of length, in the
  /// byte order of the machine, and the PDU.
  ///
  /// - Throws: what `body` throws.
  @inlinable
  public borrowing func withEntries<R, E: Error>(
    _ body: (RawSpan) throws(E) -> R
  ) throws(E) -> R {
    try body(unsafe RawSpan(_unsafeStart: block + head, byteCount: tail - head))
  }

  /// Removes this many PDUs from the front; traps if there are fewer.
  @inlinable public mutating func removeFirst(_ number: Int) {
    for _ in 0..<number { removeFirst() }
  }

  /// Removes the first PDU; traps if there is none.
  @inlinable public mutating func removeFirst() {
    precondition(count > 0)
    head += 2 + firstLength
    entries -= 1
    if entries == 0 { (head, tail) = (0, 0) }
  }

  /// Moves the first PDU into an array, whose storage is reused; traps if there is none.
  public mutating func removeFirst(into octets: inout [UInt8]) {
    precondition(count > 0)
    octets.removeAll(keepingCapacity: true)
    unsafe octets.append(
      contentsOf: UnsafeRawBufferPointer(start: block + head + 2, count: firstLength))
    removeFirst()
  }

  /// Removes all PDUs.
  public mutating func removeAll() { (head, tail, entries) = (0, 0, 0) }

  @inlinable var firstLength: Int { unsafe Int((block + head).loadUnaligned(as: UInt16.self)) }

  @inlinable mutating func reserve(_ needed: Int) {
    if capacity - tail < needed { grow(needed) }
  }

  @usableFromInline mutating func grow(_ needed: Int) {
    let used = tail - head
    if used + needed <= capacity {
      unsafe block.copyMemory(from: block + head, byteCount: used)
    } else {
      let larger = max(used + needed, capacity * 2)
      let fresh = UnsafeMutableRawPointer.allocate(byteCount: larger, alignment: 8)
      unsafe fresh.copyMemory(from: block + head, byteCount: used)
      if capacity > 0 { unsafe block.deallocate() }
      unsafe block = fresh
      capacity = larger
    }
    (head, tail) = (0, used)
  }
}
