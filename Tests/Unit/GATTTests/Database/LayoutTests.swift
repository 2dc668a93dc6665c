import TestSupport
import AttoATT
import AttoGATT
import Testing

/// Where attributes come to stand, and what cannot stand anywhere.
@Suite(.sideBySide) struct LayoutTests {
  private func characteristic(
    _ uuid: BluetoothUUID = 0x2A00, _ properties: CharacteristicProperties = .read,
    handle: AttributeHandle? = nil, valueHandle: AttributeHandle? = nil,
    descriptors: [DescriptorDefinition] = []
  ) -> CharacteristicDefinition {
    CharacteristicDefinition(
      uuid, properties: properties, handle: handle, valueHandle: valueHandle,
      descriptors: descriptors)
  }

  @Test func findsCharacteristicsByUUID() throws {
    var database = Database()
    let layout = try database.add(
      ServiceDefinition(
        0x180D,
        characteristics: [
          characteristic(0x2A37, .notify), characteristic(0x2A38), characteristic(0x2A38),
        ]))
    #expect(layout[0x2A37] == layout.characteristics[0])
    #expect(layout[0x2A37].valueHandle == 3)
    #expect(layout[0x2A37].configurationHandle == 4)
    // The first of several.
    #expect(layout[0x2A38].valueHandle == 6)
    #expect(layout[0x2A38].configurationHandle == nil)
  }

