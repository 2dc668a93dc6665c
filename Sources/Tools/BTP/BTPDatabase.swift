import Atto
import AttoGATT
import AttoRadio

/// The attributes that a tester adds one by one, before they become services of the server.
///
/// Handles are given in sequence, after those of the server, and are the protocol's IDs.
struct BTPDatabase {
  /// An attribute as testers see it.
  struct Row: Equatable {
    let handle: AttributeHandle
    /// The protocol's bits: read, write, and each with encryption, authentication, authorization.
    let permissions: UInt8
    let type: BluetoothUUID
  }

  /// The attributes of the server, in order.
  private(set) var rows: [Row] = []
  /// The services that are not started, and their attributes.
  private(set) var draft: [ServiceDefinition] = []
  private var draftRows: [Row] = []
  /// The services that were started and not removed, in this order.
  private(set) var services: [HandleRange] = []
  /// The first free handle; nil after 0xFFFF.
  private(set) var next: AttributeHandle? = .min

  /// Adds what the server has from the beginning.
  mutating func begin(_ rows: [Row]) {
    self.rows = rows
    next = rows.last.map(\.handle.next) ?? .min
  }

  // MARK: The draft

  mutating func addService(
    _ uuid: BluetoothUUID, isPrimary: Bool
  ) throws(BTPStatus) -> AttributeHandle {
    let handle = try claim()
    draft.append(ServiceDefinition(uuid, isPrimary: isPrimary, handle: handle))
    append(handle, 0x01, isPrimary ? .primaryService : .secondaryService)
    return handle
  }

  /// Adds an include to the last service.
  mutating func addInclude(of service: AttributeHandle) throws(BTPStatus) -> AttributeHandle {
    let isKnown = (rows + draftRows).contains {
      $0.handle == service && [.primaryService, .secondaryService].contains($0.type)
    }
    guard let last = draft.indices.last, draft[last].characteristics.isEmpty, isKnown,
      draft[last].handle != service
    else { throw .fail }
    let handle = try claim()
    draft[last].includes.append(IncludeDefinition(service: service, handle: handle))
    append(handle, 0x01, .include)
    return handle
  }

  /// Adds a characteristic to the last service, which may be named by its handle.
  ///
  /// - Returns: the handle of its declaration.
  mutating func addCharacteristic(
    to service: AttributeHandle, _ uuid: BluetoothUUID, properties: UInt8, permissions: UInt8
  ) throws(BTPStatus) -> AttributeHandle {
    guard let last = draft.indices.last, !service.isValid || draft[last].handle == service,
      next != .max
    else { throw .fail }
    let declaration = try claim()
    let value = try claim()
    draft[last].characteristics.append(
      CharacteristicDefinition(
        uuid, properties: CharacteristicProperties(rawValue: properties),
        permissions: AttributePermissions(btp: permissions), handle: declaration,
        valueHandle: value, addsConfiguration: false))
    append(declaration, 0x01, .characteristic)
    append(value, permissions, uuid)
    return declaration
  }

  /// Adds a descriptor to the last characteristic, which may be named by its declaration or value.
  mutating func addDescriptor(
    to characteristic: AttributeHandle, _ uuid: BluetoothUUID, permissions: UInt8
  ) throws(BTPStatus) -> AttributeHandle {
    guard let service = draft.indices.last,
      let last = draft[service].characteristics.indices.last,
      !characteristic.isValid
        || draft[service].characteristics[last].handle == characteristic
        || draft[service].characteristics[last].valueHandle == characteristic
    else { throw .fail }
    let handle = try claim()
    // The database's hash has the value of Extended Properties, which then is a constant.
    let value: ValueDefinition =
      uuid == .characteristicExtendedProperties ? .constant([0, 0]) : .stored([])
    draft[service].characteristics[last].descriptors.append(
      DescriptorDefinition(
        uuid, value: value, permissions: AttributePermissions(btp: permissions), handle: handle))
    append(handle, permissions, uuid)
    return handle
  }

  /// Sets a value of the draft. Its length becomes the longest that clients may write, as testers
  /// expect.
  ///
  /// - Parameter handle: 0: the last attribute.
  /// - Returns: false if the attribute is none of the draft.
  mutating func setValue(
    of handle: AttributeHandle, to value: [UInt8]
  ) throws(BTPStatus) -> Bool {
    try changeDraft(handle) { definition, _ in
      guard value.count <= ValueLimits.longest else { return false }
      switch definition {
      case .constant: definition = .constant(value)
      default:
        let longest = value.isEmpty ? ValueLimits.longest : value.count
        definition = .stored(value, ValueLimits(maximumLength: longest))
      }
      return true
    }
  }

