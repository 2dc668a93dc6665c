import AttoATT

/// Discovers the whole database of a server with few requests.
///
/// The stages, each of which is skipped if there is nothing to search:
/// 1. The Database Hash, if the caller asks for it or passes a cached database: one Read By Type
///    Request. If it matches the cached database, that is the output. If the server refuses or has
///    no hash, discovery continues.
/// 2. All primary services.
/// 3. Secondary services, if the primary ones leave room for them.
/// 4. Characteristics of all services at once.
/// 5. Includes, between the declaration of a service and its first characteristic, where they must
///    be (Vol 3, Part G, 3.1).
/// 6. Descriptors: see `DescriptorSearch`. It does not use Read By Type Requests for descriptor
///    types, because some servers hang on them.
/// 7. Includes that stage 6 has found in the wrong place.
///
/// The results of all stages must be consistent: services do not overlap, everything else is in a
/// service, and no two attributes share a handle. Otherwise the peer broke the protocol or changed
/// its database during discovery.
///
/// Limits: all of ``DiscoveryLimits``; ``DiscoveryLimits/requests`` counts the stages together.
public struct DiscoverDatabase: Procedure, Sendable {
  private let cached: RemoteDatabase?
  private let limits: DiscoveryLimits
  private var stage: Stage
  private var requests = 0

  private var databaseHash: [UInt8]?
  /// Sorted by handle after the stage of secondary services.
  private var services: [Service] = []
  /// Sorted by handle.
  private var characteristics: [CharacteristicSearch.Found] = []
  /// Sorted by handle, of all characteristics together.
  private var descriptors: [Descriptor] = []
  /// Sorted by handle.
  private var includes: [IncludedService] = []
  /// The range that was searched for includes.
  private var includeRange: HandleRange?
  /// Includes that were found outside of `includeRange`.
  private var lateIncludes: [AttributeHandle] = []

  private enum Stage: Sendable {
    case hash(ReadUsingUUID)
    case primary(DiscoverPrimaryServices)
    case secondary(DiscoverSecondaryServices)
    case characteristics(CharacteristicSearch)
    case includes(FindIncludedServices)
    case descriptors(DescriptorSearch)
    case lateIncludes(FindIncludedServices)
    case ended
  }

  /// - Parameters:
  ///   - cached: the database from an earlier connection, which is used only if it has a hash.
  ///   - readsDatabaseHash: whether to read the hash even without a cached database, so that the
  ///     output can be cached. The hash is read first, so that it does not match a database that
  ///     changes during discovery. If the server reports a change meanwhile, discover again.
  ///   - limits: the limits of the discovery.
  public init(
    cached: RemoteDatabase? = nil, readsDatabaseHash: Bool = false,
    limits: DiscoveryLimits = .standard
  ) {
    self.cached = cached
    self.limits = limits
    stage =
      readsDatabaseHash || cached?.databaseHash != nil
      ? .hash(ReadUsingUUID(.databaseHash, extent: .firstResponse, limits: limits))
      : .primary(DiscoverPrimaryServices(limits: limits))
  }

  public var footprint: Footprint? { if case .hash = stage { .databaseHash } else { nil } }

  public mutating func encodeRequest(into out: inout OutputRawSpan) throws(ProcedureError) {
    // Each stage is moved out and back, so that its arrays are not copied.
    switch moveStage() {
    case .hash(var read):
      try read.encodeRequest(into: &out)
      stage = .hash(read)
    case .primary(var discovery):
      try discovery.encodeRequest(into: &out)
      stage = .primary(discovery)
    case .secondary(var discovery):
      try discovery.encodeRequest(into: &out)
      stage = .secondary(discovery)
    case .characteristics(var discovery):
      try discovery.encodeRequest(into: &out)
      stage = .characteristics(discovery)
    case .includes(var search):
      try search.encodeRequest(into: &out)
      stage = .includes(search)
    case .descriptors(var search):
      try search.encodeRequest(into: &out)
      stage = .descriptors(search)
    case .lateIncludes(var search):
      try search.encodeRequest(into: &out)
      stage = .lateIncludes(search)
    case .ended: preconditionFailure("a request after the end of a discovery")
    }
  }