  @Test func trapsForCharacteristicsThatAreNotThere() async throws {
    let result = try await #require(
      processExitsWith: .failure, observing: [\.standardErrorContent]
    ) {
      var database = Database()
      let layout = try database.add(
        ServiceDefinition(
          0x180D,
          characteristics: [
            CharacteristicDefinition(0x2A37, properties: .notify),
            CharacteristicDefinition(0x2A38, properties: .read),
          ]))
      _ = layout[0x2A39]
    }
    let message = String(decoding: result.standardErrorContent, as: UTF8.self)
    #expect(
      message.contains("the service has no characteristic 2A39: it has 2A37, 2A38"), "\(message)")
  }

  @Test func automaticHandlesFollowEachOther() throws {
    var database = Database()
    #expect(database.freeHandle == 1)
    let first = try database.add(
      ServiceDefinition(
        0x1800,
        characteristics: [
          characteristic(), characteristic(0x2A01, [.notify, .indicate]),
          characteristic(
            0x2A02, .notify,
            descriptors: [
              DescriptorDefinition(.characteristicUserDescription),
              DescriptorDefinition(.clientCharacteristicConfiguration, permissions: .readWrite),
            ]),
        ]))
    #expect(first.range == HandleRange(1, 10))
    #expect(first.characteristics.map(\.declarationHandle) == [2, 4, 7])
    #expect(first.characteristics.map(\.valueHandle) == [3, 5, 8])
    #expect(first.characteristics.map(\.configurationHandle) == [nil, 6, 10])
    #expect(first.characteristics.map(\.descriptorHandles) == [[], [6], [9, 10]])
    let second = try database.add(ServiceDefinition(0x1801))
    #expect(second.range == HandleRange(11, 11))
    #expect(database.freeHandle == 12)
    #expect(database.count == 11)
    #expect(database.value(of: 2) == [0x02, 0x03, 0x00, 0x00, 0x2A])
    #expect(database.value(of: 1) == [0x00, 0x18])
    #expect(database.value(of: 6) == nil)
    #expect(database.configuration(ofValue: 8) == 10)
    #expect(database.service(containing: 10) == 1)
    #expect(database.service(containing: 12) == nil)
    #expect(database.handles(of: .characteristic) == [2, 4, 7])
  }

  @Test func givenHandlesAreHonoured() throws {
    var database = Database()
    let layout = try database.add(
      ServiceDefinition(
        0x1800, handle: 0x0010, endHandle: 0x001F,
        includes: [
          IncludeDefinition(
            service: 0x0100, handle: 0x0012,
            target: IncludeDefinition.Target(endHandle: 0x0110, uuid: 0x1801))
        ],
        characteristics: [
          characteristic(handle: 0x0014, valueHandle: 0x0016),
          characteristic(
            descriptors: [
              DescriptorDefinition(0x2901, handle: 0x001E), DescriptorDefinition(0x2905),
            ]),
        ]))
    #expect(layout.range == HandleRange(0x10, 0x1F))
    #expect(layout.characteristics.map(\.valueHandle) == [0x16, 0x18])
    #expect(layout.characteristics[1].descriptorHandles == [0x1E, 0x1F])
    #expect(database.value(of: 0x0012) == [0x00, 0x01, 0x10, 0x01, 0x01, 0x18])
    for hole: AttributeHandle in [0x0F, 0x11, 0x13, 0x15, 0x19, 0x20] {
      #expect(database.type(of: hole) == nil)
    }
    #expect(database.freeHandle == 0x20)
  }

  @Test func theLastHandle() throws {
    var database = Database()
    try database.add(
      ServiceDefinition(
        0x1800, handle: 0xFFFD, characteristics: [characteristic(handle: 0xFFFE)]))
    #expect(database.type(of: 0xFFFF) == 0x2A00)
    #expect(database.freeHandle == nil)
    #expect(throws: DatabaseError.noHandlesLeft) {
      try database.add(ServiceDefinition(0x1801))
    }
    // There is room below.
    try database.add(ServiceDefinition(0x1801, handle: 1))
    #expect(database.count == 4)
  }

  @Test func aServiceOfOneHandleAtTheEnd() throws {
    var database = Database()
    try database.add(ServiceDefinition(0x1800, handle: 0xFFFF))
    let station = TestSession(database)
    station.play(
      """
      > 10 0100 ffff 0028
      < 11 06 ffff ffff 0018
      > 10 ffff ffff 0028
      < 11 06 ffff ffff 0018
      > 04 ffff ffff
      < 05 01 ffff 0028
      > 06 0100 ffff 0028 0018
      < 07 ffff ffff
      """)
  }

  @Test func whatDoesNotFit() throws {
    var database = Database()
    try database.add(ServiceDefinition(0x1800, handle: 0x0010, endHandle: 0x0020))
    try database.add(
      ServiceDefinition(0x1801, handle: 0x0030, characteristics: [characteristic()]))
    let before = database
    func refuses(_ error: DatabaseError, _ service: ServiceDefinition) {
      #expect(throws: error) { try database.add(service) }
      #expect(database.count == before.count && database.revision == before.revision)
    }
    refuses(.handleTaken(0x0010), ServiceDefinition(1, handle: 0x0010))
    refuses(.handleTaken(0x0015), ServiceDefinition(1, handle: 0x0015))
    refuses(.handleTaken(0x0020), ServiceDefinition(1, handle: 0x0020))
    refuses(.handleTaken(0x0010), ServiceDefinition(1, handle: 0x000F, endHandle: 0x0010))
    refuses(.handleTaken(0x0030), ServiceDefinition(1, handle: 0x0021, endHandle: 0x0031))
    refuses(
      .handleTaken(0x0030),
      ServiceDefinition(1, handle: 0x002E, characteristics: [characteristic()]))
    refuses(.handleOutOfRange(0), ServiceDefinition(1, handle: 0))
    refuses(.handleOutOfRange(0x0022), ServiceDefinition(1, handle: 0x0022, endHandle: 0x0021))
    refuses(
      .handleOutOfRange(0x0024),
      ServiceDefinition(
        1, handle: 0x0022, endHandle: 0x0023, characteristics: [characteristic()]))
    refuses(
      .handleOutOfOrder(0x0021),
      ServiceDefinition(1, handle: 0x0022, characteristics: [characteristic(handle: 0x0021)]))
    refuses(
      .handleOutOfOrder(0x0040),
      ServiceDefinition(
        1, handle: 0x0040,
        characteristics: [characteristic(handle: 0x0041, valueHandle: 0x0040)]))
    refuses(
      .handleOutOfRange(0),
      ServiceDefinition(1, characteristics: [characteristic(valueHandle: 0)]))
    refuses(
      .noHandlesLeft,
      ServiceDefinition(1, handle: 0xFFFF, characteristics: [characteristic()]))
    refuses(
      .noSuchService(0x0031),
      ServiceDefinition(1, includes: [IncludeDefinition(service: 0x0031)]))
    refuses(
      .valueTooLong(0x0102, 513, limit: 512),
      ServiceDefinition(
        1,
        characteristics: [
          CharacteristicDefinition(
            2, properties: .read, value: .constant([UInt8](repeating: 0, count: 513)))
        ]
      ).at(0x0100))
    refuses(
      .valueTooLong(0x0102, 3, limit: 2),
      ServiceDefinition(
        1,
        characteristics: [
          CharacteristicDefinition(
            2, properties: .read, value: .stored([1, 2, 3], ValueLimits(maximumLength: 2)))
        ]
      ).at(0x0100))
    // A gap of the right size is filled.
    try database.add(ServiceDefinition(2, handle: 0x0021, endHandle: 0x002F))
  }

  @Test func includesKeepTheirService() throws {
    var database = Database()
    try database.add(ServiceDefinition(0x1800))
    let including = try database.add(
      ServiceDefinition(0x1801, includes: [IncludeDefinition(service: 1)]))
    #expect(database.value(of: 3) == [1, 0, 1, 0, 0, 0x18])
    #expect(throws: DatabaseError.included(by: including.range.start)) {
      try database.remove(service: 1)
    }
    try database.remove(service: including.range.start)
    try database.remove(service: 1)
    #expect(database.count == 0)
    #expect(throws: DatabaseError.noSuchService(1)) { try database.remove(service: 1) }
  }

  @Test func onlyServicesAreRemoved() throws {
    var database = Database(service(0x1800, at: 1, characteristic()))
    for handle: AttributeHandle in [0, 2, 3, 4] {
      #expect(throws: DatabaseError.noSuchService(handle)) {
        try database.remove(service: handle)
      }
    }
    #expect(try database.remove(service: 1) == HandleRange(1, 3))
    #expect(database.freeHandle == 1)
  }

  @Test func aFixedLengthIsKept() throws {
    var database = Database(
      service(0x1800, at: 1, value(1, .stored([1, 2], ValueLimits(isFixedLength: true)))))
    try database.setValue(of: 3, to: [3, 4])
    for wrong in [[], [5], [5, 6, 7]] as [[UInt8]] {
      #expect(throws: DatabaseError.wrongLength(3, wrong.count, fixed: 2)) {
        try database.setValue(of: 3, to: wrong)
      }
    }
    #expect(database.value(of: 3) == [3, 4])
  }

  @Test func valuesAreSetWithinTheirLimits() throws {
    var database = Database(
      service(
        0x1800, at: 1, value(1, .stored([1], ValueLimits(maximumLength: 3))),
        value(2, .constant([2])), value(3, .application(ValueLimits())),
        CharacteristicDefinition(4, properties: .notify)))
    try database.setValue(of: 3, to: [1, 2, 3])
    #expect(database.value(of: 3) == [1, 2, 3])
    #expect(throws: DatabaseError.valueTooLong(3, 4, limit: 3)) {
      try database.setValue(of: 3, to: [1, 2, 3, 4])
    }
    try database.setValue(of: 5, to: [])
    #expect(database.value(of: 5) == [])
    #expect(throws: DatabaseError.valueTooLong(5, 513, limit: 512)) {
      try database.setValue(of: 5, to: [UInt8](repeating: 0, count: 513))
    }
    for handle: AttributeHandle in [0, 1, 2, 7, 10, 99] {
      #expect(throws: DatabaseError.noSuchValue(handle)) {
        try database.setValue(of: handle, to: [])
      }
    }
  }

  /// Services come and go in any order; the table stays what a list of attributes would be.
  @Test(arguments: [1, 2, 3] as [UInt64]) func isAList(seed: UInt64) throws {
    var random = SplitMix64(seed: seed)
    var database = Database()
    var model: [UInt16: [(handle: UInt16, type: UInt16)]] = [:]
    for _ in 0..<600 {
      let start = UInt16.random(in: 1...400, using: &random)
      if Int.random(in: 0..<3, using: &random) == 0,
        let victim = model.keys.sorted().randomElement(using: &random)
      {
        try database.remove(service: AttributeHandle(victim))
        model[victim] = nil
      } else {
        let count = UInt16.random(in: 0...4, using: &random)
        let gap = UInt16.random(in: 0...2, using: &random)
        var rows: [(handle: UInt16, type: UInt16)] = [(start, 0x2800)]
        var characteristics: [CharacteristicDefinition] = []
        var next = start + 1
        for index in 0..<count {
          next += gap
          rows += [(next, 0x2803), (next + 1, 0xA000 + index % 2)]
          characteristics.append(
            CharacteristicDefinition(
              BluetoothUUID(0xA000 + index % 2), properties: .read,
              handle: AttributeHandle(next)))
          next += 2
        }
        let range = start...(next - 1)
        let isFree = !model.values.contains { other in
          let taken = other[0].handle...other[other.count - 1].handle
          return taken.overlaps(range)
        }
        let added: Bool
        do {
          try database.add(
            ServiceDefinition(
              1, handle: AttributeHandle(start), characteristics: characteristics))
          added = true
        } catch { added = false }
        #expect(added == isFree, "seed \(seed)")
        if added { model[start] = rows }
      }
      let all = model.values.flatMap { $0 }.sorted { $0.handle < $1.handle }
      #expect(database.count == all.count)
      for type: UInt16 in [0x2800, 0x2803, 0xA000, 0xA001] {
        #expect(
          database.handles(of: BluetoothUUID(type)).map(\.rawValue)
            == all.filter { $0.type == type }.map(\.handle), "seed \(seed)")
      }
    }
    let all = model.values.flatMap { $0 }
    for handle in UInt16(0)...420 {
      let type = all.first { $0.handle == handle }.map { BluetoothUUID($0.type) }
      #expect(database.type(of: AttributeHandle(handle)) == type, "seed \(seed)")
    }
  }

  /// The largest database there can be, without and with gaps. Lookups that went through all
  /// attributes would take minutes.
  @Test(.timeLimit(.minutes(1))) func aFullDatabase() throws {
    var database = Database()
    let count = 3000
    for index in 0..<count {
      // A service of 21 attributes; every second one ends with a gap of one.
      let isGapped = index % 2 == 1
      let start = AttributeHandle(UInt16(1 + index * 21 + index / 2))
      try database.add(
        ServiceDefinition(
          BluetoothUUID(UInt16(index)), handle: start,
          endHandle: AttributeHandle(start.rawValue + 20 + (isGapped ? 1 : 0)),
          characteristics: (0..<10).map { _ in characteristic(0x2A19) }))
    }
    #expect(database.count == 63_000)
    var found = 0
    for handle in UInt16.min...UInt16.max where database.type(of: AttributeHandle(handle)) != nil {
      found += 1
    }
    #expect(found == 63_000)
    #expect(database.handles(of: 0x2A19).count == 30_000)
    let station = TestSession(database)
    let last = try #require(database.handles(of: .primaryService).last)
    let start = hexText([UInt8(last.rawValue & 0xFF), UInt8(last.rawValue >> 8)])
    #expect(station.send("10 \(start) ffff 0028").first?.hasPrefix("11 06 \(start)") == true)
  }

  /// 65,535 attributes, one after another.
  @Test(.timeLimit(.minutes(1))) func everyHandleIsTaken() throws {
    var database = Database()
    // 1 + 2 * 32767 = 65535.
    try database.add(
      ServiceDefinition(
        0x1800,
        characteristics: (0..<32_767).map { _ in characteristic(0x2A19) }))
    #expect(database.count == 65_535)
    #expect(database.freeHandle == nil)
    #expect(database.type(of: 0xFFFF) == 0x2A19)
    #expect(database.service(containing: 0xFFFF) == 1)
    let station = TestSession(database)
    station.play(
      """
      > 10 0100 ffff 0028
      < 11 06 0100 ffff 0018
      > 08 feff ffff 0328
      < 09 07 feff 02 ffff 192a
      > 04 ffff ffff
      < 05 01 ffff 192a
      > 06 0100 ffff 0028 0018
      < 07 0100 ffff
      """)
    // A type that no attribute has. A search through all attributes would take minutes.
    for _ in 0..<10_000 { station.send("08 01 00 ff ff 01 00") }
  }
}

extension ServiceDefinition {
  func at(_ handle: AttributeHandle) -> ServiceDefinition {
    var definition = self
    definition.handle = handle
    return definition
  }
}
