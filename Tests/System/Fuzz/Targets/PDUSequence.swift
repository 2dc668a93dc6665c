/// What targets that speak PDUs take: one conversation as a sequence of steps.
///
/// # Format
///
/// Each step begins with one octet. Any octets are a sequence: what is cut off at the end is
/// taken as far as it goes, so that no mutation is lost.
///
/// | Octet | Step |
/// |---|---|
/// | 00 to DF | a PDU of so many octets arrives; they follow |
/// | E0 | a PDU whose length is in the next two octets, the least significant first, modulo 4096 |
/// | E1 n | n times 250 ms go by |
/// | E2 to FF, n | something happens at this end: the action's number is the octet less E2; n says what exactly |
///
/// The actions are ``Conversation``'s, or those of the target where it says so.
struct PDUSequence {
  enum Step: Equatable {
    case arrives([UInt8])
    case wait(milliseconds: Int)
    case act(Int, UInt8)
  }

  /// Steps beyond these are not taken, so that no input takes long.
  static let stepLimit = 512

  private var rest: ArraySlice<UInt8>
  private var count = 0

  init(_ input: ArraySlice<UInt8>) { rest = input }

  mutating func next() -> Step? {
    guard count < Self.stepLimit, let first = rest.popFirst() else { return nil }
    count += 1
    switch first {
    case 0x00...0xDF: return .arrives(take(Int(first)))
    case 0xE0:
      let length = Int(rest.popFirst() ?? 0) | Int(rest.popFirst() ?? 0) << 8
      return .arrives(take(length % 4096))
    case 0xE1: return .wait(milliseconds: Int(rest.popFirst() ?? 0) * 250)
    default: return .act(Int(first) - 0xE2, rest.popFirst() ?? 0)
    }
  }

  private mutating func take(_ length: Int) -> [UInt8] {
    let octets = Array(rest.prefix(length))
    rest = rest.dropFirst(length)
    return octets
  }

  /// Steps as an input, for seeds.
  static func encode(_ steps: [Step]) -> [UInt8] {
    var input: [UInt8] = []
    for step in steps {
      switch step {
      case .arrives(let pdu) where pdu.count < 0xE0: input += [UInt8(pdu.count)] + pdu
      case .arrives(let pdu):
        input += [0xE0, UInt8(pdu.count & 0xFF), UInt8(pdu.count >> 8 & 0xF)] + pdu
      case .wait(let milliseconds): input += [0xE1, UInt8(min(255, milliseconds / 250))]
      case .act(let action, let argument): input += [UInt8(0xE2 + action), argument]
      }
    }
    return input
  }
}
