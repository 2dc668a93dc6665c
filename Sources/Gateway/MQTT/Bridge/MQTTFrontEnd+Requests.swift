import Atto
import AttoATT
import AttoEventLoop
import AttoGateway
import AttoText

/// Requests of the broker's clients.
extension MQTTFrontEnd {
  /// A request that is carried out.
  struct Underway {
    let device: String?
    let topic: String
    let id: JSON?
    let began: Int64
    let task: Task<Void, Never>
  }

  func receive(_ message: BrokerMessage) {
    guard let topic = RequestTopic(message.topic, in: names) else { return }
    // A retained request would be carried out again at each connection.
    guard !message.isRetained else {
      refused += 1
      return answer(message, nil) { $0.error(.usage, "a retained request is not carried out") }
    }
    let request: Request
    do throws(Request.Mistake) {
      var control: ControlConfiguration?
      if case .set(let device, let name) = topic { control = self.control(name, of: device) }
      request = try Request(
        topic, message.payload, isRaw: settings.values == .raw, control: control)
    } catch {
      refused += 1
      return answer(message, error.id) { $0.error(error.kind, error.message) }
    }
    // In a fleet the gateway that holds the device answers, or the one that it asks.
    if fleet != nil, case .answer(_, let id) = request.action,
      hub?.assumeIsolated({ $0.hasQuestion(id) }) == false,
      sessions[request.topic.device ?? ""] == nil
    {
      return
    }
    if fleet != nil, let device = topic.device, sessions[device] != nil,
      fleet?.answers(for: device) == false
    {
      return
    }
    // These have to be carried out when all places are taken.
    switch (request.action, topic.device) {
    case (.list, let device?): return answer(message, request.id) { $0.requests(list(of: device)) }
    case (.cancel(let number), let device?):
      return answer(message, request.id) { $0.cancelled(cancel(number, of: device)) }
    default: begin(request, message)
    }
  }

  private func begin(_ request: Request, _ message: BrokerMessage) {
    let device = request.topic.device
    let ofDevice = underway.values.count { $0.device == device }
    guard underway.count < Self.requestLimit, ofDevice < Self.deviceRequestLimit else {
      refused += 1
      let limit =
        ofDevice < Self.deviceRequestLimit
        ? "\(Self.requestLimit)" : "\(Self.deviceRequestLimit) for a device"
      return answer(message, request.id) {
        $0.error(.limit, "too many requests under way: the limit is \(limit)")
      }
    }
    lastRequest += 1
    let number = lastRequest
    // Begins in a later turn of this loop.
    let task = Task(executorPreference: loop.tasks) {
      await self.carryOut(request, message, number)
    }
    underway[number] = Underway(
      device: device, topic: message.topic, id: request.id, began: loop.now, task: task)
  }

  private func list(of device: String) -> [JSON] {
    underway.filter { $0.value.device == device }.sorted { $0.key < $1.key }.map {
      number, request in
      JSON.object(
        [("number", .integer(number)), ("topic", .string(request.topic))]
          + (request.id.map { [("id", $0)] } ?? [])
          + [("seconds", .integer(Int((loop.now - request.began) / 1_000_000_000)))])
    }
  }

  /// - Parameter number: nil: all of the device.
  /// - Returns: how many were cancelled. Their requesters are answered with `interrupted`.
  private func cancel(_ number: Int?, of device: String) -> Int {
    let chosen = underway.filter { $0.value.device == device && $0.key == number ?? $0.key }
    for request in chosen.values { request.task.cancel() }
    return chosen.count
  }

  private func carryOut(_ request: Request, _ message: BrokerMessage, _ number: Int) async {
    defer { underway[number] = nil }
    var answer = Answer(id: request.id, via: gateway)
    do throws(GatewayError) {
      try await perform(request, &answer)
    } catch {
      answer.error(error)
    }
    send(answer, to: message)
  }

