import Atto
import AttoATT
import AttoCommandLine
import AttoGATT
import AttoRadio
import AttoStore

/// A procedure that a tester asks this end's client for: the same in the GATT service and in the GATT
/// Client service, which number and answer them differently.
struct BTPProcedure: Sendable {
  /// In the order of the opcodes of both services.
  enum Kind: UInt8, CaseIterable {
    case exchangeMTU, primaryServices, primaryServicesByUUID, includes, characteristics
    case characteristicsByUUID, descriptors, read, readByUUID, readLong, readMultiple
    case writeCommand, signedWrite, write, writeLong, reliableWrite, notifications, indications
    case readMultipleVariable

    var gattOpcode: UInt8 { self == .readMultipleVariable ? 0x20 : 0x0A + rawValue }
    var clientOpcode: UInt8 { 0x02 + rawValue }

    var name: String {
      switch self {
      case .exchangeMTU: "Exchange MTU"
      case .primaryServices: "Discover All Primary Services"
      case .primaryServicesByUUID: "Discover Primary Service by UUID"
      case .includes: "Find Included Services"
      case .characteristics: "Discover All Characteristics of a Service"
      case .characteristicsByUUID: "Discover Characteristics by UUID"
      case .descriptors: "Discover All Characteristic Descriptors"
      case .read: "Read Characteristic Value/Descriptor"
      case .readByUUID: "Read Using Characteristic UUID"
      case .readLong: "Read Long Characteristic Value/Descriptor"
      case .readMultiple: "Read Multiple Characteristic Values"
      case .writeCommand: "Write Without Response"
      case .signedWrite: "Signed Write Without Response"
      case .write: "Write Characteristic Value/Descriptor"
      case .writeLong: "Write Long Characteristic Value/Descriptor"
      case .reliableWrite: "Reliable Write"
      case .notifications: "Configure Notifications"
      case .indications: "Configure Indications"
      case .readMultipleVariable: "Read Multiple Variable Characteristic Values"
      }
    }

    /// What this end does otherwise; empty if nothing.
    var exception: String {
      switch self {
      case .primaryServices, .characteristics, .descriptors: "the first 255"
      case .includes: "without the octet Type, as testers expect it"
      case .signedWrite: "with a saved bond on le:; a Write Command on an encrypted link"
      default: ""
      }
    }

    /// The event of the GATT Client service with the result; nil if it has none.
    var event: UInt8? {
      switch self {
      // The new MTU is reported whoever has exchanged it.
      case .exchangeMTU, .writeCommand, .signedWrite: nil
      case .readMultipleVariable: 0x91
      case .write, .writeLong, .reliableWrite, .notifications, .indications: 0x7E + rawValue
      default: 0x80 + rawValue
      }
    }
  }

  let kind: Kind
  let peer: BluetoothAddress
  private var range = HandleRange.all
  private var uuid = BluetoothUUID(0)
  private var handles: [AttributeHandle] = []
  private var offset: UInt16 = 0
  private var value: [UInt8] = []

  /// Reads the parameters of a command.
  init(_ kind: Kind, _ parameters: inout BTPParameters) throws(BTPStatus) {
    self.kind = kind
    peer = try parameters.address()
    switch kind {
    case .exchangeMTU, .primaryServices: break
    case .primaryServicesByUUID: uuid = try parameters.uuid()
    case .includes, .characteristics, .descriptors: range = try parameters.range()
    case .characteristicsByUUID, .readByUUID:
      range = try parameters.range()
      uuid = try parameters.uuid()
    case .read: handles = [try parameters.handle()]
    case .readLong:
      handles = [try parameters.handle()]
      offset = try parameters.number()
    case .readMultiple, .readMultipleVariable: handles = try parameters.handles()
    case .writeCommand, .signedWrite, .write:
      handles = [try parameters.handle()]
      value = try parameters.value()
    case .writeLong, .reliableWrite:
      handles = [try parameters.handle()]
      offset = try parameters.number()
      value = try parameters.value()
    case .notifications, .indications:
      let bit: UInt8 = kind == .notifications ? 1 : 2
      value = [try parameters.flag() ? bit : 0, 0]
      handles = [try parameters.handle()]
    }
    try parameters.end()
  }

  /// Carries it out.
  ///
  /// - Throws: any error but a refusal of the peer, which is an outcome.
  func run(on connection: Connection, store: StoreFile?) async throws -> BTPOutcome {
    do {
      return BTPOutcome(kind, try await result(on: connection, store))
    } catch AttoError.refused(let response) {
      return BTPOutcome(kind, refusal: response.code)
    } catch AttoError.insufficientSecurity(let response, _) {
      return BTPOutcome(kind, refusal: response.code)
    }
  }

