import TestSupport
import AttoATT
import AttoGATT
import Testing

@Suite(.sideBySide) struct ReadLongValueTests {
  let part = "00 01 02 03 04 05 06 07 08 09 0a 0b 0c 0d 0e 0f 10 11 12 13 14 15"
  let partOctets = [UInt8](0...21)

  @Test func shortValue() throws {
    #expect(try play(ReadLongValue(0x0012), "> 0a 1200\n< 0b 0102") == [1, 2])
    #expect(try play(ReadLongValue(0x0012), "> 0a 1200\n< 0b") == [])
  }

  @Test func twoParts() throws {
    let value = try play(
      ReadLongValue(0x0012),
      """
      > 0a 1200
      < 0b \(part)
      > 0c 1200 1600
      < 0d aa
      """)
    #expect(value == partOctets + [0xAA])
  }

  @Test func fromAnOffset() throws {
    let value = try play(
      ReadLongValue(0x0012, offset: 5),
      """
      > 0c 1200 0500
      < 0d \(part)
      > 0c 1200 1b00
      < 0d aa
      """)
    #expect(value == partOctets + [0xAA])
  }

  /// A value of exactly ATT_MTU - 1 octets, and the three ways in which servers end it.
  @Test(arguments: ["0d", "01 0c 1200 0b", "01 0c 1200 07"])
  func exactlyOnePart(end: String) throws {
    let value = try play(
      ReadLongValue(0x0012),
      """
      > 0a 1200
      < 0b \(part)
      > 0c 1200 1600
      < \(end)
      """)
    #expect(value == partOctets)
  }

  /// After two parts, Invalid Offset is still an end: servers that answer so where one part
  /// ends answer so here.
  @Test(arguments: ["0d", "01 0c 1200 07"])
  func exactlyTwoParts(end: String) throws {
    let value = try play(
      ReadLongValue(0x0012),
      """
      > 0a 1200
      < 0b \(part)
      > 0c 1200 1600
      < 0d \(part)
      > 0c 1200 2c00
      < \(end)
      """)
    #expect(value == partOctets + partOctets)
  }

  @Test func attributeNotLongAfterTwoParts() {
    #expect(throws: refusal(.readBlobRequest, 0x0012, .attributeNotLong)) {
      try play(
        ReadLongValue(0x0012),
        """
        > 0a 1200
        < 0b \(part)
        > 0c 1200 1600
        < 0d \(part)
        > 0c 1200 2c00
        < 01 0c 1200 0b
        """)
    }
  }

  @Test func attributeNotLongAfterAnOffset() {
    #expect(throws: refusal(.readBlobRequest, 0x0012, .attributeNotLong)) {
      try play(
        ReadLongValue(0x0012, offset: 3),
        """
        > 0c 1200 0300
        < 0d \(part)
        > 0c 1200 1900
        < 01 0c 1200 0b
        """)
    }
  }

  @Test func everyErrorOfTheFirstRequestIsAFailure() {
    for code in UInt8.min...UInt8.max {
      #expect(throws: refusal(.readRequest, 0x0012, ErrorCode(code))) {
        try play(ReadLongValue(0x0012), "> 0a 1200\n< 01 0a 1200 \(hexText([code]))")
      }
      #expect(throws: refusal(.readBlobRequest, 0x0012, ErrorCode(code))) {
        try play(
          ReadLongValue(0x0012, offset: 1), "> 0c 1200 0100\n< 01 0c 1200 \(hexText([code]))")
      }
    }
  }

  @Test func everyOtherErrorOfALaterRequestIsAFailure() {
    for code in UInt8.min...UInt8.max where code != 0x07 && code != 0x0B {
      #expect(throws: refusal(.readBlobRequest, 0x0012, ErrorCode(code))) {
        try play(
          ReadLongValue(0x0012),
          """
          > 0a 1200
          < 0b \(part)
          > 0c 1200 1600
          < 01 0c 1200 \(hexText([code]))
          """)
      }
    }
  }

  /// A value of 512 octets with full parts needs another request to find its end.
  @Test(arguments: [(23, 24), (33, 17), (64, 9), (185, 3), (257, 3), (512, 2), (513, 2), (517, 1)])
  func longestValue(mtu: Int, requests: Int) throws {
    let value = (0..<512).map { UInt8(truncatingIfNeeded: $0 / 3) }
    var server = ModelServer([.init(handle: 3, type: 0x2A00, value: value)])
    #expect(try server.run(ReadLongValue(3), mtu: mtu) == value)
    #expect(server.requests.count == requests)
    #expect(try server.run(ReadLongValue(3, offset: 500), mtu: mtu) == [UInt8](value[500...]))
    #expect(try server.run(ReadLongValue(3, offset: 512), mtu: mtu) == [])
  }

  /// H12.
  @Test(arguments: [23, 33, 64, 185, 257, 512, 513, 517])
  func moreThanAValueHas(mtu: Int) {
    let value = [UInt8](repeating: 1, count: 1000)
    var server = ModelServer([.init(handle: 3, type: 0x2A00, value: value)])
    // The first part that exceeds 512 octets fails the procedure.
    let length = min((512 / (mtu - 1) + 1) * (mtu - 1), value.count)
    #expect(throws: ProcedureError.violation(.valueTooLong(3, length))) {
      try server.run(ReadLongValue(3), mtu: mtu)
    }
    #expect(server.requests.count <= 24)
  }

  @Test func everyLength() throws {
    for length in 0...512 {
      let value = (0..<length).map { UInt8(truncatingIfNeeded: $0) }
      var server = ModelServer([.init(handle: 3, type: 0x2A00, value: value)])
      for mtu in [23, 64, 257] {
        #expect(try server.run(ReadLongValue(3), mtu: mtu) == value)
        #expect(server.requests.count == length / (mtu - 1) + 1)
        server = ModelServer(server.attributes)
      }
    }
  }

  /// The server built its response before the ATT_MTU grew: a part that fills the old one may go
  /// on.
  @Test func mtuThatGrowsInMidRequest() throws {
    var procedure = ReadLongValue(0x0012)
    _ = try procedure.request(mtu: 23)
    #expect(try procedure.receive(octets: octets("0b" + part), mtu: 64) == .request)
    #expect(try procedure.request(mtu: 64) == octets("0c 1200 1600"))
    #expect(
      try procedure.receive(octets: octets("0d" + part), mtu: 64)
        == .finished(partOctets + partOctets))
  }

  @Test(arguments: ["0d \(22)", "13", ""])
  func responseThatIsNone(response: String) {
    #expect(throws: ProcedureError.violation(.incompleteResponse(.readRequest))) {
      try play(ReadLongValue(0x0012), "> 0a 1200\n< \(response)")
    }
    #expect(throws: ProcedureError.violation(.incompleteResponse(.readBlobRequest))) {
      try play(ReadLongValue(0x0012, offset: 1), "> 0c 1200 0100\n< 0b 01")
    }
  }

  @Test func handleZero() {
    #expect(throws: refused(.readRequest)) {
      try play(ReadLongValue(0), "> 0a 0000\n< 01 0a 0000 01")
    }
  }
}