  public mutating func receive(
    _ response: borrowing PDU, mtu: Int
  ) throws(ProcedureError) -> Step<RemoteDatabase> {
    requests += 1
    switch moveStage() {
    case .hash(var read):
      do {
        // This procedure has only one request.
        if case .finished(let output) = try read.receive(response, mtu: mtu),
          let database = accept(hash: output.values.first?.octets)
        {
          return .finished(database)
        }
      } catch {
        guard case .refused = error else { throw error }
      }
      stage = .primary(DiscoverPrimaryServices(limits: limits))
    case .primary(var discovery):
      switch try discovery.receive(response, mtu: mtu) {
      case .request: stage = .primary(discovery)
      case .finished(let found): try beginSecondary(after: found)
      }
    case .secondary(var discovery):
      switch try discovery.receiveOrEnd(response, mtu: mtu) {
      case .request: stage = .secondary(discovery)
      case .finished(let found): try beginCharacteristics(adding: found)
      }
    case .characteristics(var discovery):
      switch try discovery.receive(response, mtu: mtu) {
      case .request: stage = .characteristics(discovery)
      case .finished(let found):
        characteristics = found
        try beginIncludes()
      }
    case .includes(var search):
      switch try search.receive(response, mtu: mtu) {
      case .request: stage = .includes(search)
      case .finished(let found):
        includes = found
        try beginDescriptors()
      }
    case .descriptors(var search):
      switch try search.receive(response, mtu: mtu) {
      case .request: stage = .descriptors(search)
      case .finished(let output): try beginLateIncludes(after: output)
      }
    case .lateIncludes(var search):
      switch try search.receive(response, mtu: mtu) {
      case .request: stage = .lateIncludes(search)
      case .finished(let found): try add(lateIncludes: found)
      }
    case .ended: preconditionFailure("a response after the end of a discovery")
    }
    if case .ended = stage { return .finished(try database()) }
    try limits.check(requests, of: .requests)
    return .request
  }

  private mutating func moveStage() -> Stage {
    var taken = Stage.ended
    swap(&taken, &stage)
    return taken
  }
}

// MARK: - From stage to stage

extension DiscoverDatabase {
  /// The cached database, if the hash matches.
  private mutating func accept(hash: [UInt8]?) -> RemoteDatabase? {
    guard let hash, hash.count == 16 else { return nil }
    databaseHash = hash
    guard let cached, cached.matches(databaseHash: hash) else { return nil }
    return cached
  }

  /// Searches for secondary services outside of the primary ones, because services do not overlap.
  private mutating func beginSecondary(after primary: [Service]) throws(ProcedureError) {
    services = primary
    var start = AttributeHandle.min
    for service in primary where service.handle == start {
      guard let next = service.endGroupHandle.next else {
        return try beginCharacteristics(adding: [])
      }
      start = next
    }
    var end = AttributeHandle.max
    if let last = primary.last, last.endGroupHandle == .max {
      // The last handle before the services that fill the end without a gap.
      end = last.handle
      for service in primary.reversed() where service.endGroupHandle >= end {
        end = service.handle.previous ?? .min
      }
    }
    guard let range = HandleRange(start, end) else { return try beginCharacteristics(adding: []) }
    stage = .secondary(DiscoverSecondaryServices(in: range, limits: limits))
  }

  private mutating func beginCharacteristics(
    adding secondary: [Service]
  ) throws(ProcedureError) {
    services += secondary
    if services.count > limits.services {
      throw .limit(.services, limits.services)
    }
    if !secondary.isEmpty { services.sort { $0.handle < $1.handle } }
    for index in services.indices.dropFirst()
    where services[index].handle <= services[index - 1].endGroupHandle {
      throw .violation(.overlappingGroups(services[index].handle))
    }
    guard let discovery = CharacteristicSearch(inServices: services, limits: limits) else {
      return try beginIncludes()
    }
    stage = .characteristics(discovery)
  }

  private mutating func beginIncludes() throws(ProcedureError) {
    var first: AttributeHandle?
    var last: AttributeHandle?
    var index = 0
    for position in services.indices {
      let handle = services[position].handle
      // The first characteristic of this or a later service.
      while index < characteristics.count, characteristics[index].handle < handle {
        index += 1
      }
      var end = services[position].endGroupHandle
      if index < characteristics.count, let previous = characteristics[index].handle.previous {
        end = min(end, previous)
      }
      guard handle < end else { continue }
      first = first ?? handle.next
      last = end
    }
    guard let first, let last, let range = HandleRange(first, last) else {
      return try beginDescriptors()
    }
    includeRange = range
    stage = .includes(FindIncludedServices(in: range, knownServices: services, limits: limits))
  }

  private mutating func beginDescriptors() throws(ProcedureError) {
    let search = DescriptorSearch(
      known: try knownAttributes(), characteristics: characteristics, limits: limits)
    guard let search else { return }
    stage = .descriptors(search)
  }

  private mutating func beginLateIncludes(
    after output: DescriptorSearch.Output
  ) throws(ProcedureError) {
    descriptors = output.descriptors
    guard let first = output.includes.first, let last = output.includes.last,
      let range = HandleRange(first, last)
    else { return }
    // Includes in this range should have been listed.
    for handle in output.includes where includeRange?.contains(handle) == true {
      throw .violation(.contradiction(handle))
    }
    lateIncludes = output.includes
    stage = .lateIncludes(
      FindIncludedServices(in: range, knownServices: services, limits: limits))
  }

