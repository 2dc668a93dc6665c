import TestSupport
import AttoATT
import Testing

/// Decodes and encodes each of the 31 PDUs. Vol 3, Part F, 3.4.
@Suite(.sideBySide) struct GoldenPDUTests {
  struct Golden: Sendable, CustomTestStringConvertible {
    let opcode: Opcode
    let octets: String
    let says: String
    /// The octets from the public encoder; nil if the library never sends such a PDU.
    let encode: @Sendable (inout OutputRawSpan) -> Void

    init(
      _ opcode: Opcode, _ octets: String, _ says: String,
      _ encode: @escaping @Sendable (inout OutputRawSpan) -> Void
    ) {
      self.opcode = opcode
      self.octets = octets
      self.says = says
      self.encode = encode
    }

    var testDescription: String { opcode.description }
  }

  private static let range = HandleRange(0x0102, 0x0304)!
  private static let long = BluetoothUUID("00112233-4455-6677-8899-aabbccddeeff")!
  private static let longOctets = "ff ee dd cc bb aa 99 88 77 66 55 44 33 22 11 00"

  static let all: [Golden] = [
    Golden(.errorResponse, "01 0a 34 12 05", "error 0a 0x1234 05") {
      ErrorResponse(request: .readRequest, handle: 0x1234, code: .insufficientAuthentication)
        .encode(into: &$0)
    },
    Golden(.exchangeMTURequest, "02 05 02", "mtu? 517") {
      ExchangeMTURequest(clientReceiveMTU: 517).encode(into: &$0)
    },
    Golden(.exchangeMTUResponse, "03 f7 00", "mtu! 247") {
      ExchangeMTUResponse(serverReceiveMTU: 247).encode(into: &$0)
    },
    Golden(.findInformationRequest, "04 02 01 04 03", "information? 0x0102 0x0304") {
      FindInformationRequest(range).encode(into: &$0)
    },
    Golden(
      .findInformationResponse, "05 01 03 00 02 29 04 00 01 29",
      "information! 1: 0x0003=2902 0x0004=2901"
    ) {
      FindInformationResponse.begin(format: 1, into: &$0)
      #expect(FindInformationResponse.append(3, 0x2902, to: &$0))
      #expect(FindInformationResponse.append(4, 0x2901, to: &$0))
    },
    Golden(
      .findInformationResponse, "05 02 03 00 \(longOctets)", "information! 2: 0x0003=\(long)"
    ) {
      FindInformationResponse.begin(format: 2, into: &$0)
      #expect(FindInformationResponse.append(3, long, to: &$0))
    },
    Golden(
      .findByTypeValueRequest, "06 02 01 04 03 00 28 0d 18",
      "type value? 0x0102 0x0304 2800 0d 18"
    ) {
      let value: [UInt8] = [0x0D, 0x18]
      FindByTypeValueRequest(range, type: 0x2800, value: value.span.bytes).encode(into: &$0)
    },
    Golden(
      .findByTypeValueResponse, "07 01 00 05 00 10 00 ff ff",
      "type value!: 0x0001-0x0005 0x0010-0xFFFF"
    ) {
      FindByTypeValueResponse.begin(into: &$0)
      #expect(FindByTypeValueResponse.append(1, groupEnd: 5, to: &$0))
      #expect(FindByTypeValueResponse.append(0x10, groupEnd: .max, to: &$0))
    },
    Golden(.readByTypeRequest, "08 02 01 04 03 03 28", "by type? 0x0102 0x0304 2803") {
      ReadByTypeRequest(range, type: 0x2803).encode(into: &$0)
    },
    Golden(
      .readByTypeRequest, "08 02 01 04 03 \(longOctets)", "by type? 0x0102 0x0304 \(long)"
    ) { ReadByTypeRequest(range, type: long).encode(into: &$0) },
    Golden(
      .readByTypeResponse, "09 04 03 00 aa bb 05 00 cc dd",
      "by type! 4: 0x0003=aa bb 0x0005=cc dd"
    ) {
      ReadByTypeResponse.begin(valueLength: 2, into: &$0)
      #expect(ReadByTypeResponse.append(3, octets("aa bb").span.bytes, to: &$0))
      #expect(ReadByTypeResponse.append(5, octets("cc dd").span.bytes, to: &$0))
    },
    Golden(.readRequest, "0a 03 00", "read? 0x0003") { ReadRequest(3).encode(into: &$0) },
    Golden(.readResponse, "0b 01 02 03", "read! 01 02 03") {
      ReadResponse.encode(octets("01 02 03").span.bytes, into: &$0)
    },
    Golden(.readBlobRequest, "0c 03 00 16 00", "blob? 0x0003 22") {
      ReadBlobRequest(3, offset: 22).encode(into: &$0)
    },
    Golden(.readBlobResponse, "0d 04 05", "blob! 04 05") {
      ReadBlobResponse.encode(octets("04 05").span.bytes, into: &$0)
    },
    Golden(.readMultipleRequest, "0e 03 00 07 00", "multiple?: 0x0003 0x0007") {
      ReadMultipleRequest.encode([3, 7], into: &$0)
    },
    Golden(.readMultipleResponse, "0f 01 02 03", "multiple! 01 02 03") {
      ReadMultipleResponse.begin(into: &$0)
      $0.append(fitting: octets("01").span.bytes)
      $0.append(fitting: octets("02 03").span.bytes)
    },
    Golden(.readByGroupTypeRequest, "10 01 00 ff ff 00 28", "by group? 0x0001 0xFFFF 2800") {
      ReadByGroupTypeRequest(.all, type: 0x2800).encode(into: &$0)
    },
    Golden(
      .readByGroupTypeResponse, "11 06 01 00 05 00 00 18 06 00 ff ff 01 18",
      "by group! 6: 0x0001-0x0005=00 18 0x0006-0xFFFF=01 18"
    ) {
      ReadByGroupTypeResponse.begin(valueLength: 2, into: &$0)
      #expect(ReadByGroupTypeResponse.append(1, end: 5, octets("00 18").span.bytes, to: &$0))
      #expect(ReadByGroupTypeResponse.append(6, end: .max, octets("01 18").span.bytes, to: &$0))
    },
    Golden(.writeRequest, "12 03 00 01", "write? 0x0003 01") {
      WriteRequest.encode(3, octets("01").span.bytes, into: &$0)
    },
    Golden(.writeResponse, "13", "write!") { $0.append(Opcode.writeResponse) },
    Golden(.prepareWriteRequest, "16 03 00 12 00 aa bb", "prepare? 0x0003 18 aa bb") {
      PrepareWriteRequest.encode(3, offset: 18, octets("aa bb").span.bytes, into: &$0)
    },
    Golden(.prepareWriteResponse, "17 03 00 12 00 aa bb", "prepare! 0x0003 18 aa bb") {
      let request = octets("16 03 00 12 00 aa bb")
      let pdu = PDU(request.span.bytes)
      if case .prepareWriteRequest(let request) = pdu {
        PrepareWriteResponse.encode(request, into: &$0)
      }
    },
    Golden(.executeWriteRequest, "18 01", "execute? 1") {
      ExecuteWriteRequest.write.encode(into: &$0)
    },
    Golden(.executeWriteResponse, "19", "execute!") { $0.append(Opcode.executeWriteResponse) },
    Golden(.handleValueNotification, "1b 03 00 09", "notification 0x0003 09") {
      HandleValueNotification.encode(3, octets("09").span.bytes, into: &$0)
    },
    Golden(.handleValueIndication, "1d 03 00 09", "indication 0x0003 09") {
      HandleValueIndication.encode(3, octets("09").span.bytes, into: &$0)
    },
    Golden(.handleValueConfirmation, "1e", "confirmation") {
      $0.append(Opcode.handleValueConfirmation)
    },
    Golden(.readMultipleVariableRequest, "20 03 00 07 00", "variable?: 0x0003 0x0007") {
      ReadMultipleVariableRequest.encode([3, 7], into: &$0)
    },
    Golden(
      .readMultipleVariableResponse, "21 01 00 aa 02 00 bb cc", "variable!: aa,1 bb cc,2"
    ) {
      ReadMultipleVariableResponse.begin(into: &$0)
      #expect(ReadMultipleVariableResponse.append(octets("aa").span.bytes, to: &$0))
      #expect(ReadMultipleVariableResponse.append(octets("bb cc").span.bytes, to: &$0))
    },
    Golden(
      .multipleHandleValueNotification, "23 03 00 01 00 aa 07 00 00 00",
      "notifications: 0x0003=aa 0x0007="
    ) {
      MultipleHandleValueNotification.begin(into: &$0)
      #expect(MultipleHandleValueNotification.append(3, octets("aa").span.bytes, to: &$0))
      #expect(MultipleHandleValueNotification.append(7, octets("").span.bytes, to: &$0))
    },
    Golden(.writeCommand, "52 03 00 01", "command 0x0003 01") {
      WriteCommand.encode(3, octets("01").span.bytes, into: &$0)
    },
    Golden(
      .signedWriteCommand, "d2 12 00 13 37 01 00 00 00 f1 87 1e 93 3c 90 0f f2",
      "signed 0x0012 13 37 / 01 00 00 00 f1 87 1e 93 3c 90 0f f2 / d2 12 00 13 37"
    ) {
      SignedWriteCommand.encode(
        0x12, octets("13 37").span.bytes,
        signature: octets("01 00 00 00 f1 87 1e 93 3c 90 0f f2").span.bytes, into: &$0)
    },
  ]

