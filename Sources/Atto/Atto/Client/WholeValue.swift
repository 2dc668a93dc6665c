import AttoATT
import AttoGATT

extension WriteRequestContext {
  /// Joins the parts that a client has written to one attribute, in any order. A later part replaces
  /// what it overlaps.
  ///
  /// - Throws: `invalidOffset` if octets between 0 and the end are missing.
  static func wholeValue(of parts: [WriteRequestContext]) throws(ErrorCode) -> [UInt8] {
    var end = 0
    for part in parts.sorted(by: { $0.offset < $1.offset }) {
      guard part.offset <= end else { throw .invalidOffset }
      end = max(end, part.offset + part.value.count)
    }
    var value = [UInt8](repeating: 0, count: end)
    for part in parts {
      value.replaceSubrange(part.offset..<part.offset + part.value.count, with: part.value)
    }
    return value
  }
}

extension HandlerTable.Write {
  /// A handler of whole values.
  static func whole(
    _ body: @escaping @Sendable (ClientID, [UInt8]) async throws(ErrorCode) -> Void
  ) -> Self {
    .later { (parts) throws(ErrorCode) in
      guard let client = parts.first?.client else { return }
      try await body(client, try WriteRequestContext.wholeValue(of: parts))
    }
  }
}
