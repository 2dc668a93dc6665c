import TestSupport
import AttoATT
import AttoGATT
import Testing

/// The discovery of a database, request by request.
@Suite(.sideBySide) struct DiscoverDatabaseTests {
  /// All stages with all that they have to find.
  @Test func allStages() throws {
    let database = try play(
      DiscoverDatabase(),
      """
      # Primary services.
      > 10 0100 ffff 0028
      < 11 06 0100 0300 0018 0800 1400 0d18
      > 10 1500 ffff 0028
      < 11 14 2000 2000 00112233445566778899aabbccddeeff
      > 10 2100 ffff 0028
      < 01 10 2100 0a
      # Secondary ones, where there is room.
      > 10 0400 ffff 0128
      < 11 06 0500 0700 0f18
      > 10 0800 ffff 0128
      < 01 10 0800 0a
      # Characteristics from the first service with room to the last one.
      > 08 0200 1400 0328
      < 09 07 0200 02 0300 002a 0600 02 0700 192a 0b00 10 0c00 372a
      > 08 0d00 1400 0328
      < 01 08 0d00 0a
      # Includes between a service's declaration and its first characteristic.
      > 08 0900 0a00 0228
      < 09 08 0900 0500 0700 0f18
      > 08 0a00 0a00 0228
      < 09 06 0a00 2000 2000
      # Descriptors after the one value that is not the last attribute of its service.
      > 04 0d00 1400
      < 05 01 0d00 0229 0e00 0129
      > 04 0f00 1400
      < 01 04 0f00 0a
      """)
    let long = BluetoothUUID(high: 0xFFEE_DDCC_BBAA_9988, low: 0x7766_5544_3322_1100)
    #expect(
      database.services == [
        Service(
          handle: 0x0001, endGroupHandle: 0x0003, uuid: .genericAccess,
          characteristics: [
            Characteristic(
              declarationHandle: 0x0002, valueHandle: 0x0003, endGroupHandle: 0x0003,
              properties: .read,
              uuid: .deviceName)
          ]),
        Service(
          handle: 0x0005, endGroupHandle: 0x0007, uuid: 0x180F, isPrimary: false,
          characteristics: [
            Characteristic(
              declarationHandle: 0x0006, valueHandle: 0x0007, endGroupHandle: 0x0007,
              properties: .read,
              uuid: 0x2A19)
          ]),
        Service(
          handle: 0x0008, endGroupHandle: 0x0014, uuid: 0x180D,
          includes: [
            IncludedService(handle: 9, startHandle: 5, endGroupHandle: 7, uuid: 0x180F),
            IncludedService(handle: 0x0A, startHandle: 0x20, endGroupHandle: 0x20, uuid: long),
          ],
          characteristics: [
            Characteristic(
              declarationHandle: 0x000B, valueHandle: 0x000C, endGroupHandle: 0x0014,
              properties: .notify,
              uuid: 0x2A37,
              descriptors: [
                Descriptor(handle: 0x000D, uuid: .clientCharacteristicConfiguration),
                Descriptor(handle: 0x000E, uuid: .characteristicUserDescription),
              ])
          ]),
        Service(handle: 0x0020, endGroupHandle: 0x0020, uuid: long),
      ])
    #expect(database.databaseHash == nil)
  }

  @Test func emptyServer() throws {
    let database = try play(
      DiscoverDatabase(),
      """
      > 10 0100 ffff 0028
      < 01 10 0100 0a
      > 10 0100 ffff 0128
      < 01 10 0100 0a
      """)
    #expect(database == RemoteDatabase(services: []))
  }

  /// Where primary services leave no room nothing else is asked.
  @Test func oneEmptyServiceAtTheVeryEnd() throws {
    let database = try play(
      DiscoverDatabase(),
      """
      > 10 0100 ffff 0028
      < 11 06 ffff ffff 0018
      > 10 0100 feff 0128
      < 01 10 0100 0a
      """)
    #expect(database.services.map(\.handle) == [0xFFFF])
  }

  /// No secondary service fits, nor any include.
  @Test func serviceThatFillsEverything() throws {
    let database = try play(
      DiscoverDatabase(),
      """
      > 10 0100 ffff 0028
      < 11 06 0100 0100 0018 0200 ffff 0118
      > 08 0300 ffff 0328
      < 09 07 0300 20 0400 052a
      > 08 0500 ffff 0328
      < 01 08 0500 0a
      > 04 0500 ffff
      < 05 01 0500 0229
      > 04 0600 ffff
      < 01 04 0600 0a
      """)
    #expect(database.characteristics(.serviceChanged).first?.cccd?.handle == 0x0005)
  }

  /// Two services reach to the end without a gap: secondary ones can be before them only.
  @Test func roomBeforeTheLastServices() throws {
    _ = try play(
      DiscoverDatabase(),
      """
      > 10 0100 ffff 0028
      < 11 06 0100 0100 0018 1000 1000 0118 1100 ffff 0118
      > 10 0200 0f00 0128
      < 01 10 0200 10
      > 08 1200 ffff 0328
      < 01 08 1200 0a
      > 08 1200 ffff 0228
      < 01 08 1200 0a
      """)
  }

  /// An include after a characteristic is not where it should be, but found.
  @Test func includeAfterACharacteristic() throws {
    let database = try play(
      DiscoverDatabase(),
      """
      > 10 0100 ffff 0028
      < 11 06 0100 ffff 0018
      > 08 0200 ffff 0328
      < 09 07 0200 02 0300 002a
      > 08 0400 ffff 0328
      < 01 08 0400 0a
      > 04 0400 ffff
      < 05 01 0400 0129 0500 0228 0600 0228
      > 04 0700 ffff
      < 01 04 0700 0a
      > 08 0500 0600 0228
      < 09 08 0500 3000 3500 0a18
      > 08 0600 0600 0228
      < 09 06 0600 0100 ffff
      """)
    #expect(database.services[0].includes.map(\.handle) == [5, 6])
    #expect(database.services[0].includes.map(\.uuid) == [0x180A, 0x1800])
    #expect(database.services[0].characteristics[0].descriptors.map(\.handle) == [4])
  }

  /// Attributes that belong to nothing are passed over.
  @Test func strayAttributes() throws {
    let database = try play(
      DiscoverDatabase(), mtu: 64,
      """
      > 10 0100 ffff 0028
      < 11 06 0100 0500 0018 0800 ffff 0018
      > 10 0600 0700 0128
      < 01 10 0600 0a
      > 08 0200 ffff 0328
      < 09 07 0200 02 0300 002a 0a00 02 0c00 002a
      > 08 0d00 ffff 0328
      < 01 08 0d00 0a
      > 08 0900 0900 0228
      < 01 08 0900 0a
      > 04 0400 ffff
      < 05 01 0400 0129 0600 0129 0800 0028 0900 0129 0a00 0328 0b00 0129 0c00 002a 0d00 0129
      > 04 0e00 ffff
      < 01 04 0e00 0a
      """)
    let characteristics = database.characteristics(.deviceName)
    #expect(characteristics.map { $0.descriptors.map(\.handle) } == [[4], [0x0D]])
  }

  /// Two services with a characteristic each, up to the search for descriptors at MTU 64.
  static let beforeDescriptors = """
    > 10 0100 ffff 0028
    < 11 06 0100 0500 0018 0600 ffff 0118
    > 08 0200 ffff 0328
    < 09 07 0200 02 0300 002a 0700 02 0800 012a
    > 08 0900 ffff 0328
    < 01 08 0900 0a

    """

  /// Every stage's refusal is told, with code 0x00 too (H27), and ends the discovery.
  @Test func everyOtherErrorIsAFailure() {
    let stages: [(String, String, Opcode)] = [
      ("", "> 10 0100 ffff 0028\n< 01 10 0100", .readByGroupTypeRequest),
      (
        "> 10 0100 ffff 0028\n< 11 06 0200 ffff 0018\n",
        "> 10 0100 0100 0128\n< 01 10 0100", .readByGroupTypeRequest
      ),
      (
        "> 10 0100 ffff 0028\n< 11 06 0100 ffff 0018\n",
        "> 08 0200 ffff 0328\n< 01 08 0100", .readByTypeRequest
      ),
      (
        """
        > 10 0100 ffff 0028
        < 11 06 0100 ffff 0018
        > 08 0200 ffff 0328
        < 01 08 0200 0a

        """, "> 08 0200 ffff 0228\n< 01 08 0100", .readByTypeRequest
      ),
      (Self.beforeDescriptors, "> 04 0400 ffff\n< 01 04 0100", .findInformationRequest),
    ]
    for (before, failure, opcode) in stages {
      for code in UInt8.min...UInt8.max where code != 0x0A {
        // A server may not know secondary services.
        if code == 0x10, opcode == .readByGroupTypeRequest, !before.isEmpty { continue }
        #expect(throws: refusal(opcode, 0x0001, ErrorCode(code))) {
          try play(DiscoverDatabase(), mtu: 64, "\(before)\(failure) \(hexText([code]))")
        }
      }
    }
  }

  @Test func limits() {
    let two = "> 10 0100 ffff 0028\n< 11 06 0500 0500 0018 0600 ffff 0018\n"
    // Primary and secondary services together.
    #expect(throws: ProcedureError.limit(.services, 2)) {
      try play(
        DiscoverDatabase(limits: DiscoveryLimits(services: 2)),
        two + "> 10 0100 0400 0128\n< 11 06 0100 0400 0018")
    }
    // The requests of all stages together.
    #expect(throws: ProcedureError.limit(.requests, 2)) {
      try play(
        DiscoverDatabase(limits: DiscoveryLimits(requests: 2)),
        two + "> 10 0100 0400 0128\n< 01 10 0100 0a")
    }
    #expect(throws: ProcedureError.limit(.characteristics, 1)) {
      try play(
        DiscoverDatabase(limits: DiscoveryLimits(characteristics: 1)), mtu: 64,
        """
        > 10 0100 ffff 0028
        < 11 06 0100 ffff 0018
        > 08 0200 ffff 0328
        < 09 07 0200 02 0300 002a 0700 02 0800 012a
        """)
    }
    #expect(throws: ProcedureError.limit(.descriptors, 1)) {
      try play(
        DiscoverDatabase(limits: DiscoveryLimits(descriptors: 1)), mtu: 64,
        Self.beforeDescriptors + "> 04 0400 ffff\n< 05 01 0400 0129 0500 0129")
    }
  }

  /// A characteristic for each pair of handles, or a descriptor for each handle: the standard limits
  /// admit both.
  @Test(arguments: [true, false]) func theLargestDatabase(hasDescriptors: Bool) throws {
    func respond(to request: [UInt8]) -> [UInt8] {
      let start = Int(request[1]) | Int(request[2]) << 8
      var (head, entries): ([UInt8], [[UInt8]]) = ([], [])
      func list(_ handles: some Sequence<Int>, _ entry: (UInt8, UInt8) -> [UInt8]) {
        entries = handles.prefix(60).map { entry(UInt8($0 & 0xFF), UInt8($0 >> 8)) }
      }
      if request == [0x10, 1, 0, 0xFF, 0xFF, 0, 0x28] {
        (head, entries) = ([0x11, 6], [[1, 0, 0xFF, 0xFF, 0, 0x18]])
      } else if request[0] == 0x08, request.suffix(2) == [3, 0x28] {
        head = [0x09, 7]
        let last = hasDescriptors ? 2 : 0xFFFE
        list(stride(from: max(2, start + start % 2), through: last, by: 2)) {
          [$0, $1, 2, $0 | 1, $1, 0, 0x2A]
        }
      } else if request[0] == 0x04 {
        head = [0x05, 1]
        list(start...0xFFFF) {
          [$0, $1, $0 == 3 && $1 == 0 ? 0 : 1, $0 == 3 && $1 == 0 ? 0x2A : 0x29]
        }
      }
      return entries.isEmpty
        ? [1, request[0], request[1], request[2], 0x0A] : head + entries.joined()
    }
    var discovery = DiscoverDatabase()
    var found: RemoteDatabase?
    while found == nil {
      let request = try encoded(mtu: 517) { (out) throws(ProcedureError) in
        try discovery.encodeRequest(into: &out)
      }
      let response = respond(to: request)
      let step = try discovery.receive(PDU(response.span.bytes, mtu: 517), mtu: 517)
      if case .finished(let database) = step { found = database }
    }
    let characteristics = try #require(found?.services.first).characteristics
    #expect(characteristics.count == (hasDescriptors ? 1 : 32_767))
    #expect(characteristics[0].descriptors.count == (hasDescriptors ? 65_532 : 0))
  }

  /// The server changes everything in the middle: discovery ends, with what fits together or an
  /// error.
  @Test func databaseThatChangesInMidDiscovery() throws {
    var changed = 0
    for seed in UInt64(1)...300 {
      var random = SplitMix64(seed: seed)
      let before = RemoteDatabase.random(using: &random)
      var server = ModelServer(before)
      let other = ModelServer(RemoteDatabase.random(using: &random))
      let moment = random.number(1...8)
      var procedure = DiscoverDatabase()
      do throws(ProcedureError) {
        while true {
          if server.requests.count == moment { server.attributes = other.attributes }
          let request = try procedure.request(mtu: 64)
          let response = server.respond(to: request, mtu: 64)
          if case .finished = try procedure.receive(octets: response, mtu: 64) { break }
        }
      } catch {
        changed += 1
        guard case .violation = error else {
          Issue.record("seed \(seed): \(error)")
          continue
        }
      }
    }
    #expect(changed > 100)
  }
}
