import ATT

/// The laying out of one profile: a cursor that only moves up.
///
/// Theory. Attributes appear in the file in the order of their handles, so one pass suffices:
/// a stated handle must not be below the cursor, an open one is the cursor, and the cursor
/// goes one past either. Only what points elsewhere (includes, echoes) waits for a second
/// pass, `resolve`, when every service and value has its place.
struct Placement {
  let profile: Profile
  var automatic = ProfileLayout.AutomaticServices()
  var services: [ProfileLayout.Service] = []
  var attributes: [ProfileLayout.Attribute] = []

  /// The next free handle; 0x10000 when there is none.
  private var cursor: UInt32 = 1
  /// The last handle of the service that is being placed.
  private var limit: UInt32 = 0xFFFF
  /// Where each attribute came from, for messages.
  private var owners: [ProfilePath] = []
  /// The places of characteristics, for echoes.
  private var characteristics: [PlacedCharacteristic] = []
  /// What `resolve` has to fill in.
  private var openIncludes: [(index: Int, target: Profile.Target, path: ProfilePath)] = []
  private var openEchoes: [(index: Int, target: Profile.Target, path: ProfilePath)] = []

  private struct PlacedCharacteristic {
    var uuid: BluetoothUUID
    var handle: AttributeHandle
    var valueHandle: AttributeHandle
    var properties: Profile.Properties
  }

  init(_ profile: Profile) {
    self.profile = profile
    reserveAutomaticServices()
  }

  // MARK: - Handles

  private static func text(_ handle: UInt32) -> String {
    "\(AttributeHandle(UInt16(truncatingIfNeeded: handle)))"
  }

  /// Takes the stated handle, or the next free one.
  private mutating func take(
    _ stated: AttributeHandle?, _ key: String, of path: ProfilePath
  ) throws(ProfileError) -> AttributeHandle {
    let handle = stated.map { UInt32($0.rawValue) } ?? cursor
    let place = stated == nil ? path : path / key
    guard handle >= cursor else { throw tooLow(handle, place) }
    guard handle <= limit else {
      let end = Self.text(limit)
      throw ProfileError(
        place,
        expected: limit == 0xFFFF ? "handles up to 0xFFFF" : "handles up to the endHandle \(end)",
        found: stated == nil ? "one more attribute after \(end)" : Self.text(handle))
    }
    cursor = handle + 1
    return AttributeHandle(UInt16(truncatingIfNeeded: handle))
  }

  private func tooLow(_ handle: UInt32, _ place: ProfilePath) -> ProfileError {
    let expected =
      cursor > 0xFFFF ? "nothing after 0xFFFF" : "a handle from \(Self.text(cursor)) on"
    let owner = zip(attributes, owners).first { UInt32($0.0.handle.rawValue) == handle }
    let reason = owner.map { ", which \($0.1) has" } ?? ", out of order"
    return ProfileError(place, expected: expected, found: Self.text(handle) + reason)
  }

  private mutating func append(
    _ handle: AttributeHandle, _ type: BluetoothUUID, _ content: ProfileLayout.Content,
    _ owner: ProfilePath
  ) {
    attributes.append(ProfileLayout.Attribute(handle: handle, type: type, content: content))
    owners.append(owner)
  }

  // MARK: - Services

  mutating func placeServices() throws(ProfileError) {
    for (index, service) in profile.services.enumerated() {
      try place(service, ProfilePath() / "services" / index)
    }
  }

  private mutating func place(
    _ service: Profile.Service, _ path: ProfilePath
  ) throws(ProfileError) {
    limit = 0xFFFF
    let first = attributes.count
    let start = try take(service.handle, "handle", of: path)
    if let end = service.endHandle {
      guard end >= start else {
        throw ProfileError(
          path / "endHandle", expected: "the declaration's handle \(start) or one after it",
          found: "\(end)")
      }
      limit = UInt32(end.rawValue)
    }
    // `take` gives valid handles that only grow, so these ranges exist whatever the file says.
    var placed = ProfileLayout.Service(
      uuid: service.uuid, isPrimary: service.isPrimary, range: HandleRange(start, start)!)
    append(start, service.isPrimary ? 0x2800 : 0x2801, .service(placed), path)
    for (index, include) in service.includes.enumerated() {
      let path = path / "includes" / index
      let handle = try take(include.handle, "handle", of: path)
      openIncludes.append((attributes.count, include.service, path))
      append(handle, 0x2802, .include(placed), path)
    }
    for (index, characteristic) in service.characteristics.enumerated() {
      try place(characteristic, path / "characteristics" / index)
    }
    let end = service.endHandle ?? attributes[attributes.count - 1].handle
    placed.range = HandleRange(start, end)!
    attributes[first].content = .service(placed)
    services.append(placed)
    cursor = UInt32(end.rawValue) + 1
  }

