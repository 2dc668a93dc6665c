import Atto
import AttoATT
import AttoCommandLine
import AttoGATT

/// The handles of a search. They may begin at 0x0000, which a server must answer with Invalid Handle.
/// Vol 3, Part F, 3.4.3.1.
package struct SearchedHandles: Sendable {
  private let start: AttributeHandle
  private let end: AttributeHandle

  package static let all = SearchedHandles(start: .min, end: .max)

  private init(start: AttributeHandle, end: AttributeHandle) {
    self.start = start
    self.end = end
  }

  /// Reads `0x0001-0xFFFF` or `1-65535`.
  package init(argument text: String) throws(UsageError) {
    let parts = text.split(separator: "-", maxSplits: 1).compactMap { UInt16(argument: $0) }
    guard parts.count == 2 else {
      throw UsageError("invalid range \"\(text)\": expected START-END, such as 0x0001-0xFFFF")
    }
    guard parts[0] <= parts[1] else {
      throw UsageError("invalid range \"\(text)\": it ends before it starts")
    }
    self.init(start: AttributeHandle(parts[0]), end: AttributeHandle(parts[1]))
  }

  /// Runs a search. If ATT forbids the range, sends its first request instead.
  ///
  /// - Parameters:
  ///   - opcode: Find Information or Read By Type.
  ///   - type: the type that Read By Type searches for.
  /// - Throws: what the search throws, and `CheckFailure` if the peer accepts a forbidden range.
  package func search<Found: Sendable>(
    _ connection: Connection, _ opcode: Opcode, type: BluetoothUUID? = nil, inFull: Bool = false,
    _ body: (HandleRange) async throws -> Found
  ) async throws -> Found {
    if let range = HandleRange(start, end) { return try await body(range) }
    let answer = try await connection.perform(
      ForbiddenSearch(opcode: opcode, start: start, end: end, type: type, inFull: inFull))
    throw CheckFailure(message: "expected Invalid Handle for \(start)-\(end), received \(answer)")
  }
}

/// One request to search a range that is not a `HandleRange`. Its output describes the response,
/// which must be an error.
private struct ForbiddenSearch: Procedure, Sendable {
  let opcode: Opcode
  let start: AttributeHandle
  let end: AttributeHandle
  let type: BluetoothUUID?
  let inFull: Bool

  func encodeRequest(into out: inout OutputRawSpan) throws(ProcedureError) {
    out.append(opcode)
    out.append(start)
    out.append(end)
    if let type { out.append(type, inFull: inFull) }
  }

  func receive(_ response: borrowing PDU, mtu: Int) throws(ProcedureError) -> Step<String> {
    switch response {
    case .errorResponse(let error): throw .refused(error)
    default: return .finished(response.summary)
    }
  }
}
