/// The form of a PDU. Vol 3, Part F, 3.3 and 3.4. This second decoder exists so that the judge does
/// not depend on the decoder that it checks.
enum PDUForm {
  case empty
  /// A request to execute, except Exchange MTU.
  case request
  case exchangeRequest
  /// A request that the bearer refuses with this code.
  case refused(UInt8)
  case response
  case malformedResponse
  case notification
  case multipleNotification
  case indication
  /// A malformed indication, which is confirmed and dropped.
  case malformedIndication
  case confirmation
  case writeCommand
  /// A PDU without a response.
  case ignored

  init(_ pdu: [UInt8], limit: Int) {
    guard let opcode = pdu.first else {
      self = .empty
      return
    }
    let count = pdu.count
    let fits = count <= limit
    switch opcode {
    case 0x01: self = fits && count == 5 ? .response : .malformedResponse
    case 0x03: self = fits && count == 3 ? .response : .malformedResponse
    case 0x05:
      let stride = count > 1 ? (pdu[1] == 1 ? 4 : pdu[1] == 2 ? 18 : 0) : 0
      let isList = stride > 0 && count >= 6 && (count - 2) % stride == 0
      self = fits && isList ? .response : .malformedResponse
    case 0x07: self = fits && count >= 5 && count % 4 == 1 ? .response : .malformedResponse
    case 0x09, 0x11:
      let least = opcode == 0x09 ? 2 : 4
      let length = count > 1 ? Int(pdu[1]) : 0
      let isList = count >= 2 + least && length >= least && (count - 2) % length == 0
      self = fits && isList ? .response : .malformedResponse
    case 0x0B, 0x0D, 0x0F: self = fits ? .response : .malformedResponse
    case 0x13, 0x19: self = fits && count == 1 ? .response : .malformedResponse
    case 0x17, 0x21: self = fits && count >= 5 ? .response : .malformedResponse
    case 0x1B: self = fits && count >= 3 ? .notification : .ignored
    case 0x23: self = fits && count >= 9 ? .multipleNotification : .ignored
    case 0x1D: self = fits && count >= 3 ? .indication : .malformedIndication
    case 0x1E: self = fits && count == 1 ? .confirmation : .ignored
    case 0x52: self = fits && count >= 3 ? .writeCommand : .ignored
    case 0xD2: self = fits && count >= 15 ? .writeCommand : .ignored
    case _ where opcode & 0x40 != 0: self = .ignored
    case 0x02: self = fits && count == 3 ? .exchangeRequest : .refused(0x04)
    case 0x04: self = fits && count == 5 ? .request : .refused(0x04)
    case 0x06: self = fits && count >= 7 ? .request : .refused(0x04)
    case 0x08, 0x10: self = fits && (count == 7 || count == 21) ? .request : .refused(0x04)
    case 0x0A: self = fits && count == 3 ? .request : .refused(0x04)
    case 0x0C, 0x16:
      let isRight = opcode == 0x0C ? count == 5 : count >= 5
      self = fits && isRight ? .request : .refused(0x04)
    case 0x0E, 0x20: self = fits && count >= 5 && count % 2 == 1 ? .request : .refused(0x04)
    case 0x12: self = fits && count >= 3 ? .request : .refused(0x04)
    case 0x18: self = fits && count == 2 ? .request : .refused(0x04)
    default: self = .refused(fits ? 0x06 : 0x04)
    }
  }

  /// The complete values of a Multiple Handle Value Notification. Vol 3, Part F,
  /// 3.4.7.4.
  static func values(_ pdu: [UInt8]) -> [(handle: UInt16, value: [UInt8])] {
    var values: [(UInt16, [UInt8])] = []
    var place = 1
    while place < pdu.count {
      guard place + 4 <= pdu.count else { return values }
      let end = place + 4 + Int(number(pdu, place + 2))
      guard end <= pdu.count else { return values }
      values.append((number(pdu, place), Array(pdu[(place + 4)..<end])))
      place = end
    }
    return values
  }
}
