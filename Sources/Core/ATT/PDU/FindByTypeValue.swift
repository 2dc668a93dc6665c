/// Find By Type Value Request: asks for the attributes with a 16-bit type and a value. Vol 3,
/// Part F, 3.4.3.3.
public struct FindByTypeValueRequest: ~Escapable {
  /// The first handle.
  public let start: AttributeHandle
  /// The last handle.
  public let end: AttributeHandle
  /// The type of the attributes.
  public let type: UInt16
  /// The value of the attributes.
  public let value: RawSpan

  /// Octets before the value.
  public static let headerLength = 7

  /// Creates the PDU from its fields.
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

  /// The number of attributes listed, at least one.
  public var count: Int { list.byteCount / 4 }

  /// One found attribute. A peer may send any number as the end.
  public subscript(index: Int) -> (found: AttributeHandle, groupEnd: AttributeHandle) {
    (list.handle(at: index * 4), list.handle(at: index * 4 + 2))
  }

  /// Appends the start of the PDU; ``append(_:groupEnd:to:)`` adds to it.
  static public func begin(into out: inout OutputRawSpan) {
    out.append(Opcode.findByTypeValueResponse)
  }

  /// Adds one attribute. Returns false, and adds nothing, if there is no room.
  static public func append(
    _ found: AttributeHandle, groupEnd: AttributeHandle, to out: inout OutputRawSpan
  ) -> Bool {
    guard out.freeCapacity >= 4 else { return false }
    out.append(found)
    out.append(groupEnd)
    return true
  }
}
