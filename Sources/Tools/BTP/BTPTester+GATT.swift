import Atto
import AttoATT
import AttoGATT
import AttoRadio

// The GATT service, which holds a client and a server. auto-pts has replaced it by two services, but
// its suites still use it.
extension BTPService {
  /// auto-pts, doc/btp_gatt.txt.
  static let gattCommands =
    ([
      gatt.readSupportedCommands,
      BTPServiceCommand(0x02, "Add Service") { try $0.addService(&$2) },
      BTPServiceCommand(0x03, "Add Characteristic", except: "to the last service") {
        try $0.addCharacteristic(&$2)
      },
      BTPServiceCommand(0x04, "Add Descriptor", except: "to the last characteristic") {
        try $0.addDescriptor(&$2)
      },
      BTPServiceCommand(
        0x05, "Add Included Service", except: "before the characteristics of the service"
      ) {
        try $0.addIncludedService(&$2)
      },
      BTPServiceCommand(
        0x06, "Set Characteristic/Descriptor Value",
        except: "the length before Start Server is the longest that can be written"
      ) {
        try await $0.setValue(&$2)
      },
      BTPServiceCommand(0x07, "Start Server") { try await $0.startServer(&$2) },
      BTPServiceCommand(0x08, "Reset Server") { try await $0.resetServer(&$2) },
      BTPServiceCommand(0x09, "Set Required Encryption Key Size", except: "before Start Server") {
        try $0.setKeySize(&$2)
      },
      BTPServiceCommand(0x1C, "Get Attributes", except: "the first 255") {
        try $0.attributes(&$2)
      },
      BTPServiceCommand(0x1D, "Get Attribute Value", except: "not the Database Hash") {
        try await $0.attributeValue(&$2)
      },
      BTPServiceCommand(0x1E, "Change Database") { try await $0.changeDatabase(&$2) },
      BTPServiceCommand(0x1F, "Connect EATT Channels", except: "1 to 5 at a time") {
        try $0.connectBearers($1, &$2)
      },
      BTPServiceCommand(0x21, "Multiple Variable Length Notifications") {
        try $0.notifySeveral($1, &$2)
      },
      BTPServiceCommand(0x22, "Get Attribute Handle by UUID") { try $0.attributeHandle(&$2) },
      BTPServiceCommand(0x23, "Remove Service by Handle") { try await $0.removeService(&$2) },
    ] + BTPProcedure.Kind.allCases.map(gattCommand)).sorted { $0.opcode < $1.opcode }

  private static func gattCommand(_ kind: BTPProcedure.Kind) -> BTPServiceCommand {
    let name =
      kind == .readMultipleVariable
      ? "Read Multiple Variable Length Characteristic Values" : kind.name
    return BTPServiceCommand(kind.gattOpcode, name, except: kind.exception) {
      tester, command, parameters in
      let procedure = try BTPProcedure(kind, &parameters)
      let (peer, store) = (try tester.peer(procedure.peer), tester.store)
      tester.later(command) {
        let outcome = try await procedure.run(on: peer.connection, store: store)
        if kind == .exchangeMTU { await tester.lookAtMTU(of: peer) }
        return try outcome.forGATT()
      }
      return nil
    }
  }
}

extension BTPTester {
  fileprivate func addService(_ parameters: inout BTPParameters) throws(BTPStatus) -> [UInt8] {
    let isSecondary = try parameters.flag()
    let uuid = try parameters.uuid()
    try parameters.end()
    return try gatt.addService(uuid, isPrimary: !isSecondary).btp
  }

  fileprivate func addCharacteristic(
    _ parameters: inout BTPParameters
  ) throws(BTPStatus) -> [UInt8] {
    let service = try parameters.handle()
    let properties = try parameters.number(UInt8.self)
    let permissions = try parameters.number(UInt8.self)
    let uuid = try parameters.uuid()
    try parameters.end()
    return try gatt.addCharacteristic(
      to: service, uuid, properties: properties, permissions: permissions
    ).btp
  }

