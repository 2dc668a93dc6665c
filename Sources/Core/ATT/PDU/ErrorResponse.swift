/// Error Response: why a request was refused. Vol 3, Part F, 3.4.1.1.
public struct ErrorResponse: Equatable, Sendable {
  /// The request that failed.
  public let request: Opcode
  /// The attribute that caused it, or 0x0000.
  public let handle: AttributeHandle
  /// Why it was refused.
  public let code: ErrorCode

  /// Octets of the PDU.
  public static let length = 5

  /// Creates the PDU from its fields.
  public init(request: Opcode, handle: AttributeHandle, code: ErrorCode) {
    self.request = request
    self.handle = handle
    self.code = code
  }

  init?(_ octets: RawSpan) {
    guard octets.byteCount == Self.length else { return nil }
    request = Opcode(octets.octet(at: 1))
    handle = octets.handle(at: 2)
    code = ErrorCode(octets.octet(at: 4))
  }

  /// Appends the 5 octets of the PDU; traps without room.
  public func encode(into out: inout OutputRawSpan) {
    out.append(Opcode.errorResponse)
    out.append(request)
    out.append(handle)
    out.append(code.rawValue)
  }
}

extension ErrorResponse: CustomStringConvertible {
  /// `Invalid Handle (0x01) for Read Request (0x0A) at handle 0x0003`.
  public var description: String { "\(code) for \(request) at handle \(handle)" }
}
