import TestSupport
import AttoATT
import Testing

/// Compares the queue with an array of PDUs.
@Suite(.sideBySide) struct PDUQueueTests {
  @Test(arguments: [1, 2, 3, 4, 5, 6] as [UInt64]) func isAnArray(seed: UInt64) {
    var random = SplitMix64(seed: seed)
    var queue = PDUQueue()
    var model: [[UInt8]] = []
    // The queue grows and shrinks in phases, so that the block is moved and reused.
    for round in 0..<8000 {
      let grows = round / 500 % 2 == 0
      switch Int.random(in: 0..<10, using: &random) {
      case 0..<(grows ? 6 : 3):
        let pdu = random.octets([0, 1, 3, 23, 247, 517].randomElement(using: &random)!)
        if Bool.random(using: &random) {
          queue.append(pdu.span.bytes)
        } else {
          queue.append(limit: pdu.count + Int.random(in: 0...9, using: &random)) {
            $0.append(pdu.span.bytes)
          }
        }
        model.append(pdu)
      case 6:
        struct Refused: Error {}
        _ = try? queue.append(limit: 40) { (out: inout OutputRawSpan) throws(Refused) in
          out.append(([1, 2, 3] as [UInt8]).span.bytes)
          throw Refused()
        }
      case 7 where Int.random(in: 0..<200, using: &random) == 0:
        queue.removeAll()
        model.removeAll()
      default:
        guard !model.isEmpty else { continue }
        let expected = model.removeFirst()
        if Bool.random(using: &random) {
          var pdu: [UInt8] = [9]
          queue.removeFirst(into: &pdu)
          #expect(pdu == expected, "seed \(seed), round \(round)")
        } else {
          let first = queue.first?.owned
          #expect(first == expected, "seed \(seed), round \(round)")
          queue.removeFirst()
        }
      }
      let byteCount = model.reduce(0) { $0 + 2 + $1.count }
      if queue.count != model.count || queue.byteCount != byteCount
        || queue.isEmpty != model.isEmpty
      {
        Issue.record("seed \(seed), round \(round): counts differ")
        return
      }
    }
    for expected in model {
      let first = queue.first?.owned
      #expect(first == expected)
      queue.removeFirst()
    }
    let isEmpty = queue.first == nil
    #expect(isEmpty)
  }

  @Test func theLongestPDU() {
    var queue = PDUQueue()
    queue.append([UInt8](repeating: 7, count: 65_535).span.bytes)
    queue.append(([8] as [UInt8]).span.bytes)
    let count = queue.first?.byteCount
    #expect(count == 65_535)
    queue.removeFirst()
    #expect(queue.drain() == ["08"])
  }
}
