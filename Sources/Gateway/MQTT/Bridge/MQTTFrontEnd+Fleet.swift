import Atto
import AttoEventLoop
import AttoGateway
import AttoText

/// Joins the ``Fleet`` with the broker and the devices.
extension MQTTFrontEnd {
  private static let busyTime: Duration = .milliseconds(500)
  private static let idleTime: Duration = .seconds(5)

  func startFleet() {
    guard fleetName != nil else { return }
    fleet = Fleet(name: gateway, slots: slotLimit)
    scheduleFleet()
  }

  func stopFleet() {
    fleetTimer?.cancel()
    guard let topic = names.fleet, fleet != nil else { return }
    fleet = nil
    publish("\(topic)/\(gateway)", Fleet.Digest(gateway: gateway).payload)
  }

  private var milliseconds: Int64 { loop.now / 1_000_000 }

  private func scheduleFleet() {
    fleetTimer?.cancel()
    isFleetBusy = fleet?.isBusy ?? false
    fleetTimer = LoopTimer(after: isFleetBusy ? Self.busyTime : Self.idleTime, on: loop) {
      [weak self] in
      guard let self else { return }
      self.assumeIsolated {
        $0.tickFleet()
        $0.scheduleFleet()
      }
    }
  }

  /// Something has come in that may have to be decided soon.
  private func hurryFleet() {
    if !isFleetBusy, fleet?.isBusy ?? false { scheduleFleet() }
  }

  func tickFleet() {
    for action in fleet?.tick(at: milliseconds) ?? [] {
      switch action {
      case .connect(let device):
        Task(executorPreference: loop.tasks) { await self.hold(device) }
      case .release(let device):
        if let session = sessions[device] { release(session) }
      case .publish(let digest):
        if let topic = names.fleet { publish("\(topic)/\(gateway)", digest.payload) }
      }
    }
  }

  private func hold(_ device: String) async {
    if let session = sessions[device] { await hold(session) }
  }

  /// The link of a device was made or lost.
  func linked(_ device: String, _ isLinked: Bool) {
    fleet?.linked(device, isLinked, at: milliseconds)
    tickFleet()
  }

  /// An advertisement.
  func heardInFleet(_ device: Discovery) {
    guard fleet != nil, device.isConnectable, device.rssi != 127 else { return }
    for session in sessions.values
    where session.configuration.match.matches(device, onAir: true) {
      fleet?.heard(session.name, Int(device.rssi), at: milliseconds)
    }
    hurryFleet()
  }

  // MARK: - The broker

  func fleetConnected() {
    guard let topic = names.fleet, fleet != nil else { return }
    publisher?.subscribe([topic + "/+", settings.topic + "/+/status"])
    fleet?.announce()
    tickFleet()
  }

  func fleetDisconnected() {
    fleet?.alone()
    offlineGateways = []
  }

  /// Whether the message was for the fleet.
  func receiveInFleet(_ message: BrokerMessage) -> Bool {
    guard let topic = names.fleet, fleet != nil else { return false }
    if message.topic.hasPrefix(topic + "/") {
      guard let digest = Fleet.Digest(message.payload), digest.gateway != gateway else {
        return true
      }
      // A retained digest may be that of a dead gateway, whose last will comes before or after it.
      guard !message.isRetained || !offlineGateways.contains(digest.gateway) else { return true }
      offlineGateways.remove(digest.gateway)
      fleet?.receive(digest, at: milliseconds)
      hurryFleet()
      return true
    }
    guard message.topic.hasSuffix("/status"), let found = Self.status(message.payload)
    else { return false }
    let name = found.gateway
    if name == gateway { return true }
    if found.state == "offline" {
      if offlineGateways.count < Fleet.gatewayLimit { offlineGateways.insert(name) }
      // Until one takes them over, the one that answers for them tells that they are not connected.
      for device in fleet?.gone(name) ?? [] where fleet?.answers(for: device) == true {
        if let session = sessions[device] { publishStatus(of: session) }
      }
      hurryFleet()
    } else {
      offlineGateways.remove(name)
    }
    return true
  }
}