  // MARK: - Characteristics

  private mutating func place(
    _ characteristic: Profile.Characteristic, _ path: ProfilePath
  ) throws(ProfileError) {
    try refuseDeclaration(characteristic.uuid, path)
    let handle = try take(characteristic.handle, "handle", of: path)
    let index = attributes.count
    append(
      handle, 0x2803,
      .characteristic(
        properties: characteristic.properties, valueHandle: handle, uuid: characteristic.uuid),
      path)
    let valueHandle = try take(characteristic.valueHandle, "valueHandle", of: path)
    attributes[index].content = .characteristic(
      properties: characteristic.properties, valueHandle: valueHandle, uuid: characteristic.uuid)
    if let behaviour = characteristic.behaviour {
      try BehaviourRules(behaviour, of: characteristic, path).check()
      if let target = behaviour.echo {
        openEchoes.append((attributes.count, target, path / "behaviour" / "echoTo"))
      }
    }
    let storage = try characteristic.value.storage(
      Profile.Permissions(for: characteristic.properties), path)
    append(
      valueHandle, characteristic.uuid, .value(storage, characteristic.behaviour, echo: nil), path)
    characteristics.append(
      PlacedCharacteristic(
        uuid: characteristic.uuid, handle: handle, valueHandle: valueHandle,
        properties: characteristic.properties))
    try placeDescriptors(of: characteristic, path)
  }

  /// Added descriptors come first, where a server puts them, unless the handles that the
  /// profile states leave no room there: then they come last.
  private mutating func placeDescriptors(
    of characteristic: Profile.Characteristic, _ path: ProfilePath
  ) throws(ProfileError) {
    let added = characteristic.addedDescriptors
    let stated = characteristic.descriptors.firstIndex { $0.handle != nil }
    let room = stated.flatMap { index in
      characteristic.descriptors[index].handle.map { Int($0.rawValue) - Int(cursor) - index }
    }
    let addedFirst = room.map { $0 >= added.count } ?? true
    if addedFirst { try place(added, of: characteristic, path) }
    var seen: Set<BluetoothUUID> = []
    for (index, descriptor) in characteristic.descriptors.enumerated() {
      let path = path / "descriptors" / index
      try refuseDeclaration(descriptor.uuid, path)
      let isUnique = [0x2900, 0x2901, 0x2902, 0x2903, 0x2905].contains(descriptor.uuid)
      guard seen.insert(descriptor.uuid).inserted || !isUnique else {
        throw ProfileError(
          path / "uuid", expected: "one descriptor \(descriptor.uuid) in a characteristic",
          found: "a second one")
      }
      try place(descriptor, of: characteristic, path)
    }
    if !addedFirst { try place(added, of: characteristic, path) }
  }

  private mutating func place(
    _ added: [Profile.Descriptor], of characteristic: Profile.Characteristic, _ path: ProfilePath
  ) throws(ProfileError) {
    for descriptor in added { try place(descriptor, of: characteristic, path) }
  }

  private mutating func place(
    _ descriptor: Profile.Descriptor, of characteristic: Profile.Characteristic,
    _ path: ProfilePath
  ) throws(ProfileError) {
    let handle = try take(descriptor.handle, "handle", of: path)
    var permissions: Profile.Permissions = [.read]
    if descriptor.uuid == 0x2902
      || descriptor.uuid == 0x2901
        && characteristic.extendedProperties.contains(.writableAuxiliaries)
    {
      permissions.insert(.write)
    }
    var storage = try descriptor.value.storage(permissions, path)
    try DescriptorRules(descriptor, of: characteristic, path).check()
    guard descriptor.uuid == 0x2902 else {
      return append(handle, descriptor.uuid, .descriptor(storage), path)
    }
    storage.bytes = []
    storage.maxLength = 2
    storage.isFixedLength = true
    append(handle, descriptor.uuid, .clientConfiguration(storage), path)
  }

  /// An attribute of a declaration's type would start a service or characteristic of its own.
  private func refuseDeclaration(
    _ uuid: BluetoothUUID, _ path: ProfilePath
  ) throws(ProfileError) {
    guard let short = uuid.short, 0x2800...0x2803 ~= short else { return }
    throw ProfileError(
      path / "uuid", expected: "a UUID other than those of declarations, 2800 to 2803",
      found: "\(uuid)")
  }

  // MARK: - What points elsewhere

