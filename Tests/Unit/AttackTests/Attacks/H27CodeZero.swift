import TestSupport
import AttoATT
import AttoGATT
import Testing

/// An Error Response with the code 0x00.
@Suite(.sideBySide) struct H27CodeZero {
  @Test("H27 client: ends every procedure, discovery too, as a refusal with that code")
  func h27Client() {
    func check<P: Procedure>(_ procedure: P, _ request: Opcode) {
      let error = TestSession().perform(
        procedure, "01 \(hexText([request.rawValue])) 0100 00")?.error
      #expect(error == refusal(request, 1, ErrorCode(0)), "\(request)")
    }
    check(DiscoverPrimaryServices(), .readByGroupTypeRequest)
    check(DiscoverPrimaryServicesByUUID(0x1800), .findByTypeValueRequest)
    check(DiscoverCharacteristics(in: .all), .readByTypeRequest)
    check(DiscoverDescriptors(in: .all), .findInformationRequest)
    check(DiscoverDatabase(), .readByGroupTypeRequest)
    check(ReadCharacteristicValue(1), .readRequest)
    check(WriteValue(1, value: [1]), .writeRequest)
    #expect(ErrorCode(0).description.contains("0x00"))
  }

  @Test("H27 server: none of its refusals has it, and one that comes unasked does nothing")
  func h27Server() {
    let server = TestSession(service(value([7]), value([8], .writeOnly), value([9], .readOnly)))
    var refusals = 0
    for opcode in UInt8.min...UInt8.max {
      for fill: UInt8 in [0, 1, 5, 7, 0xFF] {
        for count in 0...8 {
          var pdu = [opcode] + [UInt8](repeating: fill, count: count)
          if count > 1 { pdu[2] = 0 }
          for answer in server.send(pdu) where answer.hasPrefix("01") {
            refusals += 1
            #expect(!answer.hasSuffix(" 00"), "\(hexText(pdu)): \(answer)")
          }
        }
      }
    }
    #expect(refusals > 500)
    #expect(server.send("01 0a 0300 00") == [] && server.failure == nil)
    #expect(server.send("0a 0700") == ["0b 09"])
  }
}
