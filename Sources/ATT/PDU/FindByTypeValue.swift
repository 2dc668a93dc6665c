/// Find By Type Value Request: which attributes of a 16-bit type have this value. Vol 3,
/// Part F, 3.4.3.3.
public struct FindByTypeValueRequest: ~Escapable {
  /// Where to begin.
  public let start: AttributeHandle
  /// Where to end, this handle included.
  public let end: AttributeHandle
  /// The attributes' type, which has 16 bits here.
  public let type: UInt16
  /// The value that they have.
  public let value: RawSpan

  /// Octets before the value.
  public static let headerLength = 7

  /// The PDU with these fields.
  @_lifetime(copy value)
  public init(_ range: HandleRange, type: UInt16, value: RawSpan) {
    start = range.start
    end = range.end
    self.type = type
    self.value = value
  }

  @_lifetime(copy octets)
  init?(_ octets: RawSpan) {
    guard octets.byteCount >= Self.headerLength else { return nil }
    start = octets.handle(at: 1)
    end = octets.handle(at: 3)
    type = octets.uint16(at: 5)
    value = octets.from(7)
  }

  /// Appends the PDU; traps if the value is longer than ATT_MTU - 7.
  public func encode(into out: inout OutputRawSpan) {
    out.append(Opcode.findByTypeValueRequest)
    out.append(start)
    out.append(end)
    out.append(type)
    out.append(value)
  }
}

/// Find By Type Value Response: the attributes found, each with the end of its group. Vol 3,
/// Part F, 3.4.3.4.
public struct FindByTypeValueResponse: ~Escapable {
  private let list: RawSpan

  @_lifetime(copy octets)
  init?(_ octets: RawSpan) {
    guard octets.byteCount >= 5, (octets.byteCount - 1) % 4 == 0 else { return nil }
    list = octets.from(1)
  }

  /// How many attributes are listed: at least one.
  public var count: Int { list.byteCount / 4 }

  /// One found attribute. The end may be any number: a peer may lie.
  public subscript(index: Int) -> (found: AttributeHandle, groupEnd: AttributeHandle) {
    (list.handle(at: index * 4), list.handle(at: index * 4 + 2))
  }

  /// Begins the PDU; ``append(_:groupEnd:to:)`` adds to it.
  static public func begin(into out: inout OutputRawSpan) {
    out.append(Opcode.findByTypeValueResponse)
  }

  /// Adds one attribute. False, and nothing added, if the room is gone.
  static public func append(
    _ found: AttributeHandle, groupEnd: AttributeHandle, to out: inout OutputRawSpan
  ) -> Bool {
    guard out.freeCapacity >= 4 else { return false }
    out.append(found)
    out.append(groupEnd)
    return true
  }
}
