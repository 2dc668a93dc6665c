import AttoEventLoop
import AttoGateway
import AttoText

/// Devices whose presence is published. Each gateway of a fleet publishes what it hears itself, below its own name.
extension MQTTFrontEnd {
  func heardPresence(_ heard: Heard) {
    for (index, report) in presence.receive(heard) {
      publishPresence(index, report, address: report.isHome ? heard.discovery.address.digits : nil)
    }
    // Times only get later, unless a device has come back.
    if presenceTimer == nil { watchPresence() }
  }

  /// Publishes all announcements and states again.
  func announcePresence() {
    for (index, session) in presence.sessions.enumerated() {
      if let homeAssistant { publisher?.send(homeAssistant.presence(session.configuration)) }
      if let last = session.last { publishPresence(index, last, address: nil) }
    }
  }

  /// Waits for the time at which the first of the devices may be away.
  func watchPresence() {
    presenceTimer?.cancel()
    presenceTimer = nil
    guard publisher != nil, let time = presence.nextTime else { return }
    presenceTimer = LoopTimer(after: .nanoseconds(time - loop.now), on: loop) { [weak self] in
      guard let self else { return }
      self.assumeIsolated { frontEnd in
        for (index, report) in frontEnd.presence.advance(to: frontEnd.loop.now) {
          frontEnd.publishPresence(index, report, address: nil)
        }
        frontEnd.watchPresence()
      }
    }
  }

  private func publishPresence(_ index: Int, _ report: PresenceSession.Report, address: String?) {
    var members: [(name: String, value: JSON)] = [
      ("state", .string(report.isHome ? "home" : "not_home"))
    ]
    if let rssi = report.rssi { members.append(("rssi", .integer(rssi))) }
    if let address { members.append(("address", .string(address))) }
    members += [("time", .string(clock.now().text)), ("via", .string(gateway))]
    publish(
      names.presence(of: presence.sessions[index].configuration.name), JSON.object(members).octets)
  }
}
