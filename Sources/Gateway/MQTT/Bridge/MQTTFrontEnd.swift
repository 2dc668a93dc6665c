import Atto
import AttoATT
import AttoEventLoop
import AttoGateway
import AttoStore
import AttoText
import Glibc

/// The gateway's interface to an MQTT broker: values of devices are published, and the broker's clients
/// ask for more.
///
/// Runs on the hub's loop. Only the queue file and connecting to a broker have threads of their own.
package actor MQTTFrontEnd: FrontEnd {
  /// Requests that are carried out at one time, in all and of one device.
  package static let requestLimit = 256
  package static let deviceRequestLimit = 64
  /// The time for a device on demand to connect, and how long it stays connected after a request.
  static let connectTime: Duration = .seconds(20)
  static let lingerTime: Duration = .seconds(30)
  /// The pauses between attempts to open the queue file.
  static let queuePauses: ClosedRange<Duration> = .seconds(1) ... .seconds(60)

  package nonisolated let name = "mqtt"
  nonisolated let loop: Loop
  nonisolated let gateway: String
  /// Tells this gateway from others of its name.
  nonisolated let instance: String
  let settings: Configuration.MQTT
  let names: TopicNames
  let homeAssistant: HomeAssistant?
  let log: Hub.Logging
  let fleetName: String?
  let slotLimit: Int
  var advertisements: Configuration.Advertisements
  var forwarding: ForwardingLimit
  var hub: Hub?
  var publisher: Publisher?
  var sessions: [String: DeviceSession] = [:]
  /// Sensors by the digits of their address.
  var sensors: [UInt64: SensorSession]
  var presence: PresenceTable
  var presenceTimer: LoopTimer?
  var clock = WallTime.Clock()
  var underway: [Int: Underway] = [:]
  var lastRequest = 0
  /// Values that a slow gateway has missed, and requests that were refused.
  var missed = 0
  var refused = 0
  var fleet: Fleet?
  var fleetTimer: LoopTimer?
  var isFleetBusy = false
  var claim = NameClaim.none
  /// The fault that was logged when another gateway had the name.
  var lastNameFault: BrokerFault?
  /// Until it ends, starts of Home Assistant are answered by its end.
  var birthTimer: LoopTimer?
  var isBirthWaiting = false
  /// When the gateway began, and its numbers that were published last.
  let started: WallTime
  var lastOwn: [UInt8]?
  var ownTimer: LoopTimer?
  /// Gateways whose last will was published.
  var offlineGateways: Set<String> = []

  package nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

  /// A front end that does nothing until ``run(_:)``.
  ///
  /// - Parameters:
  ///   - configuration: with `mqtt`.
  ///   - loop: the hub's.
  package init(
    _ configuration: Configuration, _ identity: GatewayIdentity, loop: Loop,
    log: @escaping Hub.Logging = { _, _ in }
  ) {
    self.loop = loop
    self.log = log
    started = clock.now()
    gateway = configuration.name
    instance = identity.instance
    settings = configuration.mqtt ?? Configuration.MQTT(brokers: [])
    fleetName = configuration.fleet
    slotLimit = configuration.limits.connections
    advertisements = configuration.advertisements
    forwarding = ForwardingLimit(every: configuration.advertisements.repeatTime)
    sensors = Dictionary(
      configuration.sensors.map { ($0.address.value, SensorSession($0)) }, uniquingKeysWith: { $1 })
    // It begins to listen when it runs.
    presence = PresenceTable([], now: 0)
    presenceDevices = configuration.presence
    names = TopicNames(
      prefix: settings.topic, gateway: gateway, fleet: configuration.fleet)
    homeAssistant =
      settings.homeAssistant && settings.values == .json
      ? HomeAssistant(
        prefix: settings.homeAssistantPrefix, names: names,
        owner: configuration.fleet ?? gateway, gateway: gateway,
        isFleet: configuration.fleet != nil, page: configuration.metrics?.page) : nil
    queuePath = settings.queue ?? configuration.stateFolder.map { "\($0)/queue.sqlite" }
  }
  private let queuePath: String?
  private let presenceDevices: [PresenceConfiguration]

  /// Serves until the task is cancelled. A broker that is away is waited for.
  ///
  /// - Throws: if libmosquitto cannot be used, or if another gateway uses the queue file.
  package func run(_ hub: Hub) async throws {
    self.hub = hub
    let publisher = Publisher(
      brokerSettings, isFleet: fleetName != nil, queue: try await openQueue(), on: loop
    ) { [weak self] event in
      guard let self else { return }
      self.assumeIsolated { $0.happened(event) }
    }
    self.publisher = publisher
    let keeping = Task(executorPreference: loop.tasks) { await self.retryQueue() }
    startFleet()
    publisher.start()
    presence = PresenceTable(presenceDevices, now: loop.now)
    watchPresence()
    let hears =
      advertisements.forward || fleetName != nil || !sensors.isEmpty || !presenceDevices.isEmpty
    let heard = hears ? await hub.heard() : nil
    let hearing = heard.map { heard in
      Task(executorPreference: loop.tasks) {
        while let batch = await heard.next() { await self.heard(batch.elements) }
      }
    }
    let pairing = Task(executorPreference: loop.tasks) {
      for await batch in await hub.pairingEvents() {
        for event in batch.elements { await self.tell(event) }
      }
    }
    let updates = Task(executorPreference: loop.tasks) { await self.followUpdates(hub) }
    await refresh()
    let _: Void? = try? await loop.withLocalWaiter { (_: Waiter<Void, GatewayError>) in }
    hearing?.cancel()
    pairing.cancel()
    updates.cancel()
    keeping.cancel()
    birthTimer?.cancel()
    ownTimer?.cancel()
    presenceTimer?.cancel()
    stopFleet()
    await stop()
  }

  /// Compares the devices with those of the new configuration.
  package func reloaded() async { if publisher != nil { await refresh() } }

  private func stop() async {
    for session in sessions.values {
      session.end()
      guard session.isConnected else { continue }
      session.isConnected = false
      if session.isPassing {
        publish(names.status(of: session.name), [])
      } else {
        publishStatus(of: session)
      }
    }
    sessions = [:]
    guard let publisher else { return }
    self.publisher = nil
    let last = Outgoing(
      topic: names.status, payload: gatewayStatus("offline"), retained: true)
    await withCheckedContinuation { continuation in
      publisher.stop(last: last) { continuation.resume() }
    }
  }

  private var brokerSettings: BrokerSettings {
    BrokerSettings(
      mqtt: settings, clientID: clientID, willTopic: names.status,
      willPayload: String(decoding: gatewayStatus("offline"), as: UTF8.self))
  }

  private var clientID: String { settings.clientID ?? "atto-\(gateway)-\(instance)" }

  private func openQueue() async throws -> QueueFile.Content? {
    guard let queuePath else {
      log(.warning, "mqtt: no queue file: values are kept in memory while no broker can be reached")
      return nil
    }
    do throws(StoreError) {
      return try await open(queuePath)
    } catch {
      // Another gateway uses it, and probably the client ID too.
      if case .busy = error { throw error }
      log(
        .warning,
        "mqtt: values are kept in memory until the queue works: \(error)"
          + (error.hint.map { "\nhint: \($0)" } ?? ""))
      return nil
    }
  }

  /// Opens the queue that could not be opened before, when that is possible.
  private func retryQueue() async {
    var pause = Self.queuePauses.lowerBound
    while let queuePath, let publisher, !publisher.hasQueue {
      do { try await loop.sleep(for: pause) } catch { return }
      pause = min(pause * 2, Self.queuePauses.upperBound)
      if let queue = try? await open(queuePath) {
        publisher.keep(in: queue)
        clearStale()
        log(.notice, "mqtt: the queue \(queuePath) works: values are kept")
      }
    }
  }

  private func open(
    _ path: String
  ) async throws(StoreError) -> QueueFile.Content {
    let opened = await Blocking.result(on: loop) {
      Result { () throws(StoreError) in
        try QueueFile(path: path).content()
      }
    }
    // Without a thread.
    guard let opened else { throw .system("opened", path: path, errno: EAGAIN) }
    return try opened.get()
  }

  // MARK: - The broker

  private func happened(_ event: Publisher.Event) {
    switch event {
    case .connected: claimName()
    case .disconnected(let fault):
      nameEnded()
      // A name that is taken is logged once.
      guard fault != lastNameFault else { return fleetDisconnected() }
      if case .nameTaken = fault { lastNameFault = fault }
      let hint = fault.hint(settings, clientID: clientID)
      log(.warning, "mqtt: \(fault)" + (hint.map { "\nhint: \($0)" } ?? ""))
      fleetDisconnected()
    case .subscriptionRefused: log(.error, "mqtt: the broker refuses a subscription")
    case .disk(let fault?): log(.error, "mqtt: the queue: \(fault)")
    case .disk(nil): log(.notice, "mqtt: the queue accepts values again")
    case .message(let message):
      if receiveAboutName(message) { return }
      if homeAssistant?.isBirth(message) ?? false { return homeAssistantStarted() }
      if receiveInFleet(message) { return }
      receive(message)
    }
  }

  /// The gateway has its name at the broker.
  func begin() {
    lastNameFault = nil
    log(.notice, "mqtt: connected to \(publisher?.broker.map { "\($0)" } ?? "the broker")")
    // Before the first value: who sees one may ask.
    publisher?.subscribe(names.requestFilters)
    if let homeAssistant { publisher?.subscribe([homeAssistant.birthTopic]) }
    publisher?.begin()
    publish(names.status, gatewayStatus("online"))
    publishState()
    for question in hub?.assumeIsolated({ $0.openQuestions }) ?? [] { tell(.asked(question)) }
    fleetConnected()
  }

  func publish(_ topic: String, _ payload: [UInt8]) {
    publisher?.send(Outgoing(topic: topic, payload: payload, retained: true))
  }

  func gatewayStatus(_ state: String) -> [UInt8] {
    JSON.object([
      ("state", .string(state)), ("gateway", .string(gateway)), ("id", .string(instance)),
    ]).octets
  }

  /// What waits for the broker, and since when, in words.
  private func waiting(_ publisher: Publisher) -> String? {
    let (count, dropped) = (publisher.counts.waiting, publisher.counts.dropped + missed)
    var parts: [String] = []
    if count > 0 {
      let since = publisher.waitingSince.map { " since \(clock.at($0).text)" } ?? ""
      let place = publisher.isKeeping ? "on disk" : "in memory"
      parts.append("\(count) \(count == 1 ? "value waits" : "values wait") \(place)\(since)")
    }
    if dropped > 0 { parts.append("\(dropped) dropped so far") }
    return parts.isEmpty ? nil : parts.joined(separator: ", ")
  }

  package func status() async -> FrontEndStatus {
    guard let publisher else { return FrontEndStatus(state: "not running", isHealthy: false) }
    let counts = publisher.counts
    let state =
      publisher.broker.map { "connected to \($0)" } ?? publisher.fault.map { "\($0)" }
      ?? "connecting"
    return FrontEndStatus(
      state: state, isHealthy: publisher.isConnected, waiting: waiting(publisher),
      numbers: [
        ("queue_length", Double(counts.waiting)),
        ("dropped_total", Double(counts.dropped + missed)),
        ("queue_up", publisher.isKeeping ? 1 : 0), ("kept_total", Double(counts.kept)),
        ("published_total", Double(publisher.published)),
        ("messages_dropped_total", Double(publisher.droppedMessages)),
        ("values_refused_total", Double(publisher.refused)),
        ("requests_refused_total", Double(refused)),
      ])
  }
}
