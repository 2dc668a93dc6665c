import AttoATT

/// Where a search or a long read goes on after a response. Only the next request is compared, because a
/// client may begin another procedure at any time.
struct Continuation {
  private let request: [UInt8]
  private let kind: Kind

  private enum Kind {
    /// A search goes on at a handle; nil if it has ended.
    case search(next: UInt16?)
    /// A value goes on at an offset.
    case value(offset: Int)
  }

  /// nil if the request may be followed by anything.
  init?(of request: [UInt8], after response: [UInt8], mtu: Int) {
    self.request = request
    switch PDU(response.span.bytes) {
    case .errorResponse(let pdu):
      guard [0x04, 0x06, 0x08, 0x10].contains(request[0]), pdu.code == .attributeNotFound else {
        return nil
      }
      kind = .search(next: nil)
    case .findInformationResponse(let pdu): kind = Self.search(pdu[pdu.count - 1].handle)
    case .findByTypeValueResponse(let pdu): kind = Self.search(pdu[pdu.count - 1].groupEnd)
    case .readByTypeResponse(let pdu): kind = Self.search(pdu.handle(at: pdu.count - 1))
    case .readByGroupTypeResponse(let pdu): kind = Self.search(pdu.group(at: pdu.count - 1).end)
    case .readResponse, .readBlobResponse:
      guard response.count == mtu else { return nil }
      let offset = request[0] == 0x0C ? Int(number(request[3...])) : 0
      kind = .value(offset: offset + response.count - 1)
    default: return nil
    }
  }

  private static func search(_ last: AttributeHandle) -> Kind {
    .search(next: last.rawValue < 0xFFFF ? last.rawValue + 1 : nil)
  }

  /// Checks the next request.
  ///
  /// - Parameter finds: whether our server finds something by a search. A client may leave out a range that
  ///   cannot have what it searches for.
  func check(_ pdu: [UInt8], finds: ([UInt8]) -> Bool) throws {
    switch kind {
    case .search(let next):
      guard pdu[0] == request[0], pdu.dropFirst(3) == request.dropFirst(3) else { return }
      let start = number(pdu[1...])
      guard start > number(request[1...]), start != next else { return }
      if let next, start > next,
        !finds([pdu[0]] + octets(next) + octets(start - 1) + pdu.dropFirst(5))
      {
        return
      }
      let rule = Rule(
        "A search goes on after the last handle of the response, and ends with Attribute Not Found",
        "Vol 3, Part G, 4.4 to 4.7")
      throw rule.broken(
        "the search goes on at \(AttributeHandle(start))",
        expected: next.map { "a search from \(AttributeHandle($0))" } ?? "the end of the search",
        got: pdu)
    case .value(let offset):
      guard pdu[0] == 0x0C, pdu[1...2] == request[1...2] else { return }
      let found = Int(number(pdu[3...]))
      let last = request[0] == 0x0C ? Int(number(request[3...])) : 0
      guard found > last, found != offset else { return }
      throw Rule("A long value is read part by part", "Vol 3, Part G, 4.8.3").broken(
        "the value goes on at \(found)", expected: "the part at \(offset)", got: pdu)
    }
  }
}
