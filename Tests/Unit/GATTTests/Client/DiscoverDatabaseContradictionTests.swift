import AttoATT
import AttoGATT
import TestSupport
import Testing

// Servers whose responses contradict each other.

extension DiscoverDatabaseTests {
  @Test(arguments: [
    // Known attributes with other types.
    ("04 0400 ffff", "05 01 0400 0129 0600 0128", ProtocolViolation.contradiction(0x0006)),
    ("04 0400 ffff", "05 01 0600 0028 0700 0329", .contradiction(0x0007)),
    ("04 0400 ffff", "05 01 0600 0028 0700 0328 0800 022a", .contradiction(0x0008)),
    // Known attributes left out.
    ("04 0400 ffff", "05 01 0700 0328", .contradiction(0x0006)),
    ("04 0400 ffff", "05 01 0900 0129", .contradiction(0x0006)),
    ("04 0400 ffff", "01 04 0400 0a", .contradiction(0x0006)),
    // Declarations that should have been told before.
    ("04 0400 ffff", "05 01 0400 0028", .contradiction(0x0004)),
    ("04 0400 ffff", "05 01 0400 0128", .contradiction(0x0004)),
    ("04 0400 ffff", "05 01 0400 0328", .contradiction(0x0004)),
    // Handles that are none, or do not rise.
    ("04 0400 ffff", "05 01 0300 0129", .handleOutOfRange(3, HandleRange(4, 0xFFFF)!)),
    ("04 0400 ffff", "05 01 0000 0129", .handleOutOfRange(0, HandleRange(4, 0xFFFF)!)),
    ("04 0400 ffff", "05 01 0400 0129 0400 0129", .notAdvancing(0x0004)),
    ("04 0400 ffff", "05 01 0500 0129 0400 0129", .notAdvancing(0x0004)),
    ("04 0400 ffff", "05 04 0400 0129", .incompleteResponse(.findInformationRequest)),
  ])
  func contradictions(request: String, response: String, violation: ProtocolViolation) {
    #expect(throws: ProcedureError.violation(violation)) {
      try play(
        DiscoverDatabase(), mtu: 64,
        Self.beforeDescriptors + "> \(request)\n< \(response)")
    }
  }

  /// A value whose type has no short form, and a response that lists it with a short one.
  @Test(arguments: ["0000", "0100", "2a2a"])
  func aLongTypeThatTurnsShort(type: String) {
    let long = "0f0e0d0c0b0a09080706050403020100"
    #expect(throws: ProcedureError.violation(.contradiction(0x0006))) {
      try play(
        DiscoverDatabase(), mtu: 64,
        """
        > 10 0100 ffff 0028
        < 11 06 0100 ffff 0018
        > 08 0200 ffff 0328
        < 09 15 0200 02 0300 \(long) 0500 02 0600 \(long)
        > 08 0700 ffff 0328
        < 01 08 0700 0a
        > 04 0400 ffff
        < 05 01 0400 0129 0500 0328 0600 \(type)
        """)
    }
  }

  @Test(arguments: [
    // In the gap between services, before the first, at a service's own handle.
    ("09 07 0700 02 0800 002a", ProtocolViolation.outsideServices(0x0007)),
    ("09 07 0800 02 0900 002a", .contradiction(0x0008)),
    // A value beyond the service's end, or no room for one.
    ("09 07 0300 02 0600 002a", .handleOutOfRange(0x0006, HandleRange(1, 5)!)),
    ("09 07 0500 02 0600 002a", .handleOutOfRange(0x0006, HandleRange(1, 5)!)),
    ("09 07 0a00 02 0a00 002a", .handleOutOfRange(0x000A, HandleRange(8, 10)!)),
    ("09 07 0b00 02 0c00 002a", .handleOutOfRange(0x000B, HandleRange(2, 10)!)),
  ])
  func characteristicOutsideItsService(response: String, violation: ProtocolViolation) {
    #expect(throws: ProcedureError.violation(violation)) {
      try play(
        DiscoverDatabase(), mtu: 64,
        """
        > 10 0100 ffff 0028
        < 11 06 0100 0500 0018 0800 0a00 0118
        > 10 0b00 ffff 0028
        < 01 10 0b00 0a
        > 10 0600 ffff 0128
        < 01 10 0600 0a
        > 08 0200 0a00 0328
        < \(response)
        """)
    }
  }

  @Test(arguments: [
    // Between services; at a service's, at a characteristic's declaration; at a value.
    ("0600", "0700", ProtocolViolation.outsideServices(0x0006)),
    ("0800", "0900", .contradiction(0x0008)),
    ("0300", "0400", .contradiction(0x0003)),
    ("0400", "0500", .contradiction(0x0004)),
  ])
  func includeWhereNoneCanBe(handle: String, next: String, violation: ProtocolViolation) {
    #expect(throws: ProcedureError.violation(violation)) {
      try play(
        DiscoverDatabase(), mtu: 64,
        """
        > 10 0100 ffff 0028
        < 11 06 0100 0500 0018 0800 0a00 0118
        > 10 0b00 ffff 0028
        < 01 10 0b00 0a
        > 10 0600 ffff 0128
        < 01 10 0600 0a
        > 08 0200 0a00 0328
        < 09 07 0300 02 0400 002a
        > 08 0900 0a00 0328   # the first service has no room for another one
        < 01 08 0900 0a
        > 08 0200 0a00 0228
        < 09 08 \(handle) 0100 0500 0018
        > 08 \(next) 0a00 0228
        < 01 08 \(next) 0a
        """)
    }
  }

  /// An include among descriptors, where includes had been asked for.
  @Test func includeThatWasNotTold() {
    #expect(throws: ProcedureError.violation(.contradiction(0x0005))) {
      try play(
        DiscoverDatabase(), mtu: 64,
        """
        > 10 0100 ffff 0028
        < 11 06 0100 0500 0018 0600 ffff 0018
        > 08 0200 ffff 0328
        < 09 07 0300 02 0400 002a 0800 02 0900 002a
        > 08 0a00 ffff 0328
        < 01 08 0a00 0a
        > 08 0200 0700 0228
        < 01 08 0200 0a
        > 04 0500 ffff
        < 05 01 0500 0228 0600 0028 0800 0328 0900 002a
        > 04 0a00 ffff
        < 01 04 0a00 0a
        """)
    }
  }

  @Test(arguments: [
    ("01 08 0500 0a", ProtocolViolation.incompleteResponse(.readByTypeRequest)),
    ("09 08 0700 0100 ffff 0018", .contradiction(0x0005)),
    ("09 08 0600 0100 ffff 0018 0700 0100 ffff 0018", .contradiction(0x0005)),
    (
      "09 08 0500 0100 ffff 0018 0700 0100 ffff 0018 0800 0100 ffff 0018",
      .handleOutOfRange(0x0008, HandleRange(5, 7)!)
    ),
  ])
  func lateIncludesThatDisagree(response: String, violation: ProtocolViolation) {
    #expect(throws: ProcedureError.violation(violation)) {
      try play(
        DiscoverDatabase(), mtu: 64,
        """
        > 10 0100 ffff 0028
        < 11 06 0100 ffff 0018
        > 08 0200 ffff 0328
        < 09 07 0200 02 0300 002a
        > 08 0400 ffff 0328
        < 01 08 0400 0a
        > 04 0400 ffff
        < 05 01 0400 0129 0500 0228 0700 0228
        > 04 0800 ffff
        < 01 04 0800 0a
        > 08 0500 0700 0228
        < \(response)
        """)
    }
  }

  @Test(arguments: [
    ("0400 0600 0018\n> 10 0700 0700 0128\n< 01 10 0700 0a", AttributeHandle(0x0005)),
    ("0600 0900 0018", 0x0008),
    ("0500 0500 0018\n> 10 0600 0700 0128\n< 01 10 0600 0a", 0x0005),
  ])
  func secondaryServiceInsideAPrimaryOne(entry: String, handle: AttributeHandle) {
    #expect(throws: ProcedureError.violation(.overlappingGroups(handle))) {
      try play(
        DiscoverDatabase(), mtu: 64,
        """
        > 10 0100 ffff 0028
        < 11 06 0500 0500 0018 0800 ffff 0118
        > 10 0100 0700 0128
        < 11 06 \(entry)
        """)
    }
  }
}
