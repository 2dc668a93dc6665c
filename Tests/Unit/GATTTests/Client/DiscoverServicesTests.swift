import TestSupport
import AttoATT
import AttoGATT
import Testing

@Suite(.sideBySide) struct DiscoverPrimaryServicesTests {
  @Test func endsWithAttributeNotFound() throws {
    let services = try play(
      DiscoverPrimaryServices(),
      """
      > 10 0100 ffff 0028
      < 11 06 0100 0700 0018 0800 0800 0118 1000 1500 0d18
      > 10 1600 ffff 0028
      < 11 14 2000 2f00 00112233445566778899aabbccddeeff
      > 10 3000 ffff 0028
      < 01 10 3000 0a
      """)
    #expect(
      services == [
        Service(handle: 0x0001, endGroupHandle: 0x0007, uuid: .genericAccess),
        Service(handle: 0x0008, endGroupHandle: 0x0008, uuid: .genericAttribute),
        Service(handle: 0x0010, endGroupHandle: 0x0015, uuid: 0x180D),
        Service(
          handle: 0x0020, endGroupHandle: 0x002F,
          uuid: BluetoothUUID(high: 0xFFEE_DDCC_BBAA_9988, low: 0x7766_5544_3322_1100)),
      ])
  }

  @Test func endsWithTheLastHandle() throws {
    let services = try play(
      DiscoverPrimaryServices(), mtu: 64,
      """
      > 10 0100 ffff 0028
      < 11 06 0100 0700 0018 ffff ffff 0d18
      """)
    #expect(services.map(\.handle) == [0x0001, 0xFFFF])
  }

  @Test func staysInItsRange() throws {
    let range = try #require(HandleRange(0x0010, 0x0020))
    let services = try play(
      DiscoverPrimaryServices(in: range),
      """
      > 10 1000 2000 0028
      < 11 06 1000 1800 0d18   # fewer than there is room for
      > 10 1900 2000 0028
      < 11 06 2000 3000 0f18   # a group may end beyond the range
      """)
    #expect(services.map(\.endGroupHandle) == [0x0018, 0x0030])
  }

  @Test func findsNothing() throws {
    let services = try play(
      DiscoverPrimaryServices(),
      """
      > 10 0100 ffff 0028
      < 01 10 0100 0a
      """)
    #expect(services.isEmpty)
  }

  @Test func secondaryServices() throws {
    let services = try play(
      DiscoverSecondaryServices(),
      """
      > 10 0100 ffff 0128
      < 11 06 0100 ffff 0018
      """)
    #expect(
      services == [
        Service(handle: 1, endGroupHandle: 0xFFFF, uuid: .genericAccess, isPrimary: false)
      ])
    #expect(throws: refusal(.readByGroupTypeRequest, 0x0001, .unsupportedGroupType)) {
      try play(
        DiscoverSecondaryServices(),
        """
        > 10 0100 ffff 0128
        < 01 10 0100 10
        """)
    }
  }

  /// Every code but Attribute Not Found is a failure with that code; 0x00 too (H27).
  @Test func everyOtherErrorIsAFailure() {
    for code in UInt8.min...UInt8.max where code != 0x0A {
      let error = hexText([code])
      #expect(throws: refusal(.readByGroupTypeRequest, 0x0001, ErrorCode(code))) {
        try play(DiscoverPrimaryServices(), "> 10 0100 ffff 0028\n< 01 10 0100 \(error)")
      }
      #expect(throws: refusal(.readByGroupTypeRequest, 0x0008, ErrorCode(code))) {
        try play(
          DiscoverPrimaryServices(),
          """
          > 10 0100 ffff 0028
          < 11 06 0100 0700 0018
          > 10 0800 ffff 0028
          < 01 10 0800 \(error)
          """)
      }
    }
  }

  @Test(arguments: [
    // A handle of 0x0000.
    ("11 06 0000 0700 0018", ProtocolViolation.handleOutOfRange(0, .all)),
    // A group that ends before it starts.
    ("11 06 0500 0400 0018", .groupEndsBeforeStart(0x0005, end: 0x0004)),
    ("11 06 0500 0000 0018", .groupEndsBeforeStart(0x0005, end: 0x0000)),
    // A group twice, or before the last one.
    ("11 06 0500 0600 0018 0500 0600 0018", .notAdvancing(0x0005)),
    ("11 06 0500 0600 0018 0100 0200 0018", .notAdvancing(0x0001)),
    // A group that begins in the last one.
    ("11 06 0500 0900 0018 0900 0a00 0018", .overlappingGroups(0x0009)),
    ("11 06 0500 ffff 0018 0900 0a00 0018", .overlappingGroups(0x0009)),
    // UUIDs of no length that there is.
    ("11 04 0500 0900", .declarationLength(0x0005, 0)),
    ("11 05 0500 0900 00", .declarationLength(0x0005, 1)),
    ("11 08 0500 0900 00000000", .declarationLength(0x0005, 4)),
    ("11 15 0500 0900 0000000000000000000000000000000000", .declarationLength(0x0005, 17)),
    // Not a response that can be taken.
    ("11 06 0500 0900 0018 00", .incompleteResponse(.readByGroupTypeRequest)),
    ("11 00 0500 0900 0018", .incompleteResponse(.readByGroupTypeRequest)),
    ("13", .incompleteResponse(.readByGroupTypeRequest)),
    ("", .incompleteResponse(.readByGroupTypeRequest)),
  ])
  func lies(response: String, violation: ProtocolViolation) {
    #expect(throws: ProcedureError.violation(violation)) {
      try play(DiscoverPrimaryServices(), "> 10 0100 ffff 0028\n< \(response)")
    }
  }

  @Test(arguments: [
    ("0100 0700 0018", ProtocolViolation.notAdvancing(0x0001)),
    ("0700 0900 0018", .overlappingGroups(0x0007)),
    ("0300 0900 0018", .overlappingGroups(0x0003)),
  ])
  func liesAboutWhatWasAskedBefore(entry: String, violation: ProtocolViolation) {
    #expect(throws: ProcedureError.violation(violation)) {
      try play(
        DiscoverPrimaryServices(),
        """
        > 10 0100 ffff 0028
        < 11 06 0100 0700 0018
        > 10 0800 ffff 0028
        < 11 06 \(entry)
        """)
    }
  }

  @Test func handleOutsideTheRange() throws {
    let range = try #require(HandleRange(0x0010, 0x0020))
    for (handle, written) in [(0x000F, "0f00"), (0x0021, "2100")] as [(AttributeHandle, String)] {
      #expect(throws: ProcedureError.violation(.handleOutOfRange(handle, range))) {
        try play(
          DiscoverPrimaryServices(in: range),
          "> 10 1000 2000 0028\n< 11 06 \(written) 2200 0018")
      }
    }
  }

  @Test func limits() {
    #expect(throws: ProcedureError.limit(.services, 2)) {
      try play(
        DiscoverPrimaryServices(limits: DiscoveryLimits(services: 2)),
        """
        > 10 0100 ffff 0028
        < 11 06 0100 0100 0018 0200 0200 0018 0300 0300 0018
        """)
    }
    #expect(throws: ProcedureError.limit(.requests, 2)) {
      try play(
        DiscoverPrimaryServices(limits: DiscoveryLimits(requests: 2)),
        """
        > 10 0100 ffff 0028
        < 11 06 0100 0100 0018
        > 10 0200 ffff 0028
        < 11 06 0200 0200 0018
        """)
    }
  }
}