  private func result(
    on connection: Connection, _ store: StoreFile?
  ) async throws -> BTPOutcome.Result {
    let handle = handles.first ?? .invalid
    switch kind {
    case .exchangeMTU: try await connection.exchangeMTU()
    case .primaryServices:
      return .list(try await connection.perform(DiscoverPrimaryServices()).map(\.btp))
    case .primaryServicesByUUID:
      return .list(try await connection.perform(DiscoverPrimaryServicesByUUID(uuid)).map(\.btp))
    case .includes:
      return .list(try await connection.perform(FindIncludedServices(in: range)).map(\.btp))
    case .characteristics:
      return .list(try await connection.perform(DiscoverCharacteristics(in: range)).map(\.btp))
    case .characteristicsByUUID:
      let procedure = DiscoverCharacteristicsByUUID(uuid, in: range)
      return .list(try await connection.perform(procedure).map(\.btp))
    case .descriptors:
      return .list(try await connection.perform(DiscoverDescriptors(in: range)).map(\.btp))
    case .read: return .value(try await connection.readOnce(handle))
    case .readByUUID:
      let output = try await connection.perform(ReadUsingUUID(uuid, in: range))
      return .values(output.values.map { ($0.handle, $0.octets) })
    case .readLong: return .value(try await connection.readLong(handle, offset: offset))
    case .readMultiple:
      return .value(try await connection.perform(ReadMultiple(handles)).octets)
    case .readMultipleVariable:
      return .value(
        try await connection.read(handles).flatMap { UInt16($0.octets.count).octets(2) + $0.octets }
      )
    case .writeCommand: try await connection.writeWithoutResponse(value, to: handle)
    case .signedWrite: try await writeSigned(on: connection, store)
    case .write, .notifications, .indications: try await connection.write(value, to: handle)
    case .writeLong: try await connection.writeLong(value, to: handle, offset: offset)
    case .reliableWrite:
      try await connection.writeReliably([LongWrite(handle, offset: offset, value: value)])
    }
    return .done
  }

  /// On an encrypted link signing is not permitted, and a Write Command is as good. Vol 3, Part C,
  /// 10.4.
  private func writeSigned(on connection: Connection, _ store: StoreFile?) async throws {
    let handle = handles.first ?? .invalid
    if try await connection.security.level > .low {
      try await connection.writeWithoutResponse(value, to: handle)
    } else if let store {
      try await connection.writeSigned(value, to: handle, keptIn: store)
    } else {
      throw UsageError("there is no key to sign with: the link has no bond that is saved")
    }
  }
}

/// The outcome of a procedure.
struct BTPOutcome: Sendable {
  enum Result: Sendable {
    case done
    case list([[UInt8]])
    case value([UInt8])
    case values([(handle: AttributeHandle, octets: [UInt8])])
  }

  private let kind: BTPProcedure.Kind
  private let status: UInt8
  private let result: Result

  init(_ kind: BTPProcedure.Kind, _ result: Result) {
    (self.kind, self.result, status) = (kind, result, 0)
  }

  /// Without a result.
  init(_ kind: BTPProcedure.Kind, refusal: ErrorCode) {
    self.kind = kind
    status = refusal.rawValue
    result =
      switch kind {
      case .read, .readLong, .readMultiple, .readMultipleVariable: .value([])
      case .readByUUID: .values([])
      case .primaryServices, .primaryServicesByUUID, .includes, .characteristics,
        .characteristicsByUUID, .descriptors:
        .list([])
      default: .done
      }
  }

  /// The response of the GATT service.
  ///
  /// - Throws: Fail if the peer refused and the response has no place for its error.
  func forGATT() throws(BTPStatus) -> [UInt8] {
    switch kind {
    case .exchangeMTU, .notifications, .indications, .writeCommand, .signedWrite:
      guard status == 0 else { throw .fail }
      return []
    case .write, .writeLong, .reliableWrite: return [status]
    default: break
    }
    switch result {
    case .list(let list):
      guard status == 0 else { throw .fail }
      return list.btpList
    case .value(let value): return [status] + value.btpValue
    case .values(let values):
      let list = values.map { handle, octets in
        handle.btp + [UInt8(clamping: octets.count)] + octets.prefix(255)
      }
      return [status] + list.btpList
    case .done: return []
    }
  }

  /// The event of the GATT Client service; nil if there is none.
  func forClient(_ peer: BluetoothAddress) -> (event: UInt8, parameters: [UInt8])? {
    guard let event = kind.event else { return nil }
    let parameters: [UInt8]
    switch result {
    case .done: parameters = [status]
    case .list(let list): parameters = [status] + list.btpList
    case .value(let value): parameters = [status] + value.btpValue
    case .values(let values):
      // Only values of one length can be told.
      let length = values.first?.octets.count ?? 0
      let pairs = values.prefix { $0.octets.count == length }
        .flatMap { handle, octets in handle.btp + octets }
      parameters =
        [status] + UInt16(clamping: pairs.count).octets(2)
        + [UInt8(clamping: length)] + pairs
    }
    return (event, peer.btp + parameters)
  }
}

// MARK: The protocol's objects

extension Service {
  fileprivate var btp: [UInt8] { handle.btp + endGroupHandle.btp + uuid.btp }
}

extension IncludedService {
  /// Without the octet Type, which the document has and no implementation.
  fileprivate var btp: [UInt8] {
    handle.btp + startHandle.btp + endGroupHandle.btp + uuid.btp
  }
}

extension Characteristic {
  fileprivate var btp: [UInt8] {
    declarationHandle.btp + valueHandle.btp + [properties.rawValue] + uuid.btp
  }
}

extension Descriptor {
  fileprivate var btp: [UInt8] { handle.btp + uuid.btp }
}
