import AttoEventLoop
import AttoGateway

/// What the broker keeps for later subscribers: states, last values and announcements.
extension MQTTFrontEnd {
  /// The shortest time between two publications for Home Assistant's starts.
  static let birthTime: Duration = .seconds(10)

  /// Publishes everything that is retained again: the broker may have lost it.
  func publishState() {
    forgetSensors()
    forwarding.forget()
    announceOwn()
    announcePresence()
    publishUpdates()
    for session in sessions.values {
      for message in session.announced.values { publisher?.send(message) }
      if fleet == nil || session.use != nil { publishStatus(of: session) }
      for (topic, last) in session.last {
        session.last[topic]?.isWaiting = false
        // The outbox has it.
        if last.isWaiting { continue }
        var value = last.value
        value.isRepeated = true
        publisher?.publish(value)
      }
    }
  }

  /// Home Assistant has started, and knows only what is retained. Many starts cost as much as one in
  /// ``birthTime``.
  func homeAssistantStarted() {
    guard birthTimer == nil else { return isBirthWaiting = true }
    birthTimer = LoopTimer(after: Self.birthTime, on: loop) { [weak self] in
      guard let self else { return }
      self.assumeIsolated {
        $0.birthTimer = nil
        guard $0.isBirthWaiting else { return }
        $0.isBirthWaiting = false
        $0.homeAssistantStarted()
      }
    }
    publishState()
  }

  /// Removes what is retained for names and devices that the configuration no longer has. In a fleet other
  /// gateways may still have a device.
  func clearStale() {
    guard let hub else { return }
    let devices =
      hub.assumeIsolated {
        $0.configuration.devices.map(\.name) + $0.configuration.sensors.map(\.name)
      } + sessions.keys
    let current = devices.map { names.status(of: $0) }.map { $0.dropLast("status".count) }
    let present = presence.sessions.map(\.configuration.name)
    let presences = Set(present.map { names.presence(of: $0) })
    let nodes = Set(
      devices.compactMap { homeAssistant?.node(of: $0)[...] }
        + present.compactMap { homeAssistant?.presenceNode(of: $0)[...] })
    let controls = fleetName == nil ? staleControls : []
    clear { topic in
      if topic == names.status || topic == names.state || presences.contains(topic) { return false }
      if controls.contains(topic) { return true }
      if let fleet = names.fleet, topic.hasPrefix(fleet + "/") {
        return topic.dropFirst(fleet.count + 1) != gateway[...]
      }
      if let homeAssistant, let node = homeAssistant.node(inTopic: topic) {
        return fleetName == nil && node != homeAssistant.gatewayNode[...] && !nodes.contains(node)
      }
      guard topic.hasPrefix(names.devices + "/") else { return true }
      return fleetName == nil && !current.contains { topic.hasPrefix($0) }
    }
  }

  /// Removes the retained messages of some topics.
  func clear(_ isStale: (String) -> Bool) {
    for topic in publisher?.retainedTopics.filter(isStale).sorted() ?? [] {
      publisher?.clear(topic)
    }
  }
}

extension DeviceSession {
  /// The topics of values, controls and announcements that have a retained message.
  func retainedTopics(_ names: TopicNames) -> Set<String> {
    Set(topics.values.filter(\.isRetained).map(\.topic)).union(announced.keys)
      .union(configuration.controls.filter(\.hasState).map { names.value($0.name, of: name) })
  }

  /// Whether a topic has the status of this device or an announcement.
  func isAnnounced(_ topic: String, _ names: TopicNames) -> Bool {
    topic == names.status(of: name) || announced[topic] != nil
  }

  /// Whether a topic is one of this device's.
  func owns(_ topic: String, _ names: TopicNames, _ homeAssistant: HomeAssistant?) -> Bool {
    topic.hasPrefix(names.status(of: name).dropLast("status".count))
      || homeAssistant.map { $0.node(inTopic: topic) == $0.node(of: name)[...] } ?? false
  }
}
