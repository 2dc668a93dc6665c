import ATT

/// Discovers everything that a server holds, with few requests.
///
/// The stages, each of which is skipped where it has nothing to ask:
/// 1. The Database Hash, if the caller asks for it or has a database to compare with: one Read By
///    Type Request. If it is the cached database's, that one is the output at once. A server that
///    has no hash, or refuses to tell, is discovered.
/// 2. All primary services.
/// 3. Secondary services, where primary ones have left room for any.
/// 4. Characteristics, over all services at once.
/// 5. Includes, where a service has room for them: between its declaration and its first
///    characteristic, where they must be. Vol 3, Part G, 3.1.
/// 6. Descriptors: see `DescriptorSearch`. Not with Read By Type Requests for descriptor types,
///    over which some servers hang.
/// 7. Includes that stage 6 has met where they should not be.
///
/// What the stages say must fit together: services do not overlap, everything else lies in a
/// service, and no two attributes have one handle. If not, the peer broke the protocol, or changed
/// its database in the middle of discovery.
///
/// Limits: all of ``DiscoveryLimits``; ``DiscoveryLimits/requests`` counts the stages together.
public struct DiscoverDatabase: Procedure, Sendable {
  private let cached: RemoteDatabase?
  private let limits: DiscoveryLimits
  private var stage: Stage
  private var requests = 0

  private var databaseHash: [UInt8]?
  /// By handle, once the second stage of services is over.
  private var services: [Service] = []
  /// By handle.
  private var characteristics: [CharacteristicSearch.Found] = []
  /// By handle, of all characteristics: how far each of these goes tells which are its own.
  private var descriptors: [Descriptor] = []
  /// By handle.
  private var includes: [IncludedService] = []
  /// Where includes have been asked for.
  private var includeRange: HandleRange?
  /// Includes that were found where nobody had asked for them.
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
  ///   - cached: what the server held at an earlier connection; of use only with its hash.
  ///   - readsDatabaseHash: whether to read the hash, so that the output can be cached, even if
  ///     there is nothing to compare it with. It is read before anything else: a database that
  ///     changes afterwards is then not taken for the one that the hash is of, unless it changes
  ///     back: whoever was told of a change in the middle of a discovery discovers anew.
  ///   - limits: how much to take from the server.
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

  public mutating func encodeRequest(into out: inout OutputRawSpan) throws(ProcedureError) {
    // Each stage is taken out and put back, so that its arrays are never copied.
    switch takeStage() {
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
    switch takeStage() {
    case .hash(var read):
      do {
        // One request is all that this takes.
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

  private mutating func takeStage() -> Stage {
    var taken = Stage.ended
    swap(&taken, &stage)
    return taken
  }
}

// MARK: - From stage to stage

extension DiscoverDatabase {
  /// The cached database, if it is still good.
  private mutating func accept(hash: [UInt8]?) -> RemoteDatabase? {
    guard let hash, hash.count == 16 else { return nil }
    databaseHash = hash
    guard let cached, cached.matches(databaseHash: hash) else { return nil }
    return cached
  }

  /// A service is a group, and groups do not overlap: where primary services are, no secondary
  /// service can be.
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
      // The free handles before the services that reach the end without a gap.
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
      throw .violation(.limit(.services, limits.services))
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
      // The first characteristic of this service, or of one after it.
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
    // Where they have been asked for, they should have been told.
    for handle in output.includes where includeRange?.contains(handle) == true {
      throw .violation(.contradiction(handle))
    }
    lateIncludes = output.includes
    stage = .lateIncludes(
      FindIncludedServices(in: range, knownServices: services, limits: limits))
  }

  private mutating func add(lateIncludes found: [IncludedService]) throws(ProcedureError) {
    let new = found.filter { !includes.contains($0) }
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
  /// All declarations and values, by handle. Throws if two are at one handle, or an include is
  /// in no service.
  private func knownAttributes() throws(ProcedureError) -> [DescriptorSearch.Known] {
    for include in includes {
      guard let index = services.lastIndex(upTo: include.handle, by: { $0.handle }),
        services[index].contains(include.handle)
      else { throw .violation(.outsideServices(include.handle)) }
    }
    let known = declarations()
    return includes.isEmpty ? known : try merge(includes, into: known)
  }

  /// Services, characteristics and their values: each characteristic lies, with its value, in one
  /// of the services and after the one before, so that they rise.
  private func declarations() -> [DescriptorSearch.Known] {
    let (services, characteristics) = (services, characteristics)
    let count = services.count + 2 * characteristics.count
    return Array(capacity: count) { (known: inout OutputSpan<DescriptorSearch.Known>) in
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

  /// Throws if an include stands where something else does, or another.
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

  /// Puts descriptors into their characteristics, and those and includes into their services.
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

  /// The characteristics of one service, each with its part of the service's descriptors: who keeps
  /// a characteristic keeps no more than these.
  private func join(
    _ characteristics: ArraySlice<CharacteristicSearch.Found>, _ descriptors: [Descriptor]
  ) -> [Characteristic] {
    Array(capacity: characteristics.count) { (joined: inout OutputSpan<Characteristic>) in
      var index = 0
      for characteristic in characteristics {
        let first = index
        let end = characteristic.endGroupHandle
        while index < descriptors.count, descriptors[index].handle <= end { index += 1 }
        joined.append(Characteristic(characteristic, descriptors: descriptors[first..<index]))
      }
    }
  }
}
