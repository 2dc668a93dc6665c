import TestSupport
import AttoATT
import AttoGATT
import Testing

@Suite(.sideBySide) struct DiscoverCharacteristicsTests {
  let range = HandleRange(0x0010, 0x0030)!

  @Test func bothWidths() throws {
    let characteristics = try play(
      DiscoverCharacteristics(in: range),
      """
      > 08 1000 3000 0328
      < 09 07 1100 10 1200 372a 1400 02 1500 382a
      > 08 1500 3000 0328
      < 09 15 2000 08 2100 00112233445566778899aabbccddeeff
      > 08 2100 3000 0328
      < 01 08 2100 0a
      """)
    #expect(
      characteristics == [
        Characteristic(
          declarationHandle: 0x0011, valueHandle: 0x0012, endGroupHandle: 0x0013,
          properties: .notify,
          uuid: 0x2A37),
        Characteristic(
          declarationHandle: 0x0014, valueHandle: 0x0015, endGroupHandle: 0x001F, properties: .read,
          uuid: 0x2A38),
        Characteristic(
          declarationHandle: 0x0020, valueHandle: 0x0021, endGroupHandle: 0x0030,
          properties: .write,
          uuid: BluetoothUUID(high: 0xFFEE_DDCC_BBAA_9988, low: 0x7766_5544_3322_1100)),
      ])
    #expect(characteristics.map(\.descriptorRange?.start) == [0x0013, 0x0016, 0x0022])
  }

  @Test func largerMTU() throws {
    let characteristics = try play(
      DiscoverCharacteristics(in: range), mtu: 64,
      """
      > 08 1000 3000 0328
      < 09 07 1100 02 1200 002a 1300 02 1400 012a 1500 02 1600 022a 2f00 02 3000 032a
      > 08 3000 3000 0328
      < 01 08 3000 0a
      """)
    #expect(characteristics.map(\.endGroupHandle) == [0x0012, 0x0014, 0x002E, 0x0030])
    #expect(characteristics.map(\.descriptorRange) == [nil, nil, HandleRange(0x17, 0x2E), nil])
  }

  @Test func endsWithTheLastHandle() throws {
    let range = try #require(HandleRange(0xFFF0, 0xFFFF))
    let characteristics = try play(
      DiscoverCharacteristics(in: range),
      """
      > 08 f0ff ffff 0328
      < 09 07 feff 02 ffff 002a
      > 08 ffff ffff 0328
      < 01 08 ffff 0a
      """)
    #expect(characteristics.map(\.valueHandle) == [0xFFFF])
    #expect(characteristics[0].descriptorRange == nil)
  }

  /// A range may end between a declaration and its value.
  @Test func valueBeyondTheRange() throws {
    let range = try #require(HandleRange(0x0010, 0x0011))
    let characteristics = try play(
      DiscoverCharacteristics(in: range),
      """
      > 08 1000 1100 0328
      < 09 07 1100 02 1200 002a
      """)
    #expect(characteristics.map(\.endGroupHandle) == [0x0012])
  }

  @Test func findsNothing() throws {
    let characteristics = try play(
      DiscoverCharacteristics(in: range), "> 08 1000 3000 0328\n< 01 08 1000 0a")
    #expect(characteristics.isEmpty)
  }

  @Test(arguments: [
    ("09 07 0000 02 1200 002a", ProtocolViolation.handleOutOfRange(0, HandleRange(0x10, 0x30)!)),
    ("09 07 0f00 02 1200 002a", .handleOutOfRange(0x000F, HandleRange(0x10, 0x30)!)),
    ("09 07 3100 02 3200 002a", .handleOutOfRange(0x0031, HandleRange(0x10, 0x30)!)),
    // The value must come after its declaration.
    ("09 07 1100 02 0000 002a", .handleOutOfRange(0, .all)),
    ("09 07 1100 02 1000 002a", .handleOutOfRange(0x0010, .all)),
    ("09 07 1100 02 1100 002a", .handleOutOfRange(0x0011, .all)),
    // No declaration starts between the two, twice or earlier.
    ("09 07 1100 02 1400 002a 1300 02 1500 002a", .overlappingGroups(0x0013)),
    ("09 07 1100 02 1400 002a 1400 02 1500 002a", .overlappingGroups(0x0014)),
    ("09 07 1100 02 1200 002a 1100 02 1200 002a", .notAdvancing(0x0011)),
    ("09 07 1300 02 1400 002a 1100 02 1200 002a", .notAdvancing(0x0011)),
    ("09 02 1100", .declarationLength(0x0011, 0)),
    ("09 06 1100 02 1200 00", .declarationLength(0x0011, 4)),
    ("09 09 1100 02 1200 00000000", .declarationLength(0x0011, 7)),
    ("05 01 1100 0328", .incompleteResponse(.readByTypeRequest)),
  ])
  func lies(response: String, violation: ProtocolViolation) {
    #expect(throws: ProcedureError.violation(violation)) {
      try play(DiscoverCharacteristics(in: range), "> 08 1000 3000 0328\n< \(response)")
    }
  }

  @Test func doesNotAdvance() {
    #expect(throws: ProcedureError.violation(.notAdvancing(0x0011))) {
      try play(
        DiscoverCharacteristics(in: range),
        """
        > 08 1000 3000 0328
        < 09 07 1100 02 1200 002a
        > 08 1200 3000 0328
        < 09 07 1100 02 1200 002a
        """)
    }
  }

  @Test func everyOtherErrorIsAFailure() {
    for code in UInt8.min...UInt8.max where code != 0x0A {
      #expect(throws: refusal(.readByTypeRequest, 0x0010, ErrorCode(code))) {
        try play(
          DiscoverCharacteristics(in: range),
          "> 08 1000 3000 0328\n< 01 08 1000 \(hexText([code]))")
      }
    }
  }

  @Test func limits() {
    #expect(throws: ProcedureError.limit(.characteristics, 1)) {
      try play(
        DiscoverCharacteristics(in: range, limits: DiscoveryLimits(characteristics: 1)),
        "> 08 1000 3000 0328\n< 09 07 1100 02 1200 002a 1300 02 1400 002a")
    }
    #expect(throws: ProcedureError.limit(.requests, 1)) {
      try play(
        DiscoverCharacteristics(in: range, limits: DiscoveryLimits(requests: 1)),
        "> 08 1000 3000 0328\n< 09 07 1100 02 1200 002a")
    }
  }

  @Test func byUUID() throws {
    let characteristics = try play(
      DiscoverCharacteristicsByUUID(0x2A38, in: range),
      """
      > 08 1000 3000 0328
      < 09 07 1100 10 1200 372a 1400 02 1500 382a 1600 02 1700 392a
      > 08 1700 3000 0328
      < 09 07 2000 02 2100 382a
      > 08 2100 3000 0328
      < 01 08 2100 0a
      """)
    #expect(characteristics.map(\.declarationHandle) == [0x0014, 0x0020])
    #expect(characteristics.map(\.endGroupHandle) == [0x0015, 0x0030])
    #expect(throws: refusal(.readByTypeRequest, 0x0010, .requestNotSupported)) {
      try play(
        DiscoverCharacteristicsByUUID(0x2A38, in: range),
        "> 08 1000 3000 0328\n< 01 08 1000 06")
    }
  }
}

