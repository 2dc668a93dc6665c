import TestSupport
import AttoATT
import AttoGATT
import Testing

@Suite(.sideBySide) struct FindIncludedServicesTests {
  let range = HandleRange(0x0001, 0x0020)!
  let long = BluetoothUUID(high: 0xFFEE_DDCC_BBAA_9988, low: 0x7766_5544_3322_1100)

  @Test func shortUUIDs() throws {
    let includes = try play(
      FindIncludedServices(in: range),
      """
      > 08 0100 2000 0228
      < 09 08 0200 3000 3500 0a18 0300 0100 2000 0d18
      > 08 0400 2000 0228
      < 01 08 0400 0a
      """)
    #expect(
      includes == [
        IncludedService(handle: 2, startHandle: 0x0030, endGroupHandle: 0x0035, uuid: 0x180A),
        IncludedService(handle: 3, startHandle: 0x0001, endGroupHandle: 0x0020, uuid: 0x180D),
      ])
  }

  /// A 128-bit UUID is in the included service's declaration, read once for each service.
  @Test func longUUIDs() throws {
    let includes = try play(
      FindIncludedServices(in: range),
      """
      > 08 0100 2000 0228
      < 09 06 0200 3000 3500 0300 4000 4000 0400 3000 3500
      > 08 0500 2000 0228
      < 09 08 2000 5000 5000 0a18
      > 0a 3000
      < 0b 00112233445566778899aabbccddeeff
      > 0a 4000
      < 0b 0d18
      """)
    #expect(includes.map(\.uuid) == [long, 0x180D, long, 0x180A])
    #expect(includes.map(\.handle) == [2, 3, 4, 0x20])
  }

  @Test func knownServicesAreNotRead() throws {
    let known = [
      Service(handle: 0x0030, endGroupHandle: 0x0035, uuid: long),
      Service(handle: 0x0001, endGroupHandle: 0x0020, uuid: 0x180D),
    ]
    let includes = try play(
      FindIncludedServices(in: range, knownServices: known),
      """
      > 08 0100 2000 0228
      < 09 06 2000 3000 3500
      """)
    #expect(includes.map(\.uuid) == [long])
  }

  @Test func findsNothing() throws {
    let includes = try play(
      FindIncludedServices(in: range), "> 08 0100 2000 0228\n< 01 08 0100 0a")
    #expect(includes.isEmpty)
  }

  @Test(arguments: [
    ("09 08 0000 3000 3500 0a18", ProtocolViolation.handleOutOfRange(0, HandleRange(1, 32)!)),
    ("09 08 2100 3000 3500 0a18", .handleOutOfRange(0x0021, HandleRange(1, 32)!)),
    ("09 08 0300 3000 3500 0a18 0300 3000 3500 0a18", .notAdvancing(0x0003)),
    ("09 08 0300 3000 3500 0a18 0200 3000 3500 0a18", .notAdvancing(0x0002)),
    ("09 08 0300 0000 3500 0a18", .handleOutOfRange(0, .all)),
    ("09 08 0300 3500 3400 0a18", .groupEndsBeforeStart(0x0035, end: 0x0034)),
    ("09 02 0300", .declarationLength(0x0003, 0)),
    ("09 07 0300 3000 3500 0a", .declarationLength(0x0003, 5)),
    ("09 0a 0300 3000 3500 0a180a18", .declarationLength(0x0003, 8)),
    ("0b 0a18", .incompleteResponse(.readByTypeRequest)),
    ("09 00 0000", .incompleteResponse(.readByTypeRequest)),
    ("09 01 0000", .incompleteResponse(.readByTypeRequest)),
  ])
  func lies(response: String, violation: ProtocolViolation) {
    #expect(throws: ProcedureError.violation(violation)) {
      try play(FindIncludedServices(in: range), "> 08 0100 2000 0228\n< \(response)")
    }
  }

  @Test(arguments: [
    ("0b", ProcedureError.violation(.declarationLength(0x0030, 0))),
    ("0b 001122", .violation(.declarationLength(0x0030, 3))),
    ("0b 00112233", .violation(.declarationLength(0x0030, 4))),
    ("0b 0000000000000000000000000000000000", .violation(.declarationLength(0x0030, 17))),
    ("09 08 0300 3000 3500 0a18", .violation(.incompleteResponse(.readRequest))),
    ("01 0a 3000 0a", refusal(.readRequest, 0x0030, .attributeNotFound)),
    ("01 0a 3000 05", refusal(.readRequest, 0x0030, .insufficientAuthentication)),
    ("01 0a 3000 00", refusal(.readRequest, 0x0030, ErrorCode(0))),
  ])
  func declarationThatCannotBeUsed(response: String, error: ProcedureError) {
    #expect(throws: error) {
      try play(
        FindIncludedServices(in: range),
        """
        > 08 0100 2000 0228
        < 09 06 2000 3000 3500
        > 0a 3000
        < \(response)
        """)
    }
  }

  @Test func everyOtherErrorIsAFailure() {
    for code in UInt8.min...UInt8.max where code != 0x0A {
      #expect(throws: refusal(.readByTypeRequest, 0x0001, ErrorCode(code))) {
        try play(
          FindIncludedServices(in: range), "> 08 0100 2000 0228\n< 01 08 0100 \(hexText([code]))")
      }
    }
  }

  @Test func limits() {
    #expect(throws: ProcedureError.limit(.includes, 1)) {
      try play(
        FindIncludedServices(in: range, limits: DiscoveryLimits(includes: 1)),
        """
        > 08 0100 2000 0228
        < 09 06 0200 3000 3500 0300 4000 4000
        """)
    }
    // The declarations that are read count.
    #expect(throws: ProcedureError.limit(.requests, 2)) {
      try play(
        FindIncludedServices(in: range, limits: DiscoveryLimits(requests: 2)),
        """
        > 08 0100 2000 0228
        < 09 06 0200 3000 3500 2000 4000 4000
        > 0a 3000
        < 0b 0d18
        """)
    }
  }
}