  fileprivate func addDescriptor(_ parameters: inout BTPParameters) throws(BTPStatus) -> [UInt8] {
    let characteristic = try parameters.handle()
    let permissions = try parameters.number(UInt8.self)
    let uuid = try parameters.uuid()
    try parameters.end()
    return try gatt.addDescriptor(to: characteristic, uuid, permissions: permissions).btp
  }

  fileprivate func addIncludedService(
    _ parameters: inout BTPParameters
  ) throws(BTPStatus) -> [UInt8] {
    let service = try parameters.handle()
    try parameters.end()
    return try gatt.addInclude(of: service).btp
  }

  fileprivate func setKeySize(_ parameters: inout BTPParameters) throws(BTPStatus) -> [UInt8] {
    let handle = try parameters.handle()
    let size = try parameters.number(UInt8.self)
    try parameters.end()
    guard (7...16).contains(size) else { throw .fail }
    try gatt.setKeySize(of: handle, to: size)
    return []
  }

  fileprivate func changeDatabase(_ parameters: inout BTPParameters) async throws -> [UInt8] {
    let (start, end) = (try parameters.handle(), try parameters.handle())
    let change = DatabaseChange(rawValue: try parameters.number())
    try parameters.end()
    let range = HandleRange(start, end)
    guard let change, range != nil || (!start.isValid && !end.isValid) else {
      throw BTPStatus.fail
    }
    try await changeDatabase(range, change)
    return []
  }

  fileprivate func connectBearers(
    _ command: BTPFrame, _ parameters: inout BTPParameters
  ) throws(BTPStatus) -> [UInt8]? {
    let peer = try peer(try parameters.address())
    let count = Int(try parameters.number(UInt8.self))
    try parameters.end()
    guard (1...ConnectionOptions.maximumEnhancedBearers).contains(count) else { throw .fail }
    later(command) {
      let before = try await peer.connection.bearers.count
      try await peer.connection.openBearers(count)
      if let obstacle = try await peer.connection.bearerObstacle { throw obstacle }
      guard try await peer.connection.bearers.count > before else { throw BTPStatus.fail }
      return []
    }
    return nil
  }

  fileprivate func attributeHandle(
    _ parameters: inout BTPParameters
  ) throws(BTPStatus) -> [UInt8] {
    let uuid = try parameters.uuid()
    try parameters.end()
    guard let row = gatt.rows.first(where: { $0.type == uuid }) else { throw .fail }
    return row.handle.btp
  }

  fileprivate func removeService(_ parameters: inout BTPParameters) async throws -> [UInt8] {
    let handle = try parameters.handle()
    try parameters.end()
    guard let service = ownService(containing: handle) else { throw BTPStatus.fail }
    try await removeService(service)
    return []
  }

  fileprivate func notifySeveral(
    _ command: BTPFrame, _ parameters: inout BTPParameters
  ) throws(BTPStatus) -> [UInt8]? {
    let address = try parameters.address()
    var handles: [AttributeHandle] = []
    for _ in 0..<(try parameters.number(UInt16.self)) { handles.append(try parameters.handle()) }
    try parameters.end()
    guard let client = clients.first(where: { $0.value.value == address.value })?.key else {
      throw .fail
    }
    var values: [(handle: AttributeHandle, value: [UInt8])] = []
    for handle in handles.map(gatt.valueHandle) {
      guard let value = server.valueNow(of: handle) else { throw .fail }
      values.append((handle, value))
    }
    let (server, wanted) = (server, values)
    later(command) {
      try await server.notify(wanted, to: client)
      return [0]
    }
    return nil
  }

  /// The Client Characteristic Configuration that a peer has written.
  func configuration(_ handle: AttributeHandle, of address: BluetoothAddress) -> [UInt8] {
    configurations[address.value]?[handle] ?? [0, 0]
  }
}
