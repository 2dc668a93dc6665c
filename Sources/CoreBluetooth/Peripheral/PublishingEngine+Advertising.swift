internal import Atto
import Foundation

// What is in the air, and the centrals that come by it.

extension PublishingEngine {
  /// - Parameter stops: how often the app had ended it by then; nil: it does not know of this one.
  func advertise(_ wish: AdvertisingWish, after stops: Int?) {
    guard advertisement == nil, advertising == nil else {
      return told(CBError(.alreadyAdvertising))
    }
    guard let station, let adapter = station.adapter else { return }
    let host = station.host
    // Nobody shall come before the services are there.
    let before = changes
    advertising = Task { @RadioLoop [weak self] in
      await before?.value
      do throws(RadioError) {
        let advertisement = try await adapter.advertise(wish.parameters())
        guard let self, !Task.isCancelled else { return advertisement.stop() }
        self.advertisement = advertisement
        kept.advertisement = KeptPublications.Advertisement(wish)
        save()
        if let stops { told(nil, after: stops) }
        for await link in advertisement.links { host.take(link) }
      } catch {
        guard let self, !Task.isCancelled else { return }
        advertising = nil
        told(ErrorMapping.advertising(error))
      }
    }
  }

  private func told(_ error: CBError?, after stops: Int = 0) {
    post { manager in
      manager.own.withLock { own in
        if error == nil, own.stops == stops { own.isAdvertising = true }
      }
      manager.delegate?.peripheralManagerDidStartAdvertising(manager, error: error)
    }
  }

  func stopAdvertising() {
    advertising?.cancel()
    advertising = nil
    advertisement?.stop()
    advertisement = nil
    guard kept.advertisement != nil else { return }
    kept.advertisement = nil
    save()
  }
}
