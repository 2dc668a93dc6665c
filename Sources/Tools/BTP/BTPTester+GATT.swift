import Atto
import AttoATT
import AttoGATT
import AttoRadio

// The GATT service, which holds a client and a server. auto-pts has replaced it by two services, but
// its suites still use it.
extension BTPService {
  /// auto-pts, doc/btp_gatt.txt.
  static let gattCommands =
    [
      BTPCommandSupport(0x01, "Read Supported Commands"),
      BTPCommandSupport(0x02, "Add Service"),
      BTPCommandSupport(0x03, "Add Characteristic", .partly("to the last service")),
      BTPCommandSupport(0x04, "Add Descriptor", .partly("to the last characteristic")),
      BTPCommandSupport(
        0x05, "Add Included Service", .partly("before the characteristics of the service")),
      BTPCommandSupport(
        0x06, "Set Characteristic/Descriptor Value",
        .partly("the length before Start Server is the longest that can be written")),
      BTPCommandSupport(0x07, "Start Server"),
      BTPCommandSupport(0x08, "Reset Server"),
      BTPCommandSupport(
        0x09, "Set Required Encryption Key Size", .partly("before Start Server")),
    ] + gattProcedures(from: 0x0A, isOneService: true) + [
      BTPCommandSupport(0x1C, "Get Attributes", .partly("the first 255")),
      BTPCommandSupport(0x1D, "Get Attribute Value", .partly("not the Database Hash")),
      BTPCommandSupport(0x1E, "Change Database"),
      BTPCommandSupport(0x1F, "Connect EATT Channels", .partly("1 to 5 at a time")),
      BTPCommandSupport(
        0x20, "Read Multiple Variable Length Characteristic Values"),
      BTPCommandSupport(0x21, "Multiple Variable Length Notifications"),
      BTPCommandSupport(0x22, "Get Attribute Handle by UUID"),
      BTPCommandSupport(0x23, "Remove Service by Handle"),
    ]
}

extension BTPTester {
  func handleGATT(
    _ command: BTPFrame, _ parameters: inout BTPParameters
  ) async throws(BTPStatus) -> [UInt8]? {
    switch command.opcode {
    case 0x02:
      let isSecondary = try parameters.flag()
      let uuid = try parameters.uuid()
      try parameters.end()
      return try gatt.addService(uuid, isPrimary: !isSecondary).btp
    case 0x03:
      let service = try parameters.handle()
      let properties = try parameters.number(UInt8.self)
      let permissions = try parameters.number(UInt8.self)
      let uuid = try parameters.uuid()
      try parameters.end()
      return try gatt.addCharacteristic(
        to: service, uuid, properties: properties, permissions: permissions
      ).btp
    case 0x04:
      let characteristic = try parameters.handle()
      let permissions = try parameters.number(UInt8.self)
      let uuid = try parameters.uuid()
      try parameters.end()
      return try gatt.addDescriptor(to: characteristic, uuid, permissions: permissions).btp
    case 0x05:
      let service = try parameters.handle()
      try parameters.end()
      return try gatt.addInclude(of: service).btp
    case 0x06: try await setValue(&parameters)
    case 0x07:
      try parameters.end()
      return try await startServer()
    case 0x08:
      try parameters.end()
      try await resetServer()
    case 0x09:
      let handle = try parameters.handle()
      let size = try parameters.number(UInt8.self)
      try parameters.end()
      guard (7...16).contains(size) else { throw .fail }
      try gatt.setKeySize(of: handle, to: size)
    case 0x1C: return try attributes(&parameters)
    case 0x1D: return try await attributeValue(&parameters)
    case 0x1E:
      let (start, end) = (try parameters.handle(), try parameters.handle())
      let change = DatabaseChange(rawValue: try parameters.number())
      try parameters.end()
      let range = HandleRange(start, end)
      guard let change, range != nil || (!start.isValid && !end.isValid) else { throw .fail }
      try await changeDatabase(range, change)
    case 0x1F:
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
    case 0x21: return try notifySeveral(command, &parameters)
    case 0x22:
      let uuid = try parameters.uuid()
      try parameters.end()
      guard let row = gatt.rows.first(where: { $0.type == uuid }) else { throw .fail }
      return row.handle.btp
    case 0x23:
      let handle = try parameters.handle()
      try parameters.end()
      guard let service = ownService(containing: handle) else { throw .fail }
      try await removeService(service)
    default:
      guard let procedure = try BTPProcedure(command.opcode, of: .gatt, &parameters) else {
        throw .unknownCommand
      }
      let (peer, store) = (try peer(procedure.peer), store)
      later(command) {
        let outcome = try await procedure.run(on: peer.connection, store: store)
        if procedure.kind == .exchangeMTU { await self.lookAtMTU(of: peer) }
        return try outcome.forGATT()
      }
      return nil
    }
    return []
  }

  private func notifySeveral(
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
