import Atto
import AttoATT
import AttoEventLoop
import AttoGATT
import AttoGateway
import AttoText

/// Devices and their values.
extension MQTTFrontEnd {
  /// Compares the sessions with the hub's devices, which a reload changes.
  func refresh() async {
    guard let hub else { return }
    var found: [String: (Device, DeviceConfiguration)] = [:]
    for device in await hub.devices {
      if let configuration = await device.configuration {
        found[configuration.name] = (device, configuration)
      }
    }
    for (name, session) in sessions
    where !session.isPassing
      && (found[name].map { $0.0 !== session.device || $0.1 != session.configuration } ?? true)
    {
      remove(session)
      // One that stays with another configuration publishes again what it has.
      guard found[name] == nil else { continue }
      clear {
        fleet == nil
          ? session.owns($0, names, homeAssistant) : session.isAnnounced($0, names)
      }
    }
    for (name, (device, configuration)) in found where sessions[name] == nil {
      let session = DeviceSession(device, configuration)
      sessions[name] = session
      session.about.address = configuration.match.address
      announceState(of: session)
      announceControls(of: session)
      if fleet != nil {
        if configuration.isHeld { fleet?.add(name) }
      } else {
        publishStatus(of: session)
        if configuration.isHeld { await hold(session) }
      }
    }
    tickFleet()
    clearStale()
  }

  private func remove(_ session: DeviceSession) {
    fleet?.remove(session.name)
    session.end()
    sessions[session.name] = nil
  }

  /// Uses the device, which connects it, until ``release(_:)``.
  @discardableResult func hold(_ session: DeviceSession) async -> DeviceUse {
    if let use = session.use { return use }
    let use = await session.device.use(as: name, holdsBack: true)
    if let other = session.use {
      use.release()
      return other
    }
    session.use = use
    let device = session.name
    session.tasks = [
      Task(executorPreference: loop.tasks) { await self.follow(device, use) }
    ]
    for read in session.configuration.read {
      session.tasks.append(
        Task(executorPreference: loop.tasks) { await self.repeatedly(read, device, use) })
    }
    return use
  }

  /// Ends the use.
  func release(_ session: DeviceSession) {
    let wasConnected = session.isConnected
    session.end()
    session.isConnected = false
    if session.isPassing {
      sessions[session.name] = nil
      publish(names.status(of: session.name), [])
    } else if wasConnected {
      publishStatus(of: session)
    }
    // Another gateway of the fleet has newer ones.
    if fleet != nil { session.last = [:] }
  }

  private func follow(_ device: String, _ use: DeviceUse) async {
    guard let session = sessions[device], session.use === use else { return }
    while let batch = await use.events.next() {
      missed += batch.missed
      for event in batch.elements {
        switch event {
        case .value(let handle, let value):
          if let publisher, publisher.isBehind { await publisher.room() }
          publish(value, of: handle, session)
        case .connected(let mtu):
          session.isConnected = true
          session.mtu = mtu
          session.problem = nil
          publishStatus(of: session)
          linked(session.name, true)
          configure(session, use)
        case .disconnected(let error):
          session.isConnected = false
          session.problem = "\(error)"
          publishStatus(of: session)
          linked(session.name, false)
        case .databaseChanged:
          (session.topics, session.controls, session.last) = ([:], [:], [:])
          configure(session, use)
        }
      }
    }
  }

  private func publish(_ value: [UInt8], of handle: AttributeHandle, _ session: DeviceSession) {
    publishControls(value, of: handle, session)
    guard let topic = session.topics[handle] else { return }
    publish(topic.value(value, at: clock.now()), session)
  }

  func publish(_ value: KeptValue, _ session: DeviceSession) {
    if value.isRetained {
      session.last[value.topic] = (value, isWaiting: !(publisher?.isPublishing ?? false))
    }
    publisher?.publish(value)
  }

  // MARK: - Characteristics

  /// Subscribes to what the configuration names.
  private func configure(_ session: DeviceSession, _ use: DeviceUse) {
    session.setup?.cancel()
    let device = session.name
    session.setup = Task(executorPreference: loop.tasks) { await self.subscribe(device, use) }
  }

  private func subscribe(_ device: String, _ use: DeviceUse) async {
    guard let session = sessions[device], session.use === use else { return }
    await describe(session, use)
    if Task.isCancelled { return }
    var isComplete = true
    var readable: [AttributeHandle] = []
    for reference in session.configuration.subscribe {
      do throws(GatewayError) {
        let (characteristic, _) = try await topic(reference, session, use, announces: true)
        try await use.subscribe(characteristic.valueHandle)
        if characteristic.properties.contains(.read) {
          readable.append(characteristic.valueHandle)
        }
      } catch {
        if Task.isCancelled { return }
        isComplete = false
        failed(session, "cannot subscribe to \(reference): \(error)")
      }
    }
    readable += await prepareControls(session, use).filter { !readable.contains($0) }
    // A value that changes rarely is known before it changes.
    for handle in readable {
      do throws(GatewayError) { try await use.refresh(handle) } catch {
        if Task.isCancelled { return }
        failed(session, "cannot read \(handle): \(error)")
      }
    }
    for read in session.configuration.read {
      let found = try? await topic(read.characteristic, session, use, announces: true)
      if Task.isCancelled { return }
      isComplete = isComplete && found != nil
    }
    await hub?.examineFirmware(of: device)
    if isComplete, !Task.isCancelled, fleet == nil, !session.isPassing {
      let current = session.retainedTopics(names).union([
        names.status(of: device), names.progress(of: device),
      ])
      clear { session.owns($0, names, homeAssistant) && !current.contains($0) }
    }
    // A task keeps its memory as long as it is referred to.
    if !Task.isCancelled { session.setup = nil }
  }

