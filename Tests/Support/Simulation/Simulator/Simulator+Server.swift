import AttoATT
import AttoGATT

// The actions of a device as a server.

extension Simulator {
  private enum ServerAction {
    case notification, indication, severalNotifications, cancel, databaseChange, newValue, nothing
  }
  private static let serverActions: KeyValuePairs<ServerAction, Int> = [
    .notification: 4, .indication: 2, .severalNotifications: 1, .cancel: 1, .databaseChange: 2,
    .newValue: 1, .nothing: 1,
  ]

  func actAsServer(_ end: LinkEnd) {
    guard end.device.server != nil else { return startSomething(end) }
    switch random.pick(Self.serverActions) {
    case .notification: notify(end)
    case .indication: indicate(end)
    case .severalNotifications: notifyMany(end)
    case .cancel:
      guard plan.hazards.contains(.cancels), !end.openIndications.isEmpty else { break }
      let id = end.openIndications[random.below(end.openIndications.count)]
      count(.cancels)
      note { "\(end.name) cancels an indication" }
      end.openIndications.removeAll { $0 == id }
      end.judge.forget(indication: id)
      end.perform {
        if end.side.group.session(ofIndication: id) !== end.session {
          end.fail("an indication has a bearer", "\(id)")
        }
        end.session.cancel(indication: id)
      }
    case .databaseChange: changeDatabase(end.device)
    case .newValue:
      let stored = end.device.model?.rows.filter {
        if case .stored = $0.kind { true } else { $0.handle == 3 }
      }
      guard let stored, !stored.isEmpty else { break }
      end.device.setValue(stored[random.below(stored.count)].handle, someOctets(512))
      end.device.pump()
    case .nothing: break
    }
  }

  /// Adds, removes and re-adds services at the same handles, and changes Extended Properties.
  func changeDatabase(_ device: Device) {
    guard plan.hazards.contains(.databaseChanges), let model = device.model else { return }
    count(.databaseChanges)
    let services = model.rows.filter(\.isService)
    switch random.below(7) {
    case 0, 1:
      let isFull = services.last?.groupEnd == 0xFFFF
      if services.count < 12, !isFull { device.add(someService(of: device, at: nil)) }
    case 5: addWhatDoesNotFit(device, services)
    case 6:
      // At the end of the handle space, with unused handles.
      guard let last = services.last, last.groupEnd < 0xFFC0 else { break }
      var service = someService(of: device, at: AttributeHandle(0xFFC0))
      service.endHandle = random.chance(0.5) ? .max : AttributeHandle(0xFFF0)
      device.add(service)
    case 2, 3:
      // The generic services stay.
      guard services.count > 2 else { break }
      device.remove(services[2 + random.below(services.count - 2)].handle)
    default:
      let rows = model.rows.filter { $0.type == ModelRow.extendedProperties }
      if rows.isEmpty {
        // In the gap before the last service, if there is one.
        for (former, next) in zip(services, services.dropFirst())
        where next.handle - former.groupEnd > 12 {
          let at = AttributeHandle(former.groupEnd + 1)
          var service = someService(of: device, at: at)
          service.characteristics = Array(service.characteristics.prefix(1))
          device.add(service)
          break
        }
      } else {
        device.setValue(rows[random.below(rows.count)].handle, [UInt8(random.below(4)), 0])
      }
    }
    device.pump()
  }

  /// Checks that adding an invalid service changes nothing.
  private func addWhatDoesNotFit(_ device: Device, _ services: [ModelRow]) {
    guard let server = device.server, let last = services.last else { return }
    let before = (server.database.count, server.databaseHash())
    var service = ServiceDefinition(0x1234, handle: AttributeHandle(last.handle))
    let reason: DatabaseError
    switch random.below(3) {
    case 0: reason = .handleTaken(AttributeHandle(last.handle))
    case 1:
      service = ServiceDefinition(0x1234, includes: [IncludeDefinition(service: 0xFFBF)])
      reason = .noSuchService(0xFFBF)
    default:
      service = ServiceDefinition(
        0x1234, handle: 0xFFBA,
        characteristics: [
          CharacteristicDefinition(
            0xFF01, properties: .read, value: .constant([UInt8](repeating: 0, count: 513)))
        ])
      reason = .valueTooLong(0xFFBC, 513, limit: 512)
    }
    do throws(DatabaseError) {
      try server.add(service)
      fail("services are laid out as defined", "\(device.name): one that does not fit was added")
    } catch {
      let isFull = error == .noHandlesLeft || reason == .noSuchService(0xFFBF)
      if error != reason, !isFull {
        fail("services are laid out as defined", "\(device.name): \(error), not \(reason)")
      }
    }
    if server.database.count != before.0 || server.databaseHash() != before.1 {
      fail("services are laid out as defined", "\(device.name): half a service was added")
    }
  }

