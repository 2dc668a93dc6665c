import TestSupport
import AttoATT
import AttoGATT
import Testing

/// The octets that a body writes into a PDU of at most `mtu` octets.
func encoded<E: Error>(
  mtu: Int, _ body: (inout OutputRawSpan) throws(E) -> Void
) throws(E) -> [UInt8] {
  let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: mtu, alignment: 1)
  defer { buffer.deallocate() }
  var out = OutputRawSpan(buffer: buffer, initializedCount: 0)
  try body(&out)
  let count = out.finalize(for: buffer)
  return [UInt8](buffer[0..<count])
}

extension Procedure {
  /// The next request as octets.
  mutating func request(mtu: Int) throws(ProcedureError) -> [UInt8] {
    try encoded(mtu: mtu) { (out: inout OutputRawSpan) throws(ProcedureError) in
      try self.encodeRequest(into: &out)
    }
  }

  /// Receives a response as octets.
  mutating func receive(octets: [UInt8], mtu: Int) throws(ProcedureError) -> Step<Output> {
    try receive(PDU(octets.span.bytes, mtu: mtu), mtu: mtu)
  }
}

/// Plays a procedure against a transcript and returns its output or throws its error.
///
/// A line `> 0a 03 00` is the exact expected request, `< 0b 09` its response, and `mtu 64` a change
/// of ATT_MTU. `cancel` cancels the procedure and expects it to continue. `#` starts a comment.
func play<P: Procedure>(
  _ procedure: P, mtu: Int = 23, _ transcript: String,
  sourceLocation: SourceLocation = #_sourceLocation
) throws(ProcedureError) -> P.Output {
  var procedure = procedure
  var mtu = mtu
  var outcome: Result<P.Output, ProcedureError>?
  for line in transcript.split(separator: "\n") {
    let line = line.prefix { $0 != "#" }.trimming()
    if line.isEmpty { continue }
    if outcome != nil {
      Issue.record("ended before: \(line)", sourceLocation: sourceLocation)
      break
    }
    if line.hasPrefix("mtu ") {
      mtu = Int(line.dropFirst(4))!
    } else if line == "cancel" {
      let goesOn = procedure.cancel()
      #expect(goesOn, sourceLocation: sourceLocation)
    } else if line.hasPrefix(">") {
      do throws(ProcedureError) {
        let request = try procedure.request(mtu: mtu)
        #expect(
          hexText(request) == hexText(octets(String(line.dropFirst()))),
          sourceLocation: sourceLocation)
      } catch { outcome = .failure(error) }
    } else if line.hasPrefix("<") {
      do throws(ProcedureError) {
        let step = try procedure.receive(octets: octets(String(line.dropFirst())), mtu: mtu)
        if case .finished(let output) = step { outcome = .success(output) }
      } catch { outcome = .failure(error) }
    } else {
      Issue.record("not a line of a transcript: \(line)", sourceLocation: sourceLocation)
    }
  }
  guard let outcome else {
    Issue.record("did not end with its transcript", sourceLocation: sourceLocation)
    throw .cancelled
  }
  return try outcome.get()
}

extension Substring {
  fileprivate func trimming() -> String {
    var text = self
    while text.first?.isWhitespace == true { text.removeFirst() }
    while text.last?.isWhitespace == true { text.removeLast() }
    return String(text)
  }
}

extension SplitMix64 {
  mutating func number(_ range: ClosedRange<Int>) -> Int { Int.random(in: range, using: &self) }
}

/// The answer to a request for handle 0x0000. GATT/CL/GAR/BI-01-C and others.
func refused(_ request: Opcode) -> ProcedureError {
  .refused(ErrorResponse(request: request, handle: 0, code: .invalidHandle))
}
