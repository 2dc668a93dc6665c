import AttoEventLoop
import AttoGateway
import AttoText

/// The gateway as a device of Home Assistant.
extension MQTTFrontEnd {
  /// The time between two publications of the gateway's numbers, if they have changed.
  static let ownPeriod: Duration = .seconds(30)

  /// Announces the gateway, and publishes its numbers from now on.
  func announceOwn() {
    guard let homeAssistant, fleetName == nil else { return }
    for message in homeAssistant.own { publisher?.send(message) }
    lastOwn = nil
    publishOwn()
  }

  private func publishOwn() {
    ownTimer?.cancel()
    ownTimer = nil
    guard let hub, let publisher, publisher.isPublishing else { return }
    let slots = hub.assumeIsolated { $0.slots }
    let payload = JSON.object([
      ("started", .string(started.text)), ("connections", .integer(slots.allocated.count)),
      ("free", .integer(slots.free)), ("queue", .integer(publisher.counts.waiting)),
    ]).octets
    if payload != lastOwn { publish(names.state, payload) }
    lastOwn = payload
    ownTimer = LoopTimer(after: Self.ownPeriod, on: loop) { [weak self] in
      guard let self else { return }
      self.assumeIsolated { $0.publishOwn() }
    }
  }
}