  private func serial(_ device: Device) -> [UInt8] {
    device.serial += 1
    return (0..<4).map { UInt8(truncatingIfNeeded: device.serial >> ($0 * 8)) }
  }

  /// A value that the client has usually configured. Like `LocalServer`, checks who may receive it.
  private func target(_ end: LinkEnd, _ bit: UInt16) -> UInt16? {
    guard let server = end.device.server, let model = end.device.model,
      let client = end.judge.client, let engine = end.session.client
    else { return nil }
    let values = model.rows.filter {
      $0.configuration != nil && $0.type != ModelRow.serviceChanged
    }
    guard !values.isEmpty else { return nil }
    let wanted = values.filter { (client.configurations[$0.configuration ?? 0] ?? 0) & bit != 0 }
    let from = wanted.isEmpty || random.chance(0.1) ? values : wanted
    let handle = from[random.below(from.count)].handle
    let allowed = server.deliveries(of: AttributeHandle(handle), to: engine).rawValue
    let ought = model.deliveries(of: handle, to: client)
    if allowed != ought {
      end.fail(
        "values only to those who asked",
        "\(AttributeHandle(handle)) may be sent \(allowed), not \(ought)")
    }
    return allowed & bit != 0 ? handle : nil
  }

  /// Whether a value may be refused now, because the outbox is full or ATT_MTU is being exchanged.
  private func mayRefuse(_ end: LinkEnd) -> Bool {
    !end.isUsable || end.judge.isExchanging
      || end.session.bearer.outbox.byteCount >= end.session.bearer.configuration.outboxLimit
  }

  func notify(_ end: LinkEnd) {
    guard let handle = target(end, 1), let end = end.side.carrier(ofValues: [handle]) else {
      return
    }
    for _ in 0..<(random.chance(0.1) ? 40 : 1) {
      let value = serial(end.device) + someOctets(508)
      let pdu = [0x1B] + octets(handle) + value.prefix(end.judge.mtu - 3)
      let mayRefuse = mayRefuse(end)
      end.judge.notifications.append(pdu)
      var isSent = false
      end.perform {
        isSent = end.session.notify(AttributeHandle(handle), value.span.bytes)
        if !isSent { end.judge.notifications.removeAll { $0 == pdu } }
      }
      if isSent { end.side.noteValue(handle, at: end) }
      count(isSent ? .notifications : .refusedNotifications)
      if isSent == mayRefuse {
        end.fail("values are taken while there is room", "\(hex(pdu)) was taken: \(isSent)")
      }
      if !isSent { break }
    }
  }

  private func notifyMany(_ end: LinkEnd) {
    var values: [(handle: AttributeHandle, value: [UInt8])] = []
    for _ in 0..<(1 + random.below(3)) {
      guard let handle = target(end, 1) else { return }
      values.append((AttributeHandle(handle), serial(end.device) + someOctets(20)))
    }
    guard let end = end.side.carrier(ofValues: values.map(\.handle.rawValue)) else { return }
    var pdu: [UInt8] = [0x23]
    for (handle, value) in values {
      pdu += octets(handle.rawValue) + octets(UInt16(value.count)) + value
    }
    let understands = (end.judge.client?.features ?? 0) & 4 != 0
    let ought =
      values.count > 1 && understands && pdu.count <= end.judge.mtu && !mayRefuse(end)
    end.judge.notifications.append(pdu)
    end.perform {
      let isSent = end.session.notify(values)
      if !isSent { end.judge.notifications.removeAll { $0 == pdu } }
      for (handle, _) in values where isSent { end.side.noteValue(handle.rawValue, at: end) }
      if isSent != ought {
        end.fail("values are taken while there is room", "\(hex(pdu)) was taken: \(isSent)")
      }
    }
  }

  func indicate(_ end: LinkEnd) {
    guard let handle = target(end, 2), end.isUsable,
      let end = end.side.carrier(ofValues: [handle])
    else { return }
    for _ in 0..<(random.chance(0.2) ? 6 : 1) {
      let value = serial(end.device) + someOctets(508)
      end.perform {
        do throws(ProcedureError) {
          // The judge is informed before it checks the outbox.
          let id = try end.session.indicate(AttributeHandle(handle), value, at: now)
          end.judge.indications.append((id, handle, value))
          end.openIndications.append(id)
          end.side.noteValue(handle, at: end)
          count(.indications)
        } catch {
          let limit = end.session.bearer.configuration.maximumWaiting
          if error != .misuse(.tooManyIndications(limit: limit))
            || end.judge.indications.count < limit - 1
          {
            end.fail("values are taken while there is room", "\(error)")
          }
        }
      }
    }
  }
}