  private func perform(_ request: Request, _ answer: inout Answer) async throws(GatewayError) {
    if case .scan(let isActive) = request.action {
      await hub?.setScanning(active: isActive)
      return answer.done()
    }
    if case .restart = request.action {
      try await hub?.restart()
      return answer.done()
    }
    let name = request.topic.device ?? ""
    if case .answer(let given, let question) = request.action {
      try await hub?.answer(question, of: name, given)
      return answer.done()
    }
    if case .update(let plan) = request.action, let hub {
      let (version, size) = try await hub.update(plan)
      return answer.begun(version, size: size)
    }
    if case .cancelUpdate = request.action {
      try await hub?.cancelUpdate(of: name)
      return answer.done()
    }
    let session = try session(name)
    let use = try await connected(session)
    switch (request.topic, request.action) {
    case (.get(_, let characteristic), _):
      let (found, topic) = try await topic(try reference(characteristic), session, use)
      answer.value(try await use.read(found.valueHandle), topic.format)
    case (.set(_, let characteristic), .write(let value, let withResponse)):
      let reference = try reference(characteristic)
      let found = try await use.characteristic(reference)
      try await use.write(value, to: found.valueHandle, withResponse: withResponse)
      await refreshControls(
        after: [.write(reference, value, withResponse: withResponse)], session, use)
      answer.done()
    case (.set, .control(let command, let control)):
      try await carryOut(command, of: control, session, use)
      answer.done()
    case (.subscribe(_, let characteristic), .subscribe(let isOn)):
      let handle = try await topic(try reference(characteristic), session, use).0.valueHandle
      if isOn { try await use.subscribe(handle) } else { try await use.unsubscribe(handle) }
      answer.done()
    case (.sequence, .named(let name)):
      answer.values(try await use.perform(sequence: name))
      await refreshControls(after: session.configuration.sequences[name] ?? [], session, use)
    case (.sequence, .steps(let steps)):
      answer.values(try await use.perform(steps))
      await refreshControls(after: steps, session, use)
    default: answer.error(.usage, "unexpected request")
    }
  }

  /// The session of a configured device, or of any that is heard, by its address, if requests may name it.
  private func session(_ name: String) throws(GatewayError) -> DeviceSession {
    if let session = sessions[name] { return session }
    guard let hub, BluetoothAddress(name) != nil else { throw .unknownDevice(name) }
    guard settings.connectsAny else { throw .addressNotAllowed(name) }
    let found = hub.assumeIsolated { hub -> Result<Device, GatewayError> in
      Result { () throws(GatewayError) in
        guard let address = hub.address(heardAs: name) else { throw .notHeard(name) }
        return try hub.device(at: address)
      }
    }
    let device = try found.get()
    if let session = sessions.values.first(where: { $0.device === device }) { return session }
    let match = DeviceMatch(address: device.assumeIsolated { $0.address })
    var configuration = DeviceConfiguration(name: name, match: match)
    configuration.isHeld = false
    let session = DeviceSession(device, configuration, isPassing: true)
    sessions[name] = session
    return session
  }

  private func reference(_ text: String) throws(GatewayError) -> CharacteristicReference {
    do throws(Request.Mistake) {
      return try RequestObject.reference(text)
    } catch { throw .unknownCharacteristic(device: "the device", text) }
  }

  /// The link of a device, which is made if the device is used on demand.
  private func connected(_ session: DeviceSession) async throws(GatewayError) -> DeviceUse {
    if let use = session.use, session.configuration.isHeld { return use }
    let use = await hold(session)
    session.timer?.cancel()
    let name = session.name
    session.timer = LoopTimer(after: Self.lingerTime, on: loop) { [weak self] in
      guard let self else { return }
      self.assumeIsolated { if let session = $0.sessions[name] { $0.release(session) } }
    }
    try await use.connected(within: Self.connectTime)
    return use
  }

  // MARK: - Answers

  private func answer(_ message: BrokerMessage, _ id: JSON?, _ fill: (inout Answer) -> Void) {
    var answer = Answer(id: id, via: gateway)
    fill(&answer)
    send(answer, to: message)
  }

  private func send(_ answer: Answer, to message: BrokerMessage) {
    let named = message.responseTopic.flatMap { allows(responseTopic: $0) ? $0 : nil }
    publisher?.send(
      Outgoing(
        topic: named ?? message.topic + "/answer", payload: answer.payload,
        correlation: message.correlation))
  }

  /// Whether answers may go to a topic that a request names. Otherwise a client could have this gateway
  /// write to topics that the broker's access list keeps for the gateway: its values, and Home
  /// Assistant's discovery.
  private func allows(responseTopic topic: String) -> Bool {
    topic.hasPrefix(settings.answers + "/") && !topic.contains("+") && !topic.contains("#")
      && ![names.gateway, names.devices].contains { topic.hasPrefix($0 + "/") }
  }
}
