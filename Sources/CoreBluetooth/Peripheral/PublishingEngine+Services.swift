internal import Atto
import Foundation

// Adding and removing services, one change after another.

extension PublishingEngine {
  /// Does something after all that was begun so before.
  func inOrder(_ body: @escaping @RadioLoop @Sendable (PublishingEngine) async -> Void) {
    let before = changes
    changes = Task { @RadioLoop in
      await before?.value
      await body(self)
    }
  }

  func add(_ carried: Carried<Publication>, isSilent: Bool = false) {
    inOrder { await $0.publish(carried, isSilent: isSilent) }
  }

  private func publish(_ carried: Carried<Publication>, isSilent: Bool) async {
    let publication = carried.content
    let service = publication.service
    guard let server = station?.server else { return }
    let includes = publication.includes.map { services[ObjectIdentifier($0)]?.handle }
    let known = includes.compactMap(\.self)
    guard known.count == includes.count else {
      return added(Carried(service), CBError(.invalidParameters))
    }
    guard ![0x1800, 0x1801].contains(service.uuid.bluetooth) else {
      return added(Carried(service), CBError(.uuidNotAllowed))
    }
    let definition = publication.definition(includes: known)
    do throws(AttoError) {
      let layout = try await server.add(definition)
      place(carried, layout)
      note(carried.content)
      if !isSilent { added(Carried(carried.content.service), nil) }
    } catch {
      added(
        Carried(carried.content.service),
        CBError(.outOfSpace, userInfo: [NSDebugDescriptionErrorKey: "\(error)"]))
    }
  }

  private func place(_ carried: Carried<Publication>, _ layout: Database.Layout) {
    let publication = carried.content
    guard let host = station?.host else { return }
    var values: [AttributeHandle] = []
    for (characteristic, place) in zip(publication.characteristics, layout.characteristics) {
      entries[place.value] = Entry(characteristic: Carried(characteristic))
      host.own(place.value, self)
      values.append(place.value)
    }
    services[ObjectIdentifier(publication.service)] = (layout.range.start, values)
  }

  private func added(_ service: Carried<CBMutableService>, _ error: CBError?) {
    post { manager in
      if error != nil {
        manager.own.withLock { own in own.services.removeAll { $0 === service.content } }
      }
      manager.delegate?.peripheralManager(manager, didAdd: service.content, error: error)
    }
  }

  func remove(_ service: Carried<CBMutableService>) {
    inOrder { await $0.take(back: service) }
  }

  private func take(back service: Carried<CBMutableService>) async {
    guard let (handle, values) = services.removeValue(forKey: ObjectIdentifier(service.content)),
      let server = station?.server
    else { return }
    forget(values)
    drop(ObjectIdentifier(service.content))
    do throws(AttoError) {
      _ = try await server.remove(service: handle)
    } catch {
      Misuse.log("\(service.content) could not be removed: \(error)")
    }
  }

  func removeAll() {
    let server = station?.server
    inOrder { engine in
      // Those that include others first: the reverse of the order in which they were added.
      let all = engine.services.values.sorted { $0.handle > $1.handle }
      engine.services = [:]
      engine.kept.services = []
      engine.keptOrder = []
      engine.save()
      for (handle, values) in all {
        engine.forget(values)
        _ = try? await server?.remove(service: handle)
      }
    }
  }

  func forget(_ values: [AttributeHandle]) {
    for handle in values {
      station?.host.own(handle, nil)
      guard let entry = entries.removeValue(forKey: handle) else { continue }
      entry.characteristic.content.publication.withLock { $0.subscribers = [] }
    }
  }
}
