import TestSupport
import AttoATT
import Testing

/// Checks every length of every PDU: well-formed ones are decoded, others are malformed, and
/// nothing traps. Vol 3, Part F, 3.4.
@Suite(.sideBySide) struct PDULengthTests {
  /// Whether a PDU may have this length, whatever its content.
  private func mayHave(_ opcode: Opcode, _ length: Int, mtu: Int) -> Bool {
    guard length <= mtu else { return false }
    switch opcode {
    case .errorResponse, .findInformationRequest, .readBlobRequest: return length == 5
    case .exchangeMTURequest, .exchangeMTUResponse, .readRequest: return length == 3
    case .findInformationResponse: return length >= 6
    case .findByTypeValueRequest: return length >= 7
    case .findByTypeValueResponse: return length >= 5 && (length - 1) % 4 == 0
    case .readByTypeRequest, .readByGroupTypeRequest: return length == 7 || length == 21
    case .readByTypeResponse: return length >= 4
    case .readResponse, .readBlobResponse, .readMultipleResponse: return length >= 1
    case .readMultipleRequest, .readMultipleVariableRequest:
      return length >= 5 && (length - 1) % 2 == 0
    case .readByGroupTypeResponse: return length >= 6
    case .writeRequest, .writeCommand, .handleValueNotification, .handleValueIndication:
      return length >= 3
    case .writeResponse, .executeWriteResponse, .handleValueConfirmation: return length == 1
    case .prepareWriteRequest, .prepareWriteResponse: return length >= 5
    case .executeWriteRequest: return length == 2
    case .readMultipleVariableResponse: return length >= 5
    case .multipleHandleValueNotification: return length >= 9
    case .signedWriteCommand: return length >= 15
    default: return false
    }
  }

  /// Whether the list that follows the second octet divides into entries.
  private func divides(_ opcode: Opcode, _ length: Int, _ second: UInt8) -> Bool {
    switch opcode {
    case .findInformationResponse:
      second == 1 && (length - 2) % 4 == 0 || second == 2 && (length - 2) % 18 == 0
    case .readByTypeResponse: second >= 2 && (length - 2) % Int(second) == 0
    case .readByGroupTypeResponse: second >= 4 && (length - 2) % Int(second) == 0
    default: true
    }
  }

  @Test(arguments: [23, 64, 517]) func everyLengthOfEveryOpcode(mtu: Int) {
    for number in 0...255 {
      let opcode = Opcode(UInt8(number))
      for length in 1...mtu + 1 {
        for second: UInt8 in [0, 1, 2, 3, 4, 5, 6, 7, 20, 21, 253, 255] {
          var octets = [UInt8](repeating: 0xA5, count: length)
          octets[0] = opcode.rawValue
          if length > 1 { octets[1] = second }
          let pdu = PDU(octets.span.bytes, mtu: mtu)
          let isWhole = mayHave(opcode, length, mtu: mtu) && divides(opcode, length, second)
          let isAsExpected =
            switch pdu {
            case .unknown: length <= mtu && opcode.name == nil
            case .malformed: !isWhole && (length > mtu || opcode.name != nil)
            default: isWhole
            }
          if !isAsExpected {
            Issue.record("\(opcode) of \(length) octets, second \(second): \(walk(pdu))")
          }
          // Iterates over lists that are short or about as long as the MTU.
          if length <= 26 || length >= mtu - 2 { _ = walk(pdu) }
          if length < 2 || opcode.name == nil { break }
        }
      }
    }
  }

  @Test func nothingIsMalformedToo() {
    #expect(walk([]) == "malformed PDU: empty")
  }

