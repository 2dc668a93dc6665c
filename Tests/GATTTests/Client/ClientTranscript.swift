import ATT
import GATT
import Testing

/// Octets written as hexadecimal digits, with spaces as people like.
func octets(_ text: String) -> [UInt8] {
  let digits = text.filter { !$0.isWhitespace }
  precondition(digits.count % 2 == 0, "half an octet in \(text)")
  var octets: [UInt8] = []
  var index = digits.startIndex
  while index < digits.endIndex {
    let next = digits.index(index, offsetBy: 2)
    octets.append(UInt8(digits[index..<next], radix: 16)!)
    index = next
  }
  return octets
}

func hexText(_ octets: [UInt8]) -> String {
  octets.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined(separator: " ")
}

/// What a body writes into a PDU of at most `mtu` octets.
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

  /// Takes a response given as octets.
  mutating func receive(octets: [UInt8], mtu: Int) throws(ProcedureError) -> Step<Output> {
    try receive(PDU(octets.span.bytes, mtu: mtu), mtu: mtu)
  }
}

/// Plays a procedure against a transcript and returns its output or throws its error.
///
/// A line `> 0a 03 00` is the request that must come, exactly; `< 0b 09` the response to it; `mtu
/// 64` a change of ATT_MTU; `cancel` asks the procedure to end and expects that it goes on. `#`
/// begins a comment.
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
      preconditionFailure("not a line of a transcript: \(line)")
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

/// An Error Response as a procedure tells it.
func refusal(
  _ request: Opcode, _ handle: AttributeHandle, _ code: ErrorCode
) -> ProcedureError {
  .refused(ErrorResponse(request: request, handle: handle, code: code))
}

/// A pseudo-random sequence that its seed determines (SplitMix64).
struct ClientRandom: RandomNumberGenerator {
  private var state: UInt64
  init(seed: UInt64) { state = seed }

  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var mixed = state
    mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
    return mixed ^ (mixed >> 31)
  }

  /// True in about this many of a hundred cases.
  mutating func chance(_ percent: Int) -> Bool { Int.random(in: 0..<100, using: &self) < percent }

  mutating func number(_ range: ClosedRange<Int>) -> Int { Int.random(in: range, using: &self) }

  mutating func octets(_ count: Int) -> [UInt8] {
    (0..<count).map { _ in UInt8.random(in: 0...255, using: &self) }
  }
}
