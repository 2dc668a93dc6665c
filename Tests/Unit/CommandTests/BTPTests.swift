import AttoATT
import AttoGATT
import AttoRadio
import FoundationEssentials
import TestSupport
import Testing

@testable import AttoBTP
@testable import AttoCommandLine

@Suite(.oneByOne) struct BTPFrameTests {
  /// Frames arrive whole, in pieces of each length, and together.
  @Test(arguments: [1, 2, 4, 5, 6, 7, 100, 100_000]) func pieces(_ size: Int) {
    let frames = [0, 1, 5, 255, 256, 70, 0xFFFF, 0].map { length in
      BTPFrame(
        service: UInt8(length & 0x7F), opcode: 3, index: 0xFF,
        parameters: (0..<length).map { UInt8(truncatingIfNeeded: $0 * 7) })
    }
    let stream = frames.flatMap(\.octets)
    var reader = BTPFrameReader()
    var found: [BTPFrame] = []
    for start in stride(from: 0, to: stream.count, by: size) {
      reader.append(Array(stream[start..<min(start + size, stream.count)]))
      while let frame = reader.next() { found.append(frame) }
    }
    #expect(found == frames)
    #expect(!reader.isInFrame)
  }

  /// Every stream of up to three octets, and every header, is a beginning or a whole frame.
  @Test func shortStreams() {
    for length in 1...3 {
      for value in 0..<(1 << (8 * min(length, 2))) {
        var reader = BTPFrameReader()
        reader.append((0..<length).map { UInt8(truncatingIfNeeded: value >> (8 * min($0, 1))) })
        #expect(reader.next() == nil)
        #expect(reader.isInFrame)
      }
    }
    for length in 0...0xFFFF {
      var reader = BTPFrameReader()
      reader.append([1, 2, 3] + UInt16(length).octets(2))
      let wanted = BTPFrame(service: 1, opcode: 2, index: 3)
      if reader.next() != (length == 0 ? wanted : nil) { Issue.record("\(length)") }
    }
  }

  @Test func responses() {
    let command = BTPFrame(service: 2, opcode: 0x11, index: 4, parameters: [1])
    #expect(command.response([7, 8]).octets == [2, 0x11, 4, 2, 0, 7, 8])
    #expect(command.response(.invalidIndex).octets == [2, 0, 4, 1, 0, 4])
  }
}

@Suite(.oneByOne) struct BTPParametersTests {
  @Test func fields() throws {
    var parameters = BTPParameters(
      [1, 0x55, 4, 3, 2, 1, 0xC0, 0x12, 0x34, 2, 0x0D, 0x18, 0, 1, 2, 1, 0, 2, 0, 2, 0, 9, 8])
    #expect(try parameters.address().description == "C0:01:02:03:04:55/random")
    #expect(try parameters.handle() == 0x3412)
    #expect(try parameters.uuid() == BluetoothUUID(0x180D))
    #expect(try parameters.optionalUUID() == nil)
    #expect(try parameters.flag())
    #expect(try parameters.handles() == [1, 2])
    #expect(throws: BTPStatus.fail) { try parameters.end() }
    #expect(try parameters.value() == [9, 8])
    try parameters.end()
    #expect(throws: BTPStatus.fail) { try parameters.octets(1) }
  }

  @Test func wrongFields() {
    func fails(_ octets: [UInt8], _ read: (inout BTPParameters) throws(BTPStatus) -> Void) {
      var parameters = BTPParameters(octets)
      #expect(throws: BTPStatus.fail) { try read(&parameters) }
    }
    fails([2]) { (p) throws(BTPStatus) in _ = try p.flag() }
    fails([2] + [UInt8](repeating: 0, count: 6)) { (p) throws(BTPStatus) in _ = try p.address() }
    fails([0, 1, 2, 3, 4, 5]) { (p) throws(BTPStatus) in _ = try p.address() }
    fails([0]) { (p) throws(BTPStatus) in _ = try p.uuid() }
    fails([4, 0, 0, 0, 0]) { (p) throws(BTPStatus) in _ = try p.uuid() }
    fails([16, 0, 0]) { (p) throws(BTPStatus) in _ = try p.uuid() }
    fails([5, 0, 4, 0]) { (p) throws(BTPStatus) in _ = try p.range() }
    fails([0, 0, 4, 0]) { (p) throws(BTPStatus) in _ = try p.range() }
    fails([2, 1, 0, 2]) { (p) throws(BTPStatus) in _ = try p.handles() }
    fails([3, 0, 1, 2]) { (p) throws(BTPStatus) in _ = try p.value() }
  }

  /// Procedures read any parameters without a trap, and write them back where they are valid.
  @Test func randomProcedures() {
    var generator = SplitMix64(seed: testSeed())
    for _ in 0..<20_000 {
      let octets = (0..<Int.random(in: 0...24, using: &generator)).map { _ in
        UInt8.random(in: 0...3, using: &generator)
      }
      for kind in BTPProcedure.Kind.allCases {
        var parameters = BTPParameters(octets)
        _ = try? BTPProcedure(kind, &parameters)
      }
    }
  }

