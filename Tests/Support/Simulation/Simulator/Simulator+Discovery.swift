import AttoATT
import AttoGATT

// Compares the discovered databases of clients with the actual ones.

extension Simulator {
  /// Discovers the other side's database like a client that caches it.
  func discover(_ end: LinkEnd) {
    let number = end.peer.device.number
    let view = end.device.views[number] ?? Device.View()
    let told = view.told
    let revision = end.peer.device.model?.revision
    let connection = end.connection
    end.start(
      DiscoverDatabase(cached: view.database, readsDatabaseHash: true), "Discover Database"
    ) { result, watch in
      guard connection.isTrusted else { return }
      // A discovery that failed may have read the hash.
      if case .failure = result { watch.end.device.becomeStale(connection) }
      switch result {
      case .success(let database):
        let isStill = revision == watch.end.peer.device.model?.revision
        if isStill { watch.end.simulator.compare(database, watch.end) }
        var view = watch.end.device.views[number] ?? Device.View()
        // If the database changed during discovery and back later, the hash would match wrongly.
        view.database = isStill ? database : RemoteDatabase(services: database.services)
        view.knownAt = told
        watch.end.device.views[number] = view
      case .failure(.violation(let violation)):
        // A database that changes during discovery may contradict itself.
        if revision == watch.end.peer.device.model?.revision {
          watch.end.fail("honest servers break no rule", "\(violation)")
        }
      default: break
      }
    }
  }

  /// At rest, clients that were informed of a change discover again, and clients that are informed
  /// only in responses send a request.
  func lookAgain(_ end: LinkEnd) {
    let view = end.device.views[end.peer.device.number] ?? Device.View()
    if view.database != nil, !view.isKnown {
      discover(end)
    } else if let client = end.peer.judge.client, client.features & 1 != 0 {
      end.start(ReadCharacteristicValue(0x0003), "Read to be told")
    }
  }

  /// Checks that a client with Service Changed configured knows the actual database.
  func compare(_ end: LinkEnd) {
    let peer = end.peer
    guard peer.isUsable, let model = peer.device.model, let client = peer.judge.client,
      let view = end.device.views[peer.device.number], let database = view.database
    else { return }
    let canTell =
      view.serviceChanged != nil && model.serviceChangedHandle(for: client) != nil
      || client.features & 1 != 0
    guard canTell else { return }
    count(.comparisons)
    guard view.isKnown else { return }
    compare(database, end)
  }

  private func compare(_ database: RemoteDatabase, _ end: LinkEnd) {
    guard let model = end.peer.device.model else { return }
    checkLookups(database, end)
    let found = Self.lines(database)
    let ought = Self.lines(model)
    guard found != ought else { return }
    let place = zip(found, ought).prefix { $0 == $1 }.count
    end.fail(
      "the client's view is the server's database",
      "\(place < found.count ? found[place] : "an end"), not "
        + "\(place < ought.count ? ought[place] : "an end")")
  }

  /// Checks that every attribute is found by its handle and its type.
  private func checkLookups(_ database: RemoteDatabase, _ end: LinkEnd) {
    for service in database.services {
      var isFound = database.service(at: service.handle) == service
      isFound = isFound && database.services(service.uuid).contains(service)
      isFound = isFound && database.service(containing: service.endGroupHandle) == service
      for include in service.includes {
        isFound = isFound && database.service(includedAs: include)?.uuid == include.uuid
      }
      for characteristic in service.characteristics {
        let handle = characteristic.valueHandle
        isFound = isFound && database.characteristic(valueHandle: handle) == characteristic
        isFound = isFound && database.characteristics(characteristic.uuid).contains(characteristic)
        for descriptor in characteristic.descriptors {
          isFound = isFound && database.descriptor(at: descriptor.handle) == descriptor
        }
      }
      if !isFound { end.fail("what was discovered can be looked up", "\(service)") }
    }
  }

  /// A line for each attribute that discovery finds.
  private static func lines(_ database: RemoteDatabase) -> [String] {
    var lines: [(AttributeHandle, String)] = []
    for service in database.services {
      lines.append(
        (
          service.handle,
          "service \(service.handle)-\(service.endGroupHandle) \(service.isPrimary) "
            + hex(service.uuid.octets)
        ))
      for include in service.includes {
        lines.append(
          (
            include.handle,
            "include \(include.handle) \(include.startHandle)-\(include.endGroupHandle) "
              + hex(include.uuid.octets)
          ))
      }
      for characteristic in service.characteristics {
        lines.append(
          (
            characteristic.declarationHandle,
            "characteristic \(characteristic.declarationHandle) \(characteristic.valueHandle)-"
              + "\(characteristic.endGroupHandle) \(characteristic.properties.rawValue) "
              + hex(characteristic.uuid.octets)
          ))
        for descriptor in characteristic.descriptors {
          lines.append(
            (descriptor.handle, "descriptor \(descriptor.handle) \(hex(descriptor.uuid.octets))"))
        }
      }
    }
    return lines.sorted { $0.0 < $1.0 }.map(\.1)
  }

  private static func lines(_ model: ServerModel) -> [String] {
    var lines: [String] = []
    var serviceEnd: UInt16 = 0
    var values: Set<UInt16> = []
    for (index, row) in model.rows.enumerated() {
      let handle = AttributeHandle(row.handle)
      guard case .constant(let value) = row.kind,
        row.isService || row.type == ModelRow.include
          || row.type == ModelRow.characteristic
      else {
        if !values.contains(row.handle) { lines.append("descriptor \(handle) \(hex(row.type))") }
        continue
      }
      if row.isService {
        serviceEnd = row.groupEnd
        lines.append(
          "service \(handle)-\(AttributeHandle(row.groupEnd)) "
            + "\(row.type == ModelRow.primary) \(hex(value))")
      } else if row.type == ModelRow.include {
        var uuid = Array(value[4...])
        let start = number(value, 0)
        if uuid.isEmpty, let target = model.row(start),
          case .constant(let own) = model.rows[target].kind
        {
          uuid = own
        }
        lines.append(
          "include \(handle) \(AttributeHandle(start))-\(AttributeHandle(number(value, 2))) "
            + hex(uuid))
      } else {
        let valueHandle = number(value, 1)
        values.insert(valueHandle)
        let next = model.rows[(index + 1)...].first {
          $0.isService || $0.type == ModelRow.characteristic
        }
        let end = next.map { min($0.handle - 1, serviceEnd) } ?? serviceEnd
        lines.append(
          "characteristic \(handle) \(AttributeHandle(valueHandle))-\(AttributeHandle(end)) "
            + "\(value[0]) \(hex(Array(value[3...])))")
      }
    }
    return lines
  }
}