@Suite(.sideBySide) struct DiscoverDescriptorsTests {
  let range = HandleRange(0x0013, 0x0018)!

  @Test func bothWidths() throws {
    let descriptors = try play(
      DiscoverDescriptors(in: range),
      """
      > 04 1300 1800
      < 05 01 1300 0229 1400 0129
      > 04 1500 1800
      < 05 02 1600 00112233445566778899aabbccddeeff
      > 04 1700 1800
      < 01 04 1700 0a
      """)
    #expect(
      descriptors == [
        Descriptor(handle: 0x0013, uuid: .clientCharacteristicConfiguration),
        Descriptor(handle: 0x0014, uuid: .characteristicUserDescription),
        Descriptor(
          handle: 0x0016,
          uuid: BluetoothUUID(high: 0xFFEE_DDCC_BBAA_9988, low: 0x7766_5544_3322_1100)),
      ])
  }

  @Test func endsWithTheRange() throws {
    let descriptors = try play(
      DiscoverDescriptors(in: range), mtu: 64,
      """
      > 04 1300 1800
      < 05 01 1300 0229 1800 0129
      """)
    #expect(descriptors.map(\.handle) == [0x0013, 0x0018])
  }

  @Test(arguments: [
    ("05 01 0000 0229", ProtocolViolation.handleOutOfRange(0, HandleRange(0x13, 0x18)!)),
    ("05 01 1200 0229", .handleOutOfRange(0x0012, HandleRange(0x13, 0x18)!)),
    ("05 01 1900 0229", .handleOutOfRange(0x0019, HandleRange(0x13, 0x18)!)),
    ("05 01 1300 0229 1300 0229", .notAdvancing(0x0013)),
    ("05 01 1400 0229 1300 0229", .notAdvancing(0x0013)),
    ("05 03 1400 0229", .incompleteResponse(.findInformationRequest)),
    ("05 02 1400 0229", .incompleteResponse(.findInformationRequest)),
    ("05 01", .incompleteResponse(.findInformationRequest)),
  ])
  func lies(response: String, violation: ProtocolViolation) {
    #expect(throws: ProcedureError.violation(violation)) {
      try play(DiscoverDescriptors(in: range), "> 04 1300 1800\n< \(response)")
    }
  }

  @Test func doesNotAdvance() {
    #expect(throws: ProcedureError.violation(.notAdvancing(0x0013))) {
      try play(
        DiscoverDescriptors(in: range),
        """
        > 04 1300 1800
        < 05 01 1300 0229
        > 04 1400 1800
        < 05 01 1300 0229
        """)
    }
  }

  @Test func everyOtherErrorIsAFailure() {
    for code in UInt8.min...UInt8.max where code != 0x0A {
      #expect(throws: refusal(.findInformationRequest, 0x0013, ErrorCode(code))) {
        try play(
          DiscoverDescriptors(in: range), "> 04 1300 1800\n< 01 04 1300 \(hexText([code]))")
      }
    }
  }

  @Test func limits() {
    #expect(throws: ProcedureError.limit(.descriptors, 1)) {
      try play(
        DiscoverDescriptors(in: range, limits: DiscoveryLimits(descriptors: 1)),
        "> 04 1300 1800\n< 05 01 1300 0229 1400 0129")
    }
    #expect(throws: ProcedureError.limit(.requests, 1)) {
      try play(
        DiscoverDescriptors(in: range, limits: DiscoveryLimits(requests: 1)),
        "> 04 1300 1800\n< 05 01 1300 0229")
    }
  }
}