@Suite(.sideBySide) struct DiscoverPrimaryServicesByUUIDTests {
  @Test func assignedUUIDInFull() throws {
    let found = try play(
      DiscoverPrimaryServicesByUUID(0x180D, inFull: true),
      """
      > 06 0100 ffff 0028 fb349b5f80000080001000000d180000
      < 01 06 0100 0a
      """)
    #expect(found.isEmpty)
  }

  @Test func shortUUID() throws {
    let services = try play(
      DiscoverPrimaryServicesByUUID(0x180D),
      """
      > 06 0100 ffff 0028 0d18
      < 07 1000 1500 2000 2000
      > 06 2100 ffff 0028 0d18
      < 01 06 2100 0a
      """)
    #expect(
      services == [
        Service(handle: 0x0010, endGroupHandle: 0x0015, uuid: 0x180D),
        Service(handle: 0x0020, endGroupHandle: 0x0020, uuid: 0x180D),
      ])
  }

  @Test func longUUID() throws {
    let uuid = BluetoothUUID(high: 0xFFEE_DDCC_BBAA_9988, low: 0x7766_5544_3322_1100)
    let range = try #require(HandleRange(0x0010, 0x0020))
    let services = try play(
      DiscoverPrimaryServicesByUUID(uuid, in: range),
      """
      > 06 1000 2000 0028 00112233445566778899aabbccddeeff
      < 07 1000 ffff
      """)
    #expect(services == [Service(handle: 0x0010, endGroupHandle: 0xFFFF, uuid: uuid)])
  }

  /// A 32-bit UUID travels as 128 bits.
  @Test func middleUUID() throws {
    let services = try play(
      DiscoverPrimaryServicesByUUID(BluetoothUUID(0x1234_5678 as UInt32)),
      """
      > 06 0100 ffff 0028 fb349b5f800000800010000078563412
      < 01 06 0100 0a
      """)
    #expect(services.isEmpty)
  }

  @Test(arguments: [
    ("07 0000 0700", ProtocolViolation.handleOutOfRange(0, .all)),
    ("07 0500 0400", .groupEndsBeforeStart(0x0005, end: 0x0004)),
    ("07 0500 0600 0500 0600", .notAdvancing(0x0005)),
    ("07 0500 0900 0900 0a00", .overlappingGroups(0x0009)),
    ("07 0500 0900 09", .incompleteResponse(.findByTypeValueRequest)),
    ("11 06 0100 0100 0018", .incompleteResponse(.findByTypeValueRequest)),
  ])
  func lies(response: String, violation: ProtocolViolation) {
    #expect(throws: ProcedureError.violation(violation)) {
      try play(DiscoverPrimaryServicesByUUID(0x180D), "> 06 0100 ffff 0028 0d18\n< \(response)")
    }
  }

  @Test func everyOtherErrorIsAFailure() {
    for code in UInt8.min...UInt8.max where code != 0x0A {
      #expect(throws: refusal(.findByTypeValueRequest, 0x0001, ErrorCode(code))) {
        try play(
          DiscoverPrimaryServicesByUUID(0x180D),
          "> 06 0100 ffff 0028 0d18\n< 01 06 0100 \(hexText([code]))")
      }
    }
  }
}
