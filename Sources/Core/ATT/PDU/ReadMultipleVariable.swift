/// Read Multiple Variable Request: asks for the values of two or more attributes, each with
/// its length. Vol 3, Part F, 3.4.4.11.
public struct ReadMultipleVariableRequest: ~Escapable {
  /// The attributes to read, in this order.
  public let handles: HandleSet

  @_lifetime(copy octets)
  init?(_ octets: RawSpan) {
    guard let handles = HandleSet(octets.from(1)) else { return nil }
    self.handles = handles
  }

  /// Appends the PDU; traps if the handles need more than ATT_MTU - 1 octets.
  static public func encode(_ handles: [AttributeHandle], into out: inout OutputRawSpan) {
    HandleSet.encode(.readMultipleVariableRequest, handles, into: &out)
  }
}

/// Read Multiple Variable Response: values with their lengths; the last one may be cut. Vol 3,
/// Part F, 3.4.4.12.
public struct ReadMultipleVariableResponse: ~Escapable {
  private let list: RawSpan

  @_lifetime(copy octets)
  init?(_ octets: RawSpan) {
    guard octets.byteCount >= 5 else { return nil }
    list = octets.from(1)
  }

  /// An iterator over the values.
  @_lifetime(copy self)
  public func makeIterator() -> Iterator { Iterator(list) }

  /// Iterates over the values. A value that reaches past the end of the PDU is cut, with `isCut`
  /// set. An incomplete length field ends the iteration.
  public struct Iterator: ~Escapable {
    private var rest: RawSpan

    @_lifetime(copy list)
    init(_ list: RawSpan) { rest = list }

    @_lifetime(copy self)
    public mutating func next() -> Value? {
      guard rest.byteCount >= 2 else { return nil }
      let stated = Int(rest.uint16(at: 0))
      let present = min(stated, rest.byteCount - 2)
      let value = Value(stated: stated, octets: rest.extracting(2..<2 + present))
      rest = rest.from(2 + present)
      return value
    }
  }

  /// One of the values.
  public struct Value: ~Escapable {
    /// The length of the value according to the server.
    public let stated: Int
    /// The octets received.
    public let octets: RawSpan
    /// Whether the response holds only a part of the value.
    public var isCut: Bool { octets.byteCount < stated }

    @_lifetime(copy octets)
    init(stated: Int, octets: RawSpan) {
      self.stated = stated
      self.octets = octets
    }
  }

  /// Appends the start of the PDU; ``append(_:to:)`` adds to it.
  static public func begin(into out: inout OutputRawSpan) {
    out.append(Opcode.readMultipleVariableResponse)
  }

  /// Adds a value, cut to the room that is left. Returns false, and adds nothing, if there is no
  /// room for the length field.
  static public func append(_ value: RawSpan, to out: inout OutputRawSpan) -> Bool {
    guard out.freeCapacity >= 2 else { return false }
    out.append(UInt16(truncatingIfNeeded: value.byteCount))
    out.append(fitting: value)
    return true
  }
}