  mutating func resolve() throws(ProfileError) {
    let services = Index(automatic.services + services, by: { [$0.range.start] }, \.uuid)
    for (index, target, path) in openIncludes {
      attributes[index].content = .include(try services.one(target, "service", path))
    }
    let characteristics = Index(characteristics, by: { [$0.handle, $0.valueHandle] }, \.uuid)
    for (index, target, path) in openEchoes {
      let found = try characteristics.one(target, "characteristic", path)
      guard !found.properties.isDisjoint(with: [.notify, .indicate]) else {
        throw ProfileError(
          path, expected: "a characteristic that notifies or indicates", found: "one that does not")
      }
      guard case .value(let storage, let behaviour, _) = attributes[index].content else { continue }
      attributes[index].content = .value(storage, behaviour, echo: found.valueHandle)
    }
  }

  /// What a target may name, found by handle or UUID.
  private struct Index<Place> {
    private var places: [AttributeHandle: Place] = [:]
    private var handles: [BluetoothUUID: [AttributeHandle]] = [:]

    init(
      _ all: [Place], by keys: (Place) -> [AttributeHandle], _ uuid: (Place) -> BluetoothUUID
    ) {
      for place in all {
        for key in keys(place) { places[key] = place }
        handles[uuid(place), default: []] += keys(place).prefix(1)
      }
    }

    /// The one place that the target names.
    func one(
      _ target: Profile.Target, _ what: String, _ path: ProfilePath
    ) throws(ProfileError) -> Place {
      let name: String
      let named: [AttributeHandle]
      switch target {
      case .handle(let handle): (name, named) = ("\(handle)", [handle])
      case .uuid(let uuid): (name, named) = ("\(uuid)", handles[uuid] ?? [])
      }
      if named.count > 1 {
        throw ProfileError(
          path, expected: "one \(what) only",
          found: "\(name), which \(named.count) have: name it by a handle such as \(named[0])")
      }
      guard let handle = named.first, let place = places[handle] else {
        throw ProfileError(
          path, expected: "a \(what) of this profile", found: "\(name), which none has")
      }
      return place
    }
  }
}

// MARK: - Automatic services

extension Placement {
  private var wantsAccess: Bool {
    profile.addsAutomaticServices && !profile.services.contains { $0.uuid == 0x1800 }
  }
  private var wantsAttribute: Bool {
    profile.addsAutomaticServices && !profile.services.contains { $0.uuid == 0x1801 }
  }
  private var automaticCount: Int {
    (wantsAccess ? ProfileLayout.AutomaticServices.genericAccessCount : 0)
      + (wantsAttribute ? ProfileLayout.AutomaticServices.genericAttributeCount : 0)
  }

  /// Puts the automatic services at 0x0001 unless the profile states a handle down there.
  private mutating func reserveAutomaticServices() {
    let taken = profile.statedHandles.contains { Int($0.rawValue) <= automaticCount }
    guard automaticCount > 0, !taken else { return }
    assignAutomaticServices()
  }

  /// Puts them after the last service if they have no place yet.
  mutating func placeAutomaticServices() throws(ProfileError) {
    guard automaticCount > 0, automatic.services.isEmpty else { return }
    guard Int(cursor) + automaticCount <= 0x10000 else {
      throw ProfileError(
        ProfilePath() / "automatic",
        expected: "\(automaticCount) free handles for the GAP and GATT services after the last "
          + "service, or \"automatic\": false",
        found: "\(0x10000 - Int(cursor))")
    }
    assignAutomaticServices()
  }

  private mutating func assignAutomaticServices() {
    func range(_ count: Int) -> HandleRange? {
      let start = cursor
      cursor += UInt32(count)
      return HandleRange(
        AttributeHandle(UInt16(truncatingIfNeeded: start)),
        AttributeHandle(UInt16(truncatingIfNeeded: cursor - 1)))
    }
    if wantsAccess {
      automatic.genericAccess = range(ProfileLayout.AutomaticServices.genericAccessCount)
    }
    if wantsAttribute {
      automatic.genericAttribute = range(ProfileLayout.AutomaticServices.genericAttributeCount)
    }
  }
}

extension ProfileLayout.AutomaticServices {
  /// Those that are there, as services, in the order of their handles.
  public var services: [ProfileLayout.Service] {
    var services: [ProfileLayout.Service] = []
    if let genericAccess {
      services.append(
        ProfileLayout.Service(uuid: 0x1800, isPrimary: true, range: genericAccess))
    }
    if let genericAttribute {
      services.append(
        ProfileLayout.Service(uuid: 0x1801, isPrimary: true, range: genericAttribute))
    }
    return services
  }
}

extension Profile {
  /// Every handle that the profile fixes for an attribute of its own.
  fileprivate var statedHandles: [AttributeHandle] {
    services.flatMap { service in
      [service.handle].compactMap { $0 } + service.includes.compactMap(\.handle)
        + service.characteristics.flatMap { characteristic in
          [characteristic.handle, characteristic.valueHandle].compactMap { $0 }
            + characteristic.descriptors.compactMap(\.handle)
        }
    }
  }
}
