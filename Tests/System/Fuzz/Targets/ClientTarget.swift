import AttoATT
import AttoGATT

@testable import AttoSimulation

/// A client whose server is hostile: what it begins, and what it is answered, is in the input. That
/// is one octet for the bearer and a ``PDUSequence`` (bit 0: the opcode of a response is made the
/// one that is awaited, so that inputs get further; bits 1 and 2: ATT_MTU; bit 3: tight limits;
/// bit 4: enhanced; bit 5: the link may be reused).
///
/// Rules: ``Conversation``'s; each procedure ends, with the peer's silence at the latest; outputs
/// are in their limits and make sense (``Procedures``); a request more needs a response, a
/// procedure, or a cancellation more.
enum ClientTarget {
  static func take(_ input: [UInt8]) {
    guard let kind = input.first else { return }
    var now = Instant.zero
    let isEnhanced = kind & 16 != 0
    var configuration = BearerConfiguration(
      channel: isEnhanced ? .enhanced(mtu: 64) : .fixed,
      receiveMTU: [23, 48, 247, 517][Int(kind >> 1 & 3)],
      maximumWaiting: kind & 8 != 0 ? 2 : 256, outboxLimit: kind & 8 != 0 ? 60 : 8192)
    configuration.linkMayBeReused = kind & 32 != 0 && !isEnhanced
    let end = Conversation(configuration, now: { now })
    var awaited: UInt8?
    end.sends = { pdu in if let response = Opcode(pdu[0]).response { awaited = response.rawValue } }
    var reasons = 0
    var steps = PDUSequence(input.dropFirst())
    while let step = steps.next() {
      switch step {
      case .arrives(var pdu):
        reasons += 1
        if kind & 1 != 0, let opcode = awaited, let first = pdu.first {
          if first & 0x80 == 0, Opcode(first).kind == .response { pdu[0] = opcode }
          if first == 0x01, pdu.count > 1 {
            pdu[0] = 0x01
            pdu[1] = opcode - 1
          }
        }
        end.arrive(pdu)
      case .wait(let milliseconds):
        now = now + .milliseconds(milliseconds)
        end.advance()
      case .act(let action, let argument):
        reasons += 2
        switch action {
        case 0: Procedures.start(argument, on: end)
        case 1: end.cancelProcedure(Int(argument))
        case 9:
          end.isSlow = argument & 1 == 0
          end.drain()
        case 10:
          end.writeWithoutResponse(3, [UInt8](repeating: 1, count: Int(argument)))
        case 12: end.end()
        default: break
        }
      }
      // A procedure whose misuse shows when it is its turn sends nothing; one that is cancelled
      // may send one request more.
      Failure.unless(end.sentRequests <= reasons, "requests follow from responses", "\(reasons)")
    }
    end.exhaust { now = now + $0 }
  }

  static var seeds: [[UInt8]] {
    (0..<16).flatMap { number -> [[UInt8]] in
      (0..<6).map { variant in
        let action = UInt8(number) | UInt8(variant) << 4
        return [UInt8(1 + variant * 2)]
          + PDUSequence.encode([
            .act(0, action), .arrives([0x09, 0x07, 2, 0, 0x0A, 3, 0, 0, 0x2A]),
            .arrives([0x11, 0x06, 1, 0, 5, 0, 0, 0x18, 6, 0, 9, 0, 1, 0x18]),
            .arrives([0x0B, 1, 2, 3, 4]), .arrives([0x05, 1, 4, 0, 2, 0x29]),
            .arrives([0x07, 0x10, 0, 0x17, 0]), .arrives([0x17, 1, 0, 0, 0, 0, 1, 2]),
            .arrives([0x1B, 3, 0, 7]), .arrives([0x1D, 3, 0, 7]), .act(1, 0), .arrives([0x19]),
            .arrives([0x01, 0, 1, 0, 0x0A]),
          ])
      }
    }
  }
}
