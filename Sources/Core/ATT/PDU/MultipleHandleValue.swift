/// Multiple Handle Value Notification: two or more values that the server sends without a
/// request. Vol
/// 3, Part F, 3.4.7.4.
public struct MultipleHandleValueNotification: ~Escapable {
  private let list: RawSpan

  @_lifetime(copy octets)
  init?(_ octets: RawSpan) {
    guard octets.byteCount >= 9 else { return nil }
    list = octets.from(1)
  }

  /// An iterator over the values.
  @_lifetime(copy self)
  public func makeIterator() -> Iterator { Iterator(list) }

  /// Iterates over the whole tuples. A tuple that reaches past the end of the PDU ends the
  /// iteration.
  public struct Iterator: ~Escapable {
    private var rest: RawSpan

    @_lifetime(copy list)
    init(_ list: RawSpan) { rest = list }

    @_lifetime(copy self)
    public mutating func next() -> Value? {
      guard rest.byteCount >= 4 else { return nil }
      let length = Int(rest.uint16(at: 2))
      guard rest.byteCount - 4 >= length else { return nil }
      let value = Value(handle: rest.handle(at: 0), value: rest.extracting(4..<4 + length))
      rest = rest.from(4 + length)
      return value
    }

    /// The number of octets left after ``next()`` has returned nil, which are not a whole tuple.
    public var remainder: Int { rest.byteCount }
  }

  /// One of the values.
  public struct Value: ~Escapable {
    /// The attribute.
    public let handle: AttributeHandle
    /// Its value.
    public let value: RawSpan

    @_lifetime(copy value)
    init(handle: AttributeHandle, value: RawSpan) {
      self.handle = handle
      self.value = value
    }
  }

  /// Appends the start of the PDU; ``append(_:_:to:)`` adds to it, at least twice.
  static public func begin(into out: inout OutputRawSpan) {
    out.append(Opcode.multipleHandleValueNotification)
  }

  /// Adds a value. Returns false, and adds nothing, if it does not fit.
  static public func append(
    _ handle: AttributeHandle, _ value: RawSpan, to out: inout OutputRawSpan
  ) -> Bool {
    guard out.freeCapacity >= 4 + value.byteCount else { return false }
    out.append(handle)
    out.append(UInt16(truncatingIfNeeded: value.byteCount))
    out.append(value)
    return true
  }
}