  @Test(arguments: all) func decodes(_ golden: Golden) {
    #expect(walk(octets(golden.octets)) == golden.says)
  }

  @Test(arguments: all) func encodes(_ golden: Golden) {
    #expect(hexText(encoded(golden.encode)) == golden.octets)
  }

  @Test func areAll31() {
    #expect(Opcode.all.count == 31)
    #expect(Set(Self.all.map(\.opcode)) == Set(Opcode.all))
    #expect(Opcode.all.allSatisfy { $0.name != nil })
    #expect((0...255).count { Opcode(UInt8($0)).name != nil } == 31)
  }

  /// 32-bit UUIDs have no form in PDUs. Vol 3, Part F, 3.2.1.
  @Test func sendsA32BitUUIDAs128Bits() {
    let uuid = BluetoothUUID(0x1234_5678 as UInt32)
    let pdu = encoded { ReadByTypeRequest(.all, type: uuid).encode(into: &$0) }
    #expect(hexText(pdu) == "08 01 00 ff ff fb 34 9b 5f 80 00 00 80 00 10 00 00 78 56 34 12")
    #expect(walk(pdu) == "by type? 0x0001 0xFFFF \(uuid)")
  }

  /// A 16-bit UUID written as 128 bits is the same type.
  @Test func knowsA16BitUUIDIn128Bits() {
    let pdu = octets("08 01 00 ff ff fb 34 9b 5f 80 00 00 80 00 10 00 00 03 28 00 00")
    #expect(walk(pdu) == "by type? 0x0001 0xFFFF 2803")
  }
}
