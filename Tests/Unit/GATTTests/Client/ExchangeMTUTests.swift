import TestSupport
import AttoATT
import AttoGATT
import Testing

@Suite(.sideBySide) struct ExchangeMTUTests {
  @Test(arguments: [
    (517, "02 0502", "03 0502", 517), (517, "02 0502", "03 b900", 185),
    (185, "02 b900", "03 0502", 185), (23, "02 1700", "03 ffff", 23),
    (65535, "02 ffff", "03 ffff", 65535),
    // A number below 23 leaves the default.
    (517, "02 0502", "03 1600", 23), (517, "02 0502", "03 0000", 23),
  ])
  func negotiates(mtu: Int, request: String, response: String, negotiated: Int) throws {
    let output = try play(
      ExchangeMTU(clientReceiveMTU: mtu), "> \(request)\n< \(response)")
    #expect(output == negotiated)
  }

  @Test(arguments: [-1, 0, 22, 65536, Int.max])
  func numberThatIsNoMTU(mtu: Int) {
    #expect(throws: ProcedureError.misuse(.mtuOutOfRange(mtu))) {
      try play(ExchangeMTU(clientReceiveMTU: mtu), "> 02")
    }
  }

  @Test func everyErrorIsAFailure() {
    for code in UInt8.min...UInt8.max {
      #expect(throws: refusal(.exchangeMTURequest, 0, ErrorCode(code))) {
        try play(ExchangeMTU(clientReceiveMTU: 64), "> 02 4000\n< 01 02 0000 \(hexText([code]))")
      }
    }
  }

  @Test(arguments: ["03", "03 40", "03 400000", "13"])
  func responseThatIsNone(response: String) {
    #expect(throws: ProcedureError.violation(.incompleteResponse(.exchangeMTURequest))) {
      try play(ExchangeMTU(clientReceiveMTU: 64), "> 02 4000\n< \(response)")
    }
  }
}