@Suite(.sideBySide) struct FindConfigurationTests {
  let search = FindConfiguration(of: 0x0012)!

  @Test func behindAnotherDescriptor() throws {
    let found = try play(
      search,
      """
      > 04 1200 ffff
      < 05 01 1200 372a 1300 0129
      > 04 1400 ffff
      < 05 01 1400 0229 1500 0328
      """)
    #expect(found?.value == 0x0012 && found?.configuration == 0x0014)
  }

  /// The value of a declaration is the next attribute.
  @Test func ofADeclaration() throws {
    let found = try play(
      FindConfiguration(of: 0x0011)!,
      """
      > 04 1100 ffff
      < 05 01 1100 0328
      > 04 1200 ffff
      < 05 02 1300 00112233445566778899aabbccddeeff
      > 04 1400 ffff
      < 05 01 1500 0229
      """)
    #expect(found?.value == 0x0013 && found?.configuration == 0x0015)
  }

  @Test(arguments: [
    "05 01 1200 372a 1300 0129 1400 0328", "05 01 1200 372a 1300 0028", "01 04 1200 0a",
    "05 01 1200 0229", "05 01 1200 0328 1300 0229",
  ])
  func none(response: String) throws {
    #expect(try play(search, "> 04 1200 ffff\n< \(response)") == nil)
  }

  @Test func theEndsOfTheHandles() throws {
    #expect(FindConfiguration(of: 0) == nil)
    #expect(try play(FindConfiguration(of: .max)!, "> 04 ffff ffff\n< 05 01 ffff 372a") == nil)
  }

  @Test func lies() {
    #expect(throws: ProcedureError.violation(.notAdvancing(0x0014))) {
      try play(search, "> 04 1200 ffff\n< 05 01 1400 0129 1400 0229")
    }
  }
}
