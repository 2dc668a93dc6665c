import AttoATT
import AttoGateway
import AttoText

/// Controls: what people switch, choose and enter.
extension MQTTFrontEnd {
  /// The control of a device with this topic; nil: it is a characteristic.
  func control(_ name: String, of device: String) -> ControlConfiguration? {
    sessions[device]?.configuration.controls.first { $0.name == name }
  }

  /// Announces the controls of a device, also before it has ever been connected.
  func announceControls(of session: DeviceSession) {
    guard let homeAssistant else { return }
    let configuration = session.configuration
    announce(
      configuration.controls.map {
        homeAssistant.control($0, of: session.name, isHeld: configuration.isHeld, session.about)
      }, session)
  }

  /// Finds the characteristics of controls, and subscribes to their states.
  ///
  /// - Returns: the characteristics to read now.
  func prepareControls(_ session: DeviceSession, _ use: DeviceUse) async -> [AttributeHandle] {
    session.controls = [:]
    var readable: [AttributeHandle] = []
    for control in session.configuration.controls {
      do throws(GatewayError) {
        if let written = control.characteristic { _ = try await use.characteristic(written) }
        guard let reference = control.state else { continue }
        let found = try await use.characteristic(reference)
        session.controls[found.valueHandle, default: []].append(control)
        if !found.properties.isDisjoint(with: [.notify, .indicate]) {
          try await use.subscribe(found.valueHandle)
        }
        if found.properties.contains(.read) { readable.append(found.valueHandle) }
      } catch {
        if Task.isCancelled { return [] }
        failed(session, "cannot use the control \(control.name): \(error)")
      }
    }
    return readable
  }

  /// Carries out a command, and publishes the state that the device has then.
  func carryOut(
    _ command: ControlCommand, of control: ControlConfiguration, _ session: DeviceSession,
    _ use: DeviceUse
  ) async throws(GatewayError) {
    switch command.effect {
    case .sequence(let name):
      _ = try await use.perform(sequence: name)
      await refreshControls(after: session.configuration.sequences[name] ?? [], session, use)
    case .write(let octets):
      guard let reference = control.characteristic else { return }
      let found = try await use.characteristic(reference)
      try await use.write(
        octets, to: found.valueHandle,
        withResponse: control.hasResponse ?? found.properties.contains(.write))
    }
    guard control.hasState else { return }
    guard let reference = control.state else { return publish(command.state, control, session) }
    do throws(GatewayError) {
      let found = try await use.characteristic(reference)
      if found.properties.contains(.read) {
        let value = try await use.read(found.valueHandle)
        publish(control.state(value), control, session)
      } else if found.properties.isDisjoint(with: [.notify, .indicate]) {
        publish(command.state, control, session)
      }
    } catch {
      failed(session, "cannot read the state of \(control.name): \(error)")
    }
  }

  /// Reads the states of controls that these steps have written: few devices notify what the client itself
  /// has changed.
  func refreshControls(
    after steps: [SequenceStep], _ session: DeviceSession, _ use: DeviceUse
  ) async {
    var read: Set<AttributeHandle> = []
    for case .write(let reference, _, _) in steps {
      do throws(GatewayError) {
        let found = try await use.characteristic(reference)
        guard session.controls[found.valueHandle] != nil, found.properties.contains(.read),
          read.insert(found.valueHandle).inserted
        else { continue }
        try await use.refresh(found.valueHandle)
      } catch {
        if Task.isCancelled { return }
        failed(session, "cannot read the state at \(reference): \(error)")
      }
    }
  }

  /// Publishes the states that a value tells.
  func publishControls(_ value: [UInt8], of handle: AttributeHandle, _ session: DeviceSession) {
    for control in session.controls[handle] ?? [] {
      publish(control.state(value), control, session)
    }
  }

  private func publish(_ state: JSON, _ control: ControlConfiguration, _ session: DeviceSession) {
    let now = clock.now()
    let payload = JSON.object([
      ("value", state), ("time", .string(now.text)), ("via", .string(gateway)),
    ])
    publish(
      KeptValue(
        number: 0, time: now.milliseconds, topic: names.value(control.name, of: session.name),
        payload: payload.octets, isJSON: true, isRetained: true), session)
  }

  /// The topics of announcements of controls that no device has any more, and of their states.
  var staleControls: Set<String> {
    var stale: Set<String> = []
    for topic in publisher?.retainedTopics ?? [] {
      guard let (component, node, object) = homeAssistant?.parts(ofTopic: topic),
        HomeAssistant.controlComponents.contains(String(component)),
        let session = sessions.values.first(where: {
          homeAssistant?.node(of: $0.name) == String(node)
        }), session.announced[topic] == nil
      else { continue }
      stale.formUnion([topic, names.value(String(object), of: session.name)])
    }
    return stale
  }
}
