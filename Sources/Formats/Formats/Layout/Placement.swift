import AttoATT
import AttoGATT

/// Assigns the handles of a profile.
///
/// # Theory
///
/// Attributes are listed in the order of their handles, so one pass with a cursor suffices: a stated
/// handle must not be below the cursor, an omitted one is the cursor, and the cursor moves past
/// either. References (includes, echoes) are resolved in a second pass, when all handles are known.
struct Placement {
  private var layout = ProfileLayout()
  /// The next free handle; 0x10000 when there is none.
  private var cursor: UInt32 = 1
  /// The last handle available to the current service.
  private var limit: UInt32 = 0xFFFF
  /// The path of each placed attribute, for messages.
  private var owners: [AttributeHandle: ProfilePath] = [:]
  private var services = References<ServiceDefinition>()
  private var characteristics = References<CharacteristicDefinition>()
  private var openIncludes: [OpenInclude] = []
  private var openEchoes: [OpenEcho] = []

  private struct OpenInclude {
    var service: Int
    var include: Int
    var target: Profile.Target
    var path: ProfilePath
  }

  private struct OpenEcho {
    var behaviour: Int
    var target: Profile.Target
    var path: ProfilePath
  }

  mutating func place(
    _ profile: Profile, from start: AttributeHandle?
  ) throws(ProfileError) -> ProfileLayout {
    let automatic = profile.automaticServices
    let count = automatic.reduce(0) { $0 + $1.count }
    let stated = profile.statedHandles
    let comeFirst = !stated.contains { $0.rawValue <= count }
    if comeFirst { place(automatic) }
    if let start, stated.isEmpty { cursor = UInt32(start.rawValue) }
    for (index, service) in profile.services.enumerated() {
      try place(service, ProfilePath() / "services" / index)
    }
    if !comeFirst {
      guard cursor + count <= 0x10000 else {
        throw ProfileError(
          ProfilePath() / "automatic",
          expected: "\(count) free handles for the GAP and GATT services after the last "
            + "service, or \"automatic\": false",
          found: "\(0x10000 - cursor)")
      }
      place(automatic)
    }
    try resolve()
    return layout
  }

  // MARK: - Handles

  private static func text(_ handle: UInt32) -> String {
    "\(AttributeHandle(UInt16(truncatingIfNeeded: handle)))"
  }

  /// Assigns the stated handle, or the next free one.
  private mutating func assign(
    _ stated: AttributeHandle?, _ key: String, of path: ProfilePath
  ) throws(ProfileError) -> AttributeHandle {
    let number = stated.map { UInt32($0.rawValue) } ?? cursor
    let place = stated == nil ? path : path / key
    let handle = AttributeHandle(UInt16(truncatingIfNeeded: number))
    guard number >= cursor else {
      let reason = owners[handle].map { ", in use by \($0)" } ?? ", out of order"
      throw ProfileError(
        place,
        expected: cursor > 0xFFFF
          ? "nothing after 0xFFFF" : "a handle from \(Self.text(cursor)) on",
        found: "\(handle)" + reason)
    }
    guard number <= limit else {
      let end = Self.text(limit)
      throw ProfileError(
        place,
        expected: limit == 0xFFFF ? "handles up to 0xFFFF" : "handles up to the endHandle \(end)",
        found: stated == nil ? "one more attribute after \(end)" : "\(handle)")
    }
    cursor = number + 1
    owners[handle] = path
    return handle
  }

  // MARK: - Services

  private mutating func place(_ automatic: [(service: ServiceDefinition, count: UInt32)]) {
    for (service, count) in automatic {
      var placed = service
      placed.handle = AttributeHandle(UInt16(truncatingIfNeeded: cursor))
      cursor += count
      placed.endHandle = AttributeHandle(UInt16(truncatingIfNeeded: cursor - 1))
      layout.automaticServices.append(placed)
      services.add(placed, placed.uuid, at: [placed.handle])
    }
  }

  private mutating func place(
    _ service: Profile.Service, _ path: ProfilePath
  ) throws(ProfileError) {
    limit = 0xFFFF
    let start = try assign(service.handle, "handle", of: path)
    if let end = service.endHandle {
      guard end >= start else {
        throw ProfileError(
          path / "endHandle", expected: "the declaration's handle \(start) or one after it",
          found: "\(end)")
      }
      limit = UInt32(end.rawValue)
    }
    var placed = ServiceDefinition(service.uuid, isPrimary: service.isPrimary, handle: start)
    for (index, include) in service.includes.enumerated() {
      let path = path / "includes" / index
      let handle = try assign(include.handle, "handle", of: path)
      placed.includes.append(IncludeDefinition(service: .invalid, handle: handle))
      openIncludes.append(
        OpenInclude(
          service: layout.services.count, include: index, target: include.service, path: path))
    }
    for (index, characteristic) in service.characteristics.enumerated() {
      placed.characteristics.append(
        try place(characteristic, in: service.uuid, path / "characteristics" / index))
    }
    let end = service.endHandle ?? AttributeHandle(UInt16(truncatingIfNeeded: cursor - 1))
    placed.endHandle = end
    cursor = UInt32(end.rawValue) + 1
    layout.services.append(placed)
    services.add(placed, placed.uuid, at: [placed.handle])
  }

  // MARK: - Characteristics