  @Test func lists() {
    #expect([[UInt8]]().btpList == [0])
    #expect([[1, 2], [3]].btpList == [2, 1, 2, 3])
    #expect([[UInt8]](repeating: [9], count: 300).btpList.count == 256)
    let long = [[UInt8]](repeating: [UInt8](repeating: 0, count: 1000), count: 100).btpList
    #expect(long[0] == 65)
    #expect(long.count == 65_001)
    #expect([UInt8](repeating: 1, count: 70_000).btpValue.count <= 0xFFFF)
  }
}

@Suite(.oneByOne) struct BTPDatabaseTests {
  @Test func permissions() {
    #expect(AttributePermissions(btp: 0) == AttributePermissions())
    #expect(AttributePermissions(btp: 0x03) == .readWrite)
    #expect(
      AttributePermissions(btp: 0x24)
        == AttributePermissions(
          read: .requires(.init(security: .medium)), write: .requires(.init(security: .high))))
    #expect(
      AttributePermissions(btp: 0xD0)
        == AttributePermissions(
          read: .requires(.init(security: .high, authorization: true)),
          write: .requires(.init(authorization: true))))
  }

  @Test func draft() throws {
    var database = BTPDatabase()
    database.begin([.init(handle: 1, permissions: 1, type: .primaryService)])
    let service = try database.addService(BluetoothUUID(0x180D), isPrimary: true)
    #expect(service == 2)
    #expect(try database.addInclude(of: 1) == 3)
    #expect(throws: BTPStatus.fail) { try database.addInclude(of: 2) }
    #expect(throws: BTPStatus.fail) {
      try database.addDescriptor(to: 0, .reportReference, permissions: 1)
    }
    #expect(throws: BTPStatus.fail) {
      try database.addCharacteristic(to: 1, BluetoothUUID(1), properties: 2, permissions: 1)
    }
    let characteristic = try database.addCharacteristic(
      to: service, BluetoothUUID(1), properties: 2, permissions: 0x04)
    #expect(characteristic == 4)
    #expect(throws: BTPStatus.fail) { try database.addInclude(of: 1) }
    try database.setKeySize(of: 0, to: 16)
    #expect(
      database.draft[0].characteristics[0].permissions.read
        == .requires(.init(security: .medium, keySize: 16)))
    #expect(try database.addDescriptor(to: 5, .reportReference, permissions: 1) == 6)
    #expect(throws: BTPStatus.fail) { try database.setKeySize(of: 0, to: 16) }
    #expect(try database.setValue(of: 4, to: [1, 2]))
    #expect(
      database.draft[0].characteristics[0].value
        == .stored([1, 2], ValueLimits(maximumLength: 2)))
    #expect(try database.setValue(of: 0, to: [3]))
    #expect(try !database.setValue(of: 1, to: [3]))
    #expect(throws: BTPStatus.fail) {
      try database.setValue(of: 5, to: [UInt8](repeating: 0, count: 513))
    }
    // A service declaration has no value that can be set.
    #expect(throws: BTPStatus.fail) { try database.setValue(of: 2, to: [1]) }
    database.started()
    #expect(database.services == [HandleRange(2, 6)])
    #expect(database.valueHandle(4) == 5)
    #expect(database.valueHandle(5) == 5)
    #expect(database.next == 7)
  }

  @Test func handlesRunOut() throws {
    var database = BTPDatabase()
    database.begin([.init(handle: 0xFFFC, permissions: 1, type: .primaryService)])
    _ = try database.addService(BluetoothUUID(1), isPrimary: true)
    _ = try database.addCharacteristic(to: 0, BluetoothUUID(1), properties: 2, permissions: 1)
    #expect(throws: BTPStatus.fail) { try database.addService(BluetoothUUID(1), isPrimary: true) }
    database.dropDraft()
    #expect(database.next == 0xFFFD)
    _ = try database.addService(BluetoothUUID(1), isPrimary: true)
    _ = try database.addService(BluetoothUUID(1), isPrimary: true)
    // A declaration without a value is refused as a whole.
    #expect(throws: BTPStatus.fail) {
      try database.addCharacteristic(to: 0, BluetoothUUID(1), properties: 2, permissions: 1)
    }
    #expect(database.next == 0xFFFF)
  }
}

@Suite(.oneByOne) struct BTPServiceTests {
  @Test func tables() {
    for service in BTPService.allCases {
      let opcodes = service.commands.map(\.opcode)
      #expect(opcodes == opcodes.sorted() && Set(opcodes).count == opcodes.count)
      #expect(service.commands.first?.opcode == 1)
    }
    #expect(BTPService.core.supportedCommands == [0b0111_1110])
    #expect(BTPService.l2cap.supportedCommands == [0b1011_1110, 0b0001_1000])
    #expect(BTPService.supportedServices == [0b1100_1111])
  }

  /// The page lists what the code supports.
  @Test func page() throws {
    let file = Fixtures.folder.deletingLastPathComponent()
      .appending(path: "Sources/Tools/atto/atto.docc/BTP.md")
    let text = try String(contentsOf: file, encoding: .utf8)
    for service in BTPService.allCases {
      let title = "### \(service.name) (\(service.rawValue))"
      let rows = service.commands.map { command in
        let note = command.note.isEmpty ? "" : ": \(command.note)"
        return "| \(command.name) | \(command.support)\(note) |"
      }
      let table =
        ([title, "", "| Command | Supported |", "|---|---|"] + rows)
        .joined(separator: "\n") + "\n"
      if !text.contains(table) { Issue.record("BTP.md differs from the code:\n\(table)") }
    }
  }
}