  /// Sets the shortest key of an attribute of the draft, which must require encryption.
  mutating func setKeySize(of handle: AttributeHandle, to size: UInt8) throws(BTPStatus) {
    let isFound = try changeDraft(handle) { _, permissions in
      let read = permissions.read.setKeySize(size)
      let write = permissions.write.setKeySize(size)
      return read || write
    }
    guard isFound else { throw .fail }
  }

  /// Changes an attribute. Returns false if it is none of the draft.
  ///
  /// - Throws: Fail if `body` returns false, or the attribute has no value.
  private mutating func changeDraft(
    _ handle: AttributeHandle,
    _ body: (inout ValueDefinition, inout AttributePermissions) -> Bool
  ) throws(BTPStatus) -> Bool {
    guard let handle = handle.isValid ? handle : draftRows.last?.handle else { return false }
    guard draftRows.contains(where: { $0.handle == handle }) else { return false }
    for service in draft.indices {
      for index in draft[service].characteristics.indices {
        var changed = draft[service].characteristics[index]
        if changed.handle == handle || changed.valueHandle == handle {
          guard body(&changed.value, &changed.permissions) else { throw .fail }
        } else if let descriptor = changed.descriptors.firstIndex(where: { $0.handle == handle }) {
          var definition = changed.descriptors[descriptor]
          guard body(&definition.value, &definition.permissions) else { throw .fail }
          changed.descriptors[descriptor] = definition
        } else {
          continue
        }
        draft[service].characteristics[index] = changed
        return true
      }
    }
    throw .fail
  }

  private mutating func append(
    _ handle: AttributeHandle, _ permissions: UInt8, _ type: BluetoothUUID
  ) {
    draftRows.append(Row(handle: handle, permissions: permissions, type: type))
  }

  private mutating func claim() throws(BTPStatus) -> AttributeHandle {
    guard let handle = next else { throw .fail }
    next = handle.next
    return handle
  }

  // MARK: The server

  /// The draft has become part of the server.
  mutating func started() {
    let starts = draft.compactMap(\.handle)
    for (index, start) in starts.enumerated() {
      let after = index + 1 < starts.count ? starts[index + 1].previous : draftRows.last?.handle
      services += [after.flatMap { HandleRange(start, $0) }].compactMap(\.self)
    }
    rows += draftRows
    (draft, draftRows) = ([], [])
  }

  /// A service was added to the server, not by way of the draft.
  mutating func added(_ layout: Database.Layout, _ new: [Row]) {
    rows = (rows + new).sorted { $0.handle < $1.handle }
    services.append(layout.range)
    findNext()
  }

  mutating func removed(_ range: HandleRange) {
    services.removeAll { $0.start == range.start }
    rows.removeAll { range.contains($0.handle) }
    if draft.isEmpty { findNext() }
  }

  mutating func dropDraft() {
    (draft, draftRows) = ([], [])
    findNext()
  }

  private mutating func findNext() {
    let last = (rows.last.map { [$0.handle] } ?? []) + services.map(\.end)
    next = last.max().map(\.next) ?? .min
  }

  /// The value's handle of a characteristic's declaration; other handles are their own.
  func valueHandle(_ handle: AttributeHandle) -> AttributeHandle {
    guard let index = rows.firstIndex(where: { $0.handle == handle }),
      rows[index].type == .characteristic, rows.indices.contains(index + 1)
    else { return handle }
    return rows[index + 1].handle
  }

  /// The Client Characteristic Configuration of a value.
  func configuration(of value: AttributeHandle) -> AttributeHandle? {
    let after = rows.drop { $0.handle <= value }.prefix {
      ![.characteristic, .primaryService, .secondaryService].contains($0.type)
    }
    return after.first { $0.type == .clientCharacteristicConfiguration }?.handle
  }
}

extension AttributePermissions {
  /// The protocol's bits: read, write, and the same with encryption, authentication, authorization.
  init(btp bits: UInt8) {
    func access(_ bits: UInt8) -> Access {
      guard bits & 0b0101_0101 != 0 else { return .denied }
      return .requires(
        Requirement(
          security: bits & 0x10 != 0 ? .high : bits & 0x04 != 0 ? .medium : .low,
          authorization: bits & 0x40 != 0))
    }
    self.init(read: access(bits), write: access(bits >> 1))
  }
}

extension AttributePermissions.Access {
  /// Returns false if encryption is not required.
  fileprivate mutating func setKeySize(_ size: UInt8) -> Bool {
    guard case .requires(var requirement) = self, requirement.security > .low else { return false }
    requirement.keySize = size
    self = .requires(requirement)
    return true
  }
}