  private mutating func place(
    _ characteristic: Profile.Characteristic, in service: BluetoothUUID, _ path: ProfilePath
  ) throws(ProfileError) -> CharacteristicDefinition {
    var placed = characteristic.definition
    placed.handle = try assign(placed.handle, "handle", of: path)
    let valueHandle = try assign(placed.valueHandle, "valueHandle", of: path)
    placed.valueHandle = valueHandle
    if let behaviour = characteristic.behaviour, case .stored(let value, let limits) = placed.value
    {
      if let target = behaviour.echo ?? behaviour.octetsPerSecond {
        let key = behaviour.echo != nil ? "echoTo" : "octetsPerSecondTo"
        openEchoes.append(
          OpenEcho(
            behaviour: layout.behaviours.count, target: target, path: path / "behaviour" / key))
      }
      layout.behaviours.append(
        ProfileLayout.ScriptedValue(
          handle: valueHandle, behaviour: behaviour, value: value, limits: limits))
      if behaviour.needsApplication { placed.value = .application(limits) }
    }
    if service == .genericAttribute, case .stored(let value, _) = placed.value {
      if placed.uuid == .clientSupportedFeatures { placed.value = .clientSupportedFeatures }
      if placed.uuid == .databaseHash, value.isEmpty { placed.value = .databaseHash }
    }
    try placeDescriptors(of: &placed, characteristic.addedDescriptors, path)
    characteristics.add(placed, placed.uuid, at: [placed.handle, placed.valueHandle])
    return placed
  }

  /// Places added descriptors first, as servers do, or last if the handles that the profile states
  /// leave no room.
  private mutating func placeDescriptors(
    of characteristic: inout CharacteristicDefinition, _ added: [DescriptorDefinition],
    _ path: ProfilePath
  ) throws(ProfileError) {
    let listed = characteristic.descriptors.enumerated().map { index, descriptor in
      (descriptor, path: path / "descriptors" / index)
    }
    let added = added.map { ($0, path: path) }
    let stated = listed.firstIndex { $0.0.handle != nil }
    let room = stated.flatMap { index in
      listed[index].0.handle.map { Int($0.rawValue) - Int(cursor) - index }
    }
    let comeFirst = room.map { $0 >= added.count } ?? true
    characteristic.descriptors = []
    for (descriptor, path) in comeFirst ? added + listed : listed + added {
      var placed = descriptor
      placed.handle = try assign(descriptor.handle, "handle", of: path)
      characteristic.descriptors.append(placed)
    }
  }

  // MARK: - References

  private mutating func resolve() throws(ProfileError) {
    for open in openIncludes {
      let found = try services.one(open.target, "service", open.path)
      guard let handle = found.handle, let end = found.endHandle else { continue }
      layout.services[open.service].includes[open.include].service = handle
      layout.services[open.service].includes[open.include].target =
        IncludeDefinition.Target(endHandle: end, uuid: found.uuid)
    }
    for open in openEchoes {
      let found = try characteristics.one(open.target, "characteristic", open.path)
      guard !found.properties.isDisjoint(with: [.notify, .indicate]) else {
        throw ProfileError(
          open.path, expected: "a characteristic that notifies or indicates",
          found: "one that does not")
      }
      layout.behaviours[open.behaviour].echo = found.valueHandle
    }
  }

  /// The services or characteristics that a profile can refer to.
  private struct References<Place> {
    private var places: [AttributeHandle: Place] = [:]
    /// The first handle of each place.
    private var handles: [BluetoothUUID: [AttributeHandle]] = [:]

    mutating func add(_ place: Place, _ uuid: BluetoothUUID, at keys: [AttributeHandle?]) {
      let keys = keys.compactMap { $0 }
      for key in keys { places[key] = place }
      handles[uuid, default: []] += keys.prefix(1)
    }

    /// Returns the only match of a target.
    func one(
      _ target: Profile.Target, _ kind: String, _ path: ProfilePath
    ) throws(ProfileError) -> Place {
      let name: String
      let named: [AttributeHandle]
      switch target {
      case .handle(let handle): (name, named) = ("\(handle)", [handle])
      case .uuid(let uuid): (name, named) = ("\(uuid)", handles[uuid] ?? [])
      }
      if named.count > 1 {
        throw ProfileError(
          path, expected: "a unique \(kind)",
          found: "\(name), the UUID of \(named.count) (use a handle such as \(named[0]))")
      }
      guard let handle = named.first, let place = places[handle] else {
        throw ProfileError(
          path, expected: "a \(kind) of this profile", found: "\(name)")
      }
      return place
    }
  }
}

extension Profile {
  /// The services that every server has and the profile neither lists nor forbids, with their
  /// numbers of attributes. Vol 3, Part C, 12, and Part G, 7.
  fileprivate var automaticServices: [(service: ServiceDefinition, count: UInt32)] {
    guard addsAutomaticServices else { return [] }
    return [
      (.genericAccess(name: name ?? "Atto", appearance: advertising?.appearance ?? 0), 5),
      // Server Supported Features is 0: enhanced bearers are not offered.
      (.genericAttribute(serverFeatures: 0), 10),
    ].filter { added in !services.contains { $0.uuid == added.service.uuid } }
  }

  /// All handles that the profile states.
  fileprivate var statedHandles: [AttributeHandle] {
    var handles: [AttributeHandle?] = []
    for service in services {
      handles += [service.handle, service.endHandle]
      handles += service.includes.map(\.handle)
      for definition in service.characteristics.map(\.definition) {
        handles += [definition.handle, definition.valueHandle]
        handles += definition.descriptors.map(\.handle)
      }
    }
    return handles.compactMap(\.self)
  }
}