  func failed(_ session: DeviceSession, _ problem: String) {
    guard session.problem != problem else { return }
    log(.warning, "mqtt: \(session.name): \(problem)")
    session.problem = problem
    publishStatus(of: session)
  }

  /// Finds a characteristic, and makes its topic.
  ///
  /// - Parameter announces: whether its values are published without a request.
  func topic(
    _ reference: CharacteristicReference, _ session: DeviceSession, _ use: DeviceUse,
    announces: Bool = false
  ) async throws(GatewayError) -> (Characteristic, ValueTopic) {
    let characteristic = try await use.characteristic(reference)
    let handle = characteristic.valueHandle
    if let topic = session.topics[handle], !announces { return (characteristic, topic) }
    let name = session.name(of: characteristic, in: try await use.database())
    var messages: [Outgoing] = []
    if announces, let homeAssistant, !session.isPassing {
      let period = session.configuration.read.filter { $0.characteristic == reference }
        .map(\.period).max()
      messages = homeAssistant.values(
        characteristic.uuid, name, of: session.name, session.about, every: period)
    }
    let topic =
      session.topics[handle]
      ?? ValueTopic(
        names.value(name, of: session.name), of: characteristic.uuid,
        decodes: session.decodes(characteristic), style: settings.values,
        isRetained: !session.isPassing
          && (session.retains(characteristic) ?? settings.retains ?? !messages.isEmpty),
        via: gateway)
    session.topics[handle] = topic
    announce(messages, session)
    return (characteristic, topic)
  }

  private func repeatedly(
    _ read: DeviceConfiguration.PeriodicRead, _ device: String, _ use: DeviceUse
  ) async {
    guard let session = sessions[device], session.use === use else { return }
    while !Task.isCancelled {
      if session.isConnected {
        do throws(GatewayError) {
          let (characteristic, topic) = try await topic(
            read.characteristic, session, use, announces: true)
          let value = try await use.read(characteristic.valueHandle)
          publish(topic.value(value, at: clock.now()), session)
          publishControls(value, of: characteristic.valueHandle, session)
        } catch {
          if session.isConnected { failed(session, "cannot read \(read.characteristic): \(error)") }
        }
      }
      // A new link is read from soon after it was made.
      let pause = session.isConnected ? read.period : min(read.period, .seconds(1))
      do { try await loop.sleep(for: pause) } catch { return }
    }
  }

  // MARK: - Status

  func publishStatus(of session: DeviceSession) {
    let (address, rssi) = session.device.assumeIsolated { ($0.address, $0.rssi) }
    var members: [(name: String, value: JSON)] = [
      ("state", .string(session.isConnected ? "connected" : "waiting"))
    ]
    if session.isConnected { members.append(("mtu", .integer(session.mtu))) }
    if let address { members.append(("address", .string(address.digits))) }
    if let rssi { members.append(("rssi", .integer(Int(rssi)))) }
    if let problem = session.problem { members.append(("error", .string(problem))) }
    members.append(("via", .string(gateway)))
    publish(names.status(of: session.name), JSON.object(members).octets)
  }

  private func announceState(of session: DeviceSession) {
    guard let homeAssistant else { return }
    announce(homeAssistant.state(of: session.name, session.about), session)
    guard fleet == nil, let file = session.configuration.firmware else { return }
    announce([homeAssistant.firmware(of: session.name, file: file, session.about)], session)
  }

  /// Reads what Home Assistant shows of a device, once.
  private func describe(_ session: DeviceSession, _ use: DeviceUse) async {
    guard homeAssistant != nil, !session.isPassing, session.about.information.isEmpty else {
      return
    }
    session.about.address = await session.device.address
    var found: [(name: String, value: String)] = []
    for (uuid, name) in HomeAssistant.information {
      let service = BluetoothUUID(0x180A)
      guard let part = try? await use.characteristic(.uuid(uuid, service: service)),
        part.properties.contains(.read), let octets = try? await use.read(part.valueHandle),
        let text = HomeAssistant.text(octets)
      else { continue }
      found.append((name, text))
    }
    guard !Task.isCancelled else { return }
    session.about.information = found
    announceState(of: session)
    announceControls(of: session)
  }

  func announce(_ messages: [Outgoing], _ session: DeviceSession) {
    for message in messages where session.announced[message.topic] != message {
      session.announced[message.topic] = message
      publisher?.send(message)
    }
  }
}