  private mutating func add(lateIncludes found: [IncludedService]) throws(ProcedureError) {
    // Both are sorted by handle. Comparing each with each would block the caller for seconds.
    var before = includes[...]
    let new = found.filter { include in
      while let first = before.first, first.handle < include.handle { before.removeFirst() }
      return before.first != include
    }
    for (include, handle) in zip(new, lateIncludes) where include.handle != handle {
      throw .violation(.contradiction(min(include.handle, handle)))
    }
    guard new.count == lateIncludes.count else {
      throw .violation(.incompleteResponse(.readByTypeRequest))
    }
    includes = (includes + new).sorted { $0.handle < $1.handle }
    _ = try knownAttributes()
  }
}

// MARK: - Putting it together

extension DiscoverDatabase {
  /// All declarations and values, sorted by handle. Throws if two share a handle or an include is
  /// not in a service.
  private func knownAttributes() throws(ProcedureError) -> [DescriptorSearch.Known] {
    for include in includes {
      guard let index = services.lastIndex(upTo: include.handle, by: { $0.handle }),
        services[index].contains(include.handle)
      else { throw .violation(.outsideServices(include.handle)) }
    }
    let known = declarations()
    return includes.isEmpty ? known : try merge(includes, into: known)
  }

  /// The declarations of services and characteristics, and the values. They are already sorted:
  /// each characteristic is, with its value, in a service and after the previous one.
  private func declarations() -> [DescriptorSearch.Known] {
    let (services, characteristics) = (services, characteristics)
    let count = services.count + 2 * characteristics.count
    return .make(capacity: count) { (known: inout OutputSpan<DescriptorSearch.Known>) in
      var next = 0
      for index in services.indices {
        let type: BluetoothUUID = services[index].isPrimary ? .primaryService : .secondaryService
        known.append(.init(services[index].handle, type))
        let end = services[index].endGroupHandle
        while next < characteristics.count, characteristics[next].handle <= end {
          known.append(.init(characteristics[next].handle, .characteristic))
          known.append(.init(characteristics[next].valueHandle, characteristics[next].uuid))
          next += 1
        }
      }
    }
  }

  /// Throws if an include has the handle of another attribute.
  private func merge(
    _ includes: [IncludedService], into declarations: [DescriptorSearch.Known]
  ) throws(ProcedureError) -> [DescriptorSearch.Known] {
    var known: [DescriptorSearch.Known] = []
    known.reserveCapacity(declarations.count + includes.count)
    var next = 0
    for include in includes {
      while next < declarations.count, declarations[next].handle < include.handle {
        known.append(declarations[next])
        next += 1
      }
      known.append(.init(include.handle, .include))
    }
    known += declarations[next...]
    for index in known.indices.dropFirst()
    where known[index].handle <= known[index - 1].handle {
      throw .violation(.contradiction(known[index].handle))
    }
    return known
  }

  /// Builds the tree of services, characteristics, descriptors and includes.
  private func database() throws(ProcedureError) -> RemoteDatabase {
    var tree = services
    var characteristic = 0
    var descriptor = 0
    var include = 0
    for index in tree.indices {
      let end = tree[index].endGroupHandle
      let firstCharacteristic = characteristic
      while characteristic < characteristics.count, characteristics[characteristic].handle <= end {
        characteristic += 1
      }
      let firstDescriptor = descriptor
      while descriptor < descriptors.count, descriptors[descriptor].handle <= end {
        descriptor += 1
      }
      if characteristic > firstCharacteristic {
        tree[index].characteristics = join(
          characteristics[firstCharacteristic..<characteristic],
          Array(descriptors[firstDescriptor..<descriptor]))
      }
      let firstInclude = include
      while include < includes.count, includes[include].handle <= end { include += 1 }
      if include > firstInclude { tree[index].includes = Array(includes[firstInclude..<include]) }
    }
    return RemoteDatabase(services: tree, databaseHash: databaseHash)
  }

  /// The characteristics of one service, each with its slice of the service's descriptors. So a
  /// characteristic keeps only the descriptors of its service in memory.
  private func join(
    _ characteristics: ArraySlice<CharacteristicSearch.Found>, _ descriptors: [Descriptor]
  ) -> [Characteristic] {
    .make(capacity: characteristics.count) { (joined: inout OutputSpan<Characteristic>) in
      var index = 0
      for characteristic in characteristics {
        let first = index
        let end = characteristic.endGroupHandle
        while index < descriptors.count, descriptors[index].handle <= end { index += 1 }
        joined.append(characteristic.with(descriptors[first..<index]))
      }
    }
  }
}
