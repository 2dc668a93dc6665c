internal import Atto
import Foundation

struct PublishedService {
  let service: UncheckedBox<CBMutableService>
  let handle: AttributeHandle
  /// The handles of its values.
  let values: [AttributeHandle]
  let includes: [ObjectIdentifier]
  /// Without its includes.
  let saved: SavedService

  var id: ObjectIdentifier { ObjectIdentifier(service.content) }
}

extension PublishingEngine {
  func add(_ publication: UncheckedBox<Publication>, isSilent: Bool = false) {
    changes.append { await self.publish(publication, isSilent: isSilent) }
  }

  private func publish(_ carried: UncheckedBox<Publication>, isSilent: Bool) async {
    guard let radio else { return }
    let publication = carried.content
    let service = UncheckedBox(publication.service)
    let includes = publication.includes.compactMap { include in
      services.first { $0.service.content === include }?.handle
    }
    guard includes.count == publication.includes.count else {
      return added(service, CBError(.invalidParameters))
    }
    guard ![0x1800, 0x1801].contains(service.content.uuid.bluetooth) else {
      return added(service, CBError(.uuidNotAllowed))
    }
    do throws(AttoError) {
      let layout = try await radio.server.add(publication.definition(includes: includes))
      place(carried.content, layout, on: radio)
      if !isSilent { added(service, nil) }
    } catch {
      added(service, CBError(.outOfSpace, userInfo: [NSDebugDescriptionErrorKey: "\(error)"]))
    }
  }

  private func place(
    _ publication: Publication, _ layout: Database.Layout, on radio: RadioContext
  ) {
    let values = layout.characteristics.map(\.valueHandle)
    for (characteristic, value) in zip(publication.characteristics, values) {
      entries[value] = Entry(characteristic: UncheckedBox(characteristic))
      radio.host.setOwner(of: value, self)
    }
    services.append(
      PublishedService(
        service: UncheckedBox(publication.service), handle: layout.range.start, values: values,
        includes: publication.includes.map { ObjectIdentifier($0) },
        saved: SavedService(publication.service)))
    save()
  }

  private func added(_ service: UncheckedBox<CBMutableService>, _ error: CBError?) {
    post { manager in
      if error != nil {
        manager.own.withLock { own in own.services.removeAll { $0 === service.content } }
      }
      manager.delegate?.peripheralManager(manager, didAdd: service.content, error: error)
    }
  }

  func remove(_ service: UncheckedBox<CBMutableService>) {
    changes.append { [self] in
      guard let index = services.firstIndex(where: { $0.service.content === service.content }),
        let server = radio?.server
      else { return }
      let removed = services.remove(at: index)
      forget(removed.values)
      save()
      do throws(AttoError) {
        _ = try await server.remove(service: removed.handle)
      } catch {
        Warning.log("cannot remove \(service.content): \(error)")
      }
    }
  }

  func removeAll() {
    let server = radio?.server
    changes.append { [self] in
      let all = services
      services = []
      save()
      // In reverse order: a service is removed before those that it includes.
      for service in all.reversed() {
        forget(service.values)
        _ = try? await server?.remove(service: service.handle)
      }
    }
  }

  private func forget(_ values: [AttributeHandle]) {
    for handle in values {
      radio?.host.setOwner(of: handle, nil)
      guard let entry = entries.removeValue(forKey: handle) else { continue }
      entry.characteristic.content.publication.withLock { $0.subscribers = [] }
    }
  }

  // MARK: Restoration

  /// Publishes and advertises the saved state as soon as the radio is on, without callbacks:
  /// `willRestoreState` has reported it.
  func resume(_ publications: UncheckedBox<[Publication]>, _ request: AdvertisingRequest?) {
    guard !isShutDown else { return }
    whenPoweredOn { [weak self] in
      guard let self else { return }
      savedAdvertisement = request.map { SavedPublications.Advertisement($0) }
      for publication in publications.content { add(UncheckedBox(publication), isSilent: true) }
      changes.append { [self] in
        isResuming = false
        save()
      }
      if let request { advertise(request, after: nil) }
    }
  }

  func save() {
    guard !isResuming else { return }
    let order = services.map(\.id)
    let saved = services.map { service in
      var saved = service.saved
      saved.includes = service.includes.compactMap { order.firstIndex(of: $0) }
      return saved
    }
    let content = SavedPublications(services: saved, advertisement: savedAdvertisement)
    save { content }
  }
}
