internal import Atto
import Foundation

extension PublishingEngine {
  /// - Parameter stops: the number of `stopAdvertising` calls before this request; nil: a restored
  ///   advertisement, which is not reported.
  func advertise(_ request: AdvertisingRequest, after stops: Int?) {
    guard advertisement == nil, advertising == nil else {
      return started(CBError(.alreadyAdvertising))
    }
    guard let radio, let adapter = radio.adapter else { return }
    let host = radio.host
    // Centrals may connect only when the services are published.
    advertising = Task { @RadioLoop [weak self, before = changes.last] in
      await before?.value
      do throws(RadioError) {
        let advertisement = try await adapter.advertise(request.parameters())
        guard let self, !Task.isCancelled else { return advertisement.stop() }
        self.advertisement = advertisement
        savedAdvertisement = SavedPublications.Advertisement(request)
        save()
        if let stops { started(nil, after: stops) }
        for await link in advertisement.links { host.accept(link) }
      } catch {
        guard let self, !Task.isCancelled else { return }
        advertising = nil
        started(ErrorMapping.advertising(error))
      }
    }
  }

  private func started(_ error: CBError?, after stops: Int = 0) {
    post { manager in
      manager.own.withLock { own in
        if error == nil, own.stops == stops { own.isAdvertising = true }
      }
      manager.observers.check()
      manager.delegate?.peripheralManagerDidStartAdvertising(manager, error: error)
    }
  }

  func stopAdvertising() {
    advertising?.cancel()
    advertising = nil
    advertisement?.stop()
    advertisement = nil
    guard savedAdvertisement != nil else { return }
    savedAdvertisement = nil
    save()
  }
}
