/// Whole PDUs, first in, first out, in one block of memory.
///
/// The block grows to what has been needed and is then used again, so that a queue in steady
/// state allocates nothing. It never shrinks; its owner bounds what it puts in.
///
/// This is one of the few types that hold unsafe memory: nothing in the standard library lets
/// a PDU be encoded in place at the end of a reusable block without filling it with zeros
/// first. It is right because `head <= tail <= capacity` holds after every call, octets
/// between `head` and `tail` have been written as a sequence of entries (two octets of length,
/// then the PDU), and the block is owned by this value alone, which cannot be copied.
public struct PDUQueue: ~Copyable {
  @usableFromInline var block: UnsafeMutableRawPointer
  @usableFromInline var capacity: Int
  @usableFromInline var head = 0
  @usableFromInline var tail = 0
  /// How many PDUs wait.
  @inlinable public var count: Int { entries }
  @usableFromInline var entries = 0

  /// An empty queue.
  public init() {
    capacity = 0
    block = unsafe UnsafeMutableRawPointer(bitPattern: 8)!
  }

  deinit { if capacity > 0 { unsafe block.deallocate() } }

  /// Whether no PDU waits.
  @inlinable public var isEmpty: Bool { count == 0 }

  /// Octets in the queue, with two for each PDU.
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

  /// The PDU that was appended last, by its length.
  @inlinable
  @_lifetime(borrow self)
  borrowing func last(_ length: Int) -> RawSpan {
    let pdu = unsafe RawSpan(_unsafeStart: block + tail - length, byteCount: length)
    return unsafe _overrideLifetime(pdu, borrowing: self)
  }

  /// Appends a PDU as it is.
  public mutating func append(_ pdu: RawSpan) {
    append(limit: pdu.byteCount) { (out: inout OutputRawSpan) in out.append(pdu) }
  }

  /// The PDU that waits longest, or nil.
  @inlinable
  public var first: RawSpan? {
    @_lifetime(borrow self)
    borrowing get {
      guard count > 0 else { return nil }
      let pdu = unsafe RawSpan(_unsafeStart: block + head + 2, byteCount: firstLength)
      return unsafe _overrideLifetime(pdu, borrowing: self)
    }
  }

  /// Shows the PDU that waits longest, in place; nil if there is none.
  ///
  /// - Throws: what `body` throws; the PDU stays then.
  @inlinable
  public borrowing func withFirst<R, E: Error>(
    _ body: (RawSpan) throws(E) -> R
  ) throws(E) -> R? {
    guard let first else { return nil }
    return try body(first)
  }

  /// Shows each PDU from a place on, in order and in place: for those who watch a bearer.
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

  /// Shows all that wait, in order and in place: for each PDU two octets of its length, in the
  /// machine's order, and then the PDU.
  ///
  /// - Throws: what `body` throws.
  @inlinable
  public borrowing func withEntries<R, E: Error>(
    _ body: (RawSpan) throws(E) -> R
  ) throws(E) -> R {
    try body(unsafe RawSpan(_unsafeStart: block + head, byteCount: tail - head))
  }

  /// Removes the PDUs that wait longest; traps if there are not so many.
  @inlinable public mutating func removeFirst(_ number: Int) {
    for _ in 0..<number { removeFirst() }
  }

  /// Removes the PDU that waits longest; traps if there is none.
  @inlinable public mutating func removeFirst() {
    precondition(count > 0)
    head += 2 + firstLength
    entries -= 1
    if entries == 0 { (head, tail) = (0, 0) }
  }

  /// Moves the PDU that waits longest into an array that is used again; traps if there is none.
  public mutating func removeFirst(into octets: inout [UInt8]) {
    precondition(count > 0)
    octets.removeAll(keepingCapacity: true)
    unsafe octets.append(
      contentsOf: UnsafeRawBufferPointer(start: block + head + 2, count: firstLength))
    removeFirst()
  }

  /// Removes all.
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
