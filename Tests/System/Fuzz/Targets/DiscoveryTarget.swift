import AttoATT
import AttoGATT

@testable import AttoSimulation

/// Discovery of a whole database, or a part of it, at a server that answers whatever the input says.
///
/// The input is one octet (bits 0 to 3: which discovery, bits 4 to 7: its variant), one for the
/// ATT_MTU, and then answers: each is one octet of length, as ``PDUSequence`` has it, and the
/// parameters of the response that is awaited, without its opcode. A length of 0 is Attribute Not
/// Found, of 0xDF another error. When the answers are used up, nothing is found any more.
///
/// Rules: it ends within the limit of requests; requests stay in the range and never go back
/// within one stage of a search; its output is in its limits and makes sense
/// (``Procedures``); the judge's, of ``Conversation``.
enum DiscoveryTarget {
  static func take(_ input: [UInt8]) {
    guard input.count > 2 else { return }
    let end = Conversation(
      BearerConfiguration(receiveMTU: [23, 48, 247, 517][Int(input[1] & 3)]), now: { .zero })
    var waiting: [[UInt8]] = []
    end.sends = { waiting.append($0) }
    var answers = PDUSequence(input.dropFirst(2))
    if input[1] & 3 > 0 {
      Procedures.start(0, on: end)
      waiting.removeAll()
      end.arrive([0x03, 0x05, 0x02])
    }
    let number = 11 + (input[0] & 15) % 5
    Procedures.discover(number, Int(input[0] >> 4), .all, on: end)
    var requests = 0
    while !end.isDead, !waiting.isEmpty {
      let request = waiting.removeFirst()
      requests += 1
      Failure.unless(
        requests <= Procedures.limits.requests + 1, "a discovery ends", "\(requests) requests")
      let head: [UInt8] = [0x01, request[0], request[1], request.count > 2 ? request[2] : 0]
      switch answers.next() {
      case .arrives(let parameters)? where !parameters.isEmpty:
        end.arrive([request[0] + 1] + parameters)
      case .act(_, let code)?: end.arrive(head + [code])
      default: end.arrive(head + [0x0A])
      }
    }
    Failure.unless(end.operations.isEmpty, "a discovery ends", "it waits for nothing")
    end.end()
  }

  static var seeds: [[UInt8]] {
    // Services, secondary services, characteristics, includes, descriptors, as a small server
    // answers them.
    let answers: [[UInt8]] = [
      [6, 1, 0, 5, 0, 0, 0x18, 6, 0, 0x20, 0, 1, 0x18], [], [], [7, 2, 0, 0x0A, 3, 0, 0, 0x2A],
      [7, 7, 0, 0x20, 8, 0, 5, 0x2A, 0x0A, 0, 0x0A, 0x0B, 0, 0x29, 0x2B], [],
      [8, 9, 0, 1, 0, 5, 0, 0, 0x18], [], [1, 4, 0, 1, 0x29, 5, 0, 2, 0x29], [],
    ]
    let withHash: [[UInt8]] = [[18, 3, 0] + [UInt8](repeating: 9, count: 16)] + answers
    let found: [[UInt8]] = [[0x10, 0, 0x17, 0, 0x20, 0, 0x2F, 0], []]
    return (0..<5).flatMap { number in
      (0..<4).flatMap { variant in
        [answers, withHash, found, Array(answers.dropFirst(3)), Array(answers.dropFirst(6))].map {
          [UInt8(number) | UInt8(variant) << 4, UInt8(variant)]
            + PDUSequence.encode($0.map { .arrives($0) })
        }
      }
    }
  }
}
