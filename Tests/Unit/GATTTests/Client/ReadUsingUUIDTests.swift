import TestSupport
import AttoATT
import AttoGATT
import Testing

@Suite(.sideBySide) struct ReadUsingUUIDTests {
  @Test func all() throws {
    let output = try play(
      ReadUsingUUID(0x2A00),
      """
      > 08 0100 ffff 002a
      < 09 04 0300 aabb 0700 ccdd
      > 08 0800 ffff 002a
      < 09 03 0900 ee
      > 08 0a00 ffff 002a
      < 01 08 0a00 0a
      """)
    #expect(output.values.map(\.handle) == [3, 7, 9])
    #expect(output.values.map(\.octets) == [[0xAA, 0xBB], [0xCC, 0xDD], [0xEE]])
    #expect(output.values.allSatisfy { !$0.mayBeCut })
    #expect(output.refusal == nil)
  }

  @Test func firstResponse() throws {
    let output = try play(
      ReadUsingUUID(0x2A00, extent: .firstResponse),
      """
      > 08 0100 ffff 002a
      < 09 04 0300 aabb 0700 ccdd
      """)
    #expect(output.values.map(\.handle) == [3, 7])
  }

  @Test func assignedUUIDInFull() throws {
    let output = try play(
      ReadUsingUUID(0x2A00, inFull: true),
      """
      > 08 0100 ffff fb349b5f8000008000100000002a0000
      < 09 03 0300 aa
      > 08 0400 ffff fb349b5f8000008000100000002a0000
      < 01 08 0400 0a
      """)
    #expect(output.values.map(\.handle) == [3])
  }

  @Test func longUUIDAndRange() throws {
    let output = try play(
      ReadUsingUUID(
        BluetoothUUID(high: 0xFFEE_DDCC_BBAA_9988, low: 0x7766_5544_3322_1100),
        in: HandleRange(0x0010, 0x0020)!),
      """
      > 08 1000 2000 00112233445566778899aabbccddeeff
      < 09 02 2000
      """)
    #expect(output.values.map(\.handle) == [0x0020])
    #expect(output.values.map(\.octets) == [[]])
  }

  @Test(arguments: [(23, 19), (64, 60), (257, 253), (517, 253)])
  func valuesThatMayGoOn(mtu: Int, longest: Int) throws {
    for (count, mayBeCut) in [(longest - 1, false), (longest, true)] {
      let value = [UInt8](repeating: 1, count: count)
      let output = try play(
        ReadUsingUUID(0x2A00, extent: .firstResponse), mtu: mtu,
        "> 08 0100 ffff 002a\n< 09 \(hexText([UInt8(count + 2)])) 0300 \(hexText(value))")
      #expect(output.values.map(\.octets) == [value])
      #expect(output.values.map(\.mayBeCut) == [mayBeCut])
    }
  }

  /// Values before an unreadable attribute are not lost.
  @Test func refusalAfterValues() throws {
    let output = try play(
      ReadUsingUUID(0x2A00),
      """
      > 08 0100 ffff 002a
      < 09 04 0300 aabb
      > 08 0400 ffff 002a
      < 01 08 0700 05
      """)
    #expect(output.values.map(\.handle) == [3])
    #expect(
      output.refusal
        == ErrorResponse(
          request: .readByTypeRequest, handle: 7, code: .insufficientAuthentication))
  }

  @Test func everyErrorOfTheFirstRequestIsAFailure() {
    for code in UInt8.min...UInt8.max {
      #expect(throws: refusal(.readByTypeRequest, 0x0007, ErrorCode(code))) {
        try play(
          ReadUsingUUID(0x2A00), "> 08 0100 ffff 002a\n< 01 08 0700 \(hexText([code]))")
      }
    }
  }

  @Test(arguments: [
    ("09 03 0000 01", ProtocolViolation.handleOutOfRange(0, .all)),
    ("09 03 0500 01 0500 01", .notAdvancing(0x0005)),
    ("09 03 0500 01 0400 01", .notAdvancing(0x0004)),
    ("09 01 0500", .incompleteResponse(.readByTypeRequest)),
    ("09 00 0500", .incompleteResponse(.readByTypeRequest)),
    ("09 04 0500 01", .incompleteResponse(.readByTypeRequest)),
    ("0b 0500 01", .incompleteResponse(.readByTypeRequest)),
  ])
  func lies(response: String, violation: ProtocolViolation) {
    #expect(throws: ProcedureError.violation(violation)) {
      try play(ReadUsingUUID(0x2A00), "> 08 0100 ffff 002a\n< \(response)")
    }
  }

  @Test func limits() {
    #expect(throws: ProcedureError.limit(.values, 1)) {
      try play(
        ReadUsingUUID(0x2A00, limits: DiscoveryLimits(values: 1)),
        "> 08 0100 ffff 002a\n< 09 03 0100 01 0200 02")
    }
    #expect(throws: ProcedureError.limit(.requests, 1)) {
      try play(
        ReadUsingUUID(0x2A00, limits: DiscoveryLimits(requests: 1)),
        "> 08 0100 ffff 002a\n< 09 03 0100 01")
    }
  }
}