  @Test func saysWhatIsWrong() {
    let long = [UInt8](repeating: 0x0A, count: 24)
    #expect(
      walk(long, mtu: 23)
        == "malformed Read Request (0x0A): 24 octets, more than the ATT_MTU of 23")
    #expect(
      walk([0x0A]) == "malformed Read Request (0x0A): 1 octet, expected 3")
  }

  /// All strings of one and two octets, and a seventh of the third octets for the known opcodes.
  @Test func everyShortString() {
    var count = 0
    for first in UInt8.min...UInt8.max {
      _ = walk([first])
      let isKnown = Opcode(first).name != nil
      for second in UInt8.min...UInt8.max {
        _ = walk([first, second])
        count += 1
        guard isKnown else { continue }
        for third in stride(from: Int(second % 7), through: 255, by: 7) {
          let octets = [first, second, UInt8(third)]
          let pdu = PDU(octets.span.bytes)
          if case .unknown = pdu { Issue.record("\(octets) is unknown") }
          if third < 64 { _ = walk(pdu) }
          count += 1
        }
      }
    }
    #expect(count == 256 * 256 + 31 * 9364)
  }

  @Test(arguments: [1, 2, 3] as [UInt64]) func randomPDUs(seed: UInt64) {
    var random = SplitMix64(seed: seed)
    for round in 0..<4000 {
      var octets = random.octets(Int.random(in: 0...600, using: &random))
      // Half of them have a known opcode and a second octet that may be a length.
      if round % 2 == 0, octets.count > 1 {
        octets[0] = Opcode.all.randomElement(using: &random)!.rawValue
        octets[1] = UInt8.random(in: 0...24, using: &random)
      }
      let mtu = [23, 64, 247, 517, 65535].randomElement(using: &random)!
      let says = walk(octets, mtu: mtu)
      if octets.count > mtu, !says.hasPrefix("malformed") {
        Issue.record("seed \(seed), round \(round): \(octets.count) octets decode at \(mtu)")
      }
    }
  }

  // MARK: Lists with wrong lengths

  /// H5: the second tuple's length reaches past the PDU; only the first counts.
  @Test func h5MultipleNotificationTupleBeyondThePDU() {
    #expect(
      walk(octets("23 03 00 01 00 aa 07 00 02 00 bb"))
        == "notifications: 0x0003=aa rest 5")
    #expect(walk(octets("23 03 00 ff ff aa 07 00 00 00")) == "notifications: rest 9")
  }

  /// H6: two tuples that fill the PDU exactly, so that no third one fits.
  @Test func h6MultipleNotificationThatFillsThePDU() {
    let pdu = encoded(limit: 23) { out in
      MultipleHandleValueNotification.begin(into: &out)
      let value = [UInt8](repeating: 7, count: 7)
      #expect(MultipleHandleValueNotification.append(1, value.span.bytes, to: &out))
      #expect(MultipleHandleValueNotification.append(2, value.span.bytes, to: &out))
      #expect(!MultipleHandleValueNotification.append(3, [UInt8]().span.bytes, to: &out))
    }
    #expect(pdu.count == 23)
    #expect(!walk(pdu, mtu: 23).contains("rest"))
  }

  /// H14: the length of the last value is not trusted, and a cut length field ends the iteration.
  @Test func h14ReadMultipleVariableLengthBeyondThePDU() {
    #expect(walk(octets("21 ff ff aa bb cc")) == "variable!: aa bb cc,65535 cut")
    #expect(walk(octets("21 01 00 aa 05")) == "variable!: aa,1")
    #expect(walk(octets("21 00 00 00 00")) == "variable!: ,0 ,0")
  }

  /// H18: the remainder of a list is never negative.
  @Test func h18OneOctetAfterTheLastTuple() {
    #expect(
      walk(octets("23 03 00 00 00 07 00 00 00 01")) == "notifications: 0x0003= 0x0007= rest 1")
    #expect(walk(octets("23 03 00 00 00 07 00 00 00 01 02 03")).hasSuffix("rest 3"))
  }

  /// Responses cut values that do not fit, but never other fields.
  @Test func encodersStopAtTheRoom() {
    let value = [UInt8](repeating: 0xEE, count: 600)
    #expect(encoded(limit: 23) { ReadResponse.encode(value.span.bytes, into: &$0) }.count == 23)
    #expect(
      encoded(limit: 23) { HandleValueNotification.encode(1, value.span.bytes, into: &$0) }.count
        == 23)
    func append(_ count: Int, to out: inout OutputRawSpan) -> Bool {
      ReadMultipleVariableResponse.append(
        value.span.bytes.extracting(first: count), to: &out)
    }
    let variable = encoded(limit: 23) { out in
      ReadMultipleVariableResponse.begin(into: &out)
      #expect(append(17, to: &out))
      // Three octets are left: the length field and one octet of the value.
      #expect(append(9, to: &out))
      #expect(!append(1, to: &out))
    }
    #expect(variable.count == 23)
    #expect(walk(variable).hasSuffix(" ee,9 cut"))
    let short = encoded(limit: 23) { out in
      ReadMultipleVariableResponse.begin(into: &out)
      #expect(append(19, to: &out))
      #expect(!append(1, to: &out))
    }
    #expect(short.count == 22)
    // Notifications contain only whole values.
    let multiple = encoded(limit: 23) { out in
      MultipleHandleValueNotification.begin(into: &out)
      func append(_ count: Int, to out: inout OutputRawSpan) -> Bool {
        MultipleHandleValueNotification.append(
          3, value.span.bytes.extracting(first: count), to: &out)
      }
      #expect(append(10, to: &out))
      #expect(!append(5, to: &out))
      #expect(append(4, to: &out))
      #expect(!append(0, to: &out))
    }
    #expect(multiple.count == 23)
  }
}
