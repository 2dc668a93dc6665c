internal import Atto
import Foundation

// What was added and is advertised is kept, and what a former run had is taken up again.

extension PublishingEngine {
  /// Publishes and advertises what was kept, as soon as the radio is on. Without a word: the app
  /// was told all by `willRestoreState`.
  func resume(_ publications: Carried<[Publication]>, _ wish: AdvertisingWish?) {
    guard !isShutDown else { return }
    toResume = { [weak self] in
      guard let self else { return }
      toResume = nil
      kept.advertisement = wish.map { KeptPublications.Advertisement($0) }
      for publication in publications.content { add(Carried(publication), isSilent: true) }
      inOrder { engine in
        engine.isResuming = false
        engine.save()
      }
      if let wish { advertise(wish, after: nil) }
    }
    if station?.state == .poweredOn { toResume?() }
  }

  func note(_ publication: Publication) {
    guard file != nil else { return }
    let includes = publication.includes.compactMap {
      keptOrder.firstIndex(of: ObjectIdentifier($0))
    }
    kept.services.append(KeptService(publication.service, includes: includes))
    keptOrder.append(ObjectIdentifier(publication.service))
    save()
  }

  func drop(_ service: ObjectIdentifier) {
    guard let index = keptOrder.firstIndex(of: service) else { return }
    keptOrder.remove(at: index)
    kept.services.remove(at: index)
    // Those that come after it have moved up.
    for other in kept.services.indices {
      kept.services[other].includes = kept.services[other].includes.compactMap {
        $0 == index ? nil : $0 > index ? $0 - 1 : $0
      }
    }
    save()
  }

  func save() {
    guard let file, !isShutDown, !isResuming else { return }
    file.save(kept)
  }
}
