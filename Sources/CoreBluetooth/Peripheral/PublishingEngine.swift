internal import Atto
import Foundation

/// The loop's side of a ``CBPeripheralManager``: what it has published, who has subscribed, and
/// what is advertised.
@RadioLoop final class PublishingEngine {
  /// A published value.
  private struct Entry {
    let characteristic: Carried<CBMutableCharacteristic>
    var subscribers: [ClientID: ClientCharacteristicConfiguration] = [:]
  }

  /// The app's side.
  nonisolated let object = Guarded(WeakReference<CBPeripheralManager>())
  private let choice: CBRadio
  private let queue: CallbackQueue
  private(set) var station: Station?
  private var box: StationObserverBox?
  private var entries: [AttributeHandle: Entry] = [:]
  private var services: [ObjectIdentifier: (handle: AttributeHandle, values: [AttributeHandle])] =
    [:]
  /// The objects that stand for clients, for as long as these are connected.
  private var centrals: [ClientID: CBCentral] = [:]
  private var updates: [ClientID: UpdateQueue] = [:]
  private var advertisement: Advertisement?
  private var advertising: Task<Void, Never>?
  /// The PSMs that are published.
  var channels: [CBL2CAPPSM: PublishedChannel] = [:]
  private var isShutDown = false
  /// The last of the changes that are carried out one after another.
  private var changes: Task<Void, Never>?

  /// Where state is kept, if the app wants that.
  private let file: RestorationFile?
  private var kept = KeptPublications()
  /// What was added, in order, as far as it is kept.
  private var keptOrder: [ObjectIdentifier] = []
  /// What a former run had and this one has not begun yet.
  private var toResume: (() -> Void)?

  nonisolated init(_ choice: CBRadio, _ queue: CallbackQueue, _ options: [String: Any]?) {
    self.choice = choice
    self.queue = queue
    file = OptionReader(options).text(CBPeripheralManagerOptionRestoreIdentifierKey).map {
      RestorationFile("peripheral", $0)
    }
  }

  // MARK: Restoration

  /// Publishes and advertises what was kept, as soon as the radio is on. Without a word: the app
  /// was told all by `willRestoreState`.
  func resume(_ publications: Carried<[Publication]>, _ wish: AdvertisingWish?) {
    guard !isShutDown else { return }
    toResume = { [weak self] in
      guard let self else { return }
      toResume = nil
      for publication in publications.content { add(Carried(publication), isSilent: true) }
      if let wish { advertise(wish, isSilent: true) }
    }
    if station?.state == .poweredOn { toResume?() }
  }

  private func note(_ publication: Publication) {
    guard file != nil else { return }
    let includes = publication.includes.compactMap {
      keptOrder.firstIndex(of: ObjectIdentifier($0))
    }
    kept.services.append(KeptService(publication.service, includes: includes))
    keptOrder.append(ObjectIdentifier(publication.service))
    save()
  }

  private func drop(_ service: ObjectIdentifier) {
    guard let index = keptOrder.firstIndex(of: service) else { return }
    keptOrder.remove(at: index)
    kept.services.remove(at: index)
    // Those that come after it have moved up.
    for other in kept.services.indices {
      kept.services[other].includes = kept.services[other].includes.compactMap {
        $0 == index ? nil : $0 > index ? $0 - 1 : $0
      }
    }
    save()
  }

  private func save() {
    guard let file, !isShutDown else { return }
    file.save(kept)
  }

  /// Calls the app on its queue, unless it has let go of the manager.
  nonisolated func post(_ body: @escaping @Sendable (CBPeripheralManager) -> Void) {
    let object = object
    queue.post {
      if let manager = object.value.object { body(manager) }
    }
  }

  /// The room for the manager's updates, which tells it when there is some again.
  nonisolated func makeWindow() -> UpdateWindow {
    UpdateWindow { [weak self] in
      self?.post { manager in
        manager.delegate?.peripheralManagerIsReady(toUpdateSubscribers: manager)
      }
    }
  }

  func start() {
    guard !isShutDown else { return }
    // Before the state is told, and so before anything else.
    if let kept = file?.load(KeptPublications.self) { post { $0.restore(kept) } }
    let station = Station.of(choice)
    self.station = station
    station.host.join(self)
    let box = StationObserverBox(changed: { [weak self] in self?.stateChanged($0) })
    self.box = box
    station.observe(box)
  }

  /// The app has released the manager.
  func shutDown() {
    isShutDown = true
    stopAdvertising()
    removeAll()
    for queue in updates.values { queue.end() }
    updates = [:]
    channels = [:]
    box = nil
    station = nil
    file?.remove()
  }

  private func stateChanged(_ state: CBManagerState) {
    if state != .poweredOn {
      stopAdvertising()
      channels = [:]
    }
    let isInvalid = state.rawValue < CBManagerState.poweredOff.rawValue && state != .unknown
    if isInvalid { removeAll() }
    if state == .poweredOn { toResume?() }
    post { manager in
      manager.shown.value = state
      if state != .poweredOn { manager.own.withLock { $0.isAdvertising = false } }
      if isInvalid { manager.own.withLock { $0.services = [] } }
      manager.delegate?.peripheralManagerDidUpdateState(manager)
    }
  }

  // MARK: Services

  /// Does something after all that was begun so before.
  private func inOrder(_ body: @escaping @RadioLoop @Sendable (PublishingEngine) async -> Void) {
    let before = changes
    changes = Task { @RadioLoop in
      await before?.value
      await body(self)
    }
  }

  func add(_ carried: Carried<Publication>, isSilent: Bool = false) {
    inOrder { await $0.publish(carried, isSilent: isSilent) }
  }

  private func publish(_ carried: Carried<Publication>, isSilent: Bool) async {
    let publication = carried.content
    let service = publication.service
    guard let server = station?.server else { return }
    let includes = publication.includes.map { services[ObjectIdentifier($0)]?.handle }
    let known = includes.compactMap(\.self)
    guard known.count == includes.count else {
      return added(Carried(service), CBError(.invalidParameters))
    }
    guard ![0x1800, 0x1801].contains(service.uuid.bluetooth) else {
      return added(Carried(service), CBError(.uuidNotAllowed))
    }
    let definition = publication.definition(includes: known)
    do throws(AttoError) {
      let layout = try await server.add(definition)
      place(carried, layout)
      note(carried.content)
      if !isSilent { added(Carried(carried.content.service), nil) }
    } catch {
      added(
        Carried(carried.content.service),
        CBError(.outOfSpace, userInfo: [NSDebugDescriptionErrorKey: "\(error)"]))
    }
  }

  private func place(_ carried: Carried<Publication>, _ layout: Database.Layout) {
    let publication = carried.content
    guard let host = station?.host else { return }
    var values: [AttributeHandle] = []
    for (characteristic, place) in zip(publication.characteristics, layout.characteristics) {
      entries[place.value] = Entry(characteristic: Carried(characteristic))
      host.own(place.value, self)
      values.append(place.value)
    }
    services[ObjectIdentifier(publication.service)] = (layout.range.start, values)
  }

  private func added(_ service: Carried<CBMutableService>, _ error: CBError?) {
    post { manager in
      if error != nil {
        manager.own.withLock { own in own.services.removeAll { $0 === service.content } }
      }
      manager.delegate?.peripheralManager(manager, didAdd: service.content, error: error)
    }
  }

  func remove(_ service: Carried<CBMutableService>) {
    inOrder { await $0.take(back: service) }
  }

  private func take(back service: Carried<CBMutableService>) async {
    guard let (handle, values) = services.removeValue(forKey: ObjectIdentifier(service.content)),
      let server = station?.server
    else { return }
    forget(values)
    drop(ObjectIdentifier(service.content))
    do throws(AttoError) {
      _ = try await server.remove(service: handle)
    } catch {
      Misuse.log("\(service.content) could not be removed: \(error)")
    }
  }

  func removeAll() {
    let server = station?.server
    inOrder { engine in
      // Those that include others first: the reverse of the order in which they were added.
      let all = engine.services.values.sorted { $0.handle > $1.handle }
      engine.services = [:]
      engine.kept.services = []
      engine.keptOrder = []
      engine.save()
      for (handle, values) in all {
        engine.forget(values)
        _ = try? await server?.remove(service: handle)
      }
    }
  }

  private func forget(_ values: [AttributeHandle]) {
    for handle in values {
      station?.host.own(handle, nil)
      guard let entry = entries.removeValue(forKey: handle) else { continue }
      entry.characteristic.content.publication.withLock { $0.subscribers = [] }
    }
  }

  // MARK: Centrals

  func central(_ client: ClientID) -> CBCentral? {
    let mtu = station?.server.mtuNow(of: client) ?? 23
    if let known = centrals[client] {
      known.set(mtu: mtu)
      return known
    }
    guard let identifier = station?.host.identifier(of: client) else { return nil }
    let made = CBCentral(client, identifier: identifier, mtu: mtu)
    centrals[client] = made
    return made
  }

  func configured(
    _ handle: AttributeHandle, _ configuration: ClientCharacteristicConfiguration,
    _ client: ClientID
  ) {
    guard let entry = entries[handle], let central = central(client) else { return }
    let was = entry.subscribers[client] != nil
    entries[handle]?.subscribers[client] = configuration.isEmpty ? nil : configuration
    let isSubscribed = !configuration.isEmpty
    guard was != isSubscribed else { return }
    let about = Carried((central, entry.characteristic.content))
    post { manager in
      let (central, characteristic) = about.content
      characteristic.publication.withLock { publication in
        publication.subscribers.removeAll { $0 === central }
        if isSubscribed { publication.subscribers.append(central) }
      }
      if isSubscribed {
        manager.delegate?.peripheralManager(
          manager, central: central, didSubscribeTo: characteristic)
      } else {
        manager.delegate?.peripheralManager(
          manager, central: central, didUnsubscribeFrom: characteristic)
      }
    }
  }

  /// A client has gone.
  func left(_ client: ClientID) {
    for handle in entries.keys.sorted() where entries[handle]?.subscribers[client] != nil {
      configured(handle, [], client)
    }
    updates.removeValue(forKey: client)?.end()
    centrals[client] = nil
  }

  // MARK: Questions

  func read(_ question: Question, offset: Int) -> ReadAnswer {
    guard let entry = entries[question.handle], let central = central(question.client),
      let server = station?.server
    else { return .refused(.unlikelyError) }
    let pending = PendingQuestion(question, server, isCommand: false)
    let about = Carried((central, entry.characteristic.content))
    post { manager in
      let (central, characteristic) = about.content
      let request = CBATTRequest(
        central: central, characteristic: characteristic, offset: offset, value: nil,
        question: pending)
      if let delegate = manager.delegate {
        delegate.peripheralManager(manager, didReceiveRead: request)
      } else {
        manager.respond(to: request, withResult: .requestNotSupported)
      }
    }
    return .later
  }

  func write(
    _ question: Question, _ parts: [PreparedWrite], _ delivered: @escaping @Sendable () -> Void
  ) -> WriteAnswer {
    let targets = parts.compactMap { entries[$0.handle]?.characteristic.content }
    guard targets.count == parts.count, let central = central(question.client),
      let server = station?.server
    else {
      delivered()
      return .refused(.unlikelyError)
    }
    let isCommand = question.kind == .writeCommand
    let pending = PendingQuestion(question, server, isCommand: isCommand)
    let object = object
    let about = Carried((central, targets))
    queue.post {
      defer { delivered() }
      guard let manager = object.value.object else { return }
      let (central, targets) = about.content
      let requests = zip(targets, parts).map { characteristic, part in
        CBATTRequest(
          central: central, characteristic: characteristic, offset: part.offset,
          value: Data(part.part), question: pending)
      }
      if let delegate = manager.delegate {
        delegate.peripheralManager(manager, didReceiveWrite: requests)
      } else if let first = requests.first {
        manager.respond(to: first, withResult: .requestNotSupported)
      }
    }
    return isCommand ? .accepted : .later
  }

  // MARK: Updates

  /// Sends a value to those who have subscribed.
  ///
  /// - Parameter clients: only to these; nil: to all.
  func update(
    _ value: [UInt8], _ carried: Carried<CBMutableCharacteristic>, _ clients: [ClientID]?,
    _ ticket: UpdateTicket
  ) {
    guard let server = station?.server,
      let (handle, entry) = entries.first(where: {
        $0.value.characteristic.content === carried.content
      })
    else { return }
    for (client, configuration) in entry.subscribers where clients?.contains(client) ?? true {
      if let limit = server.mtuNow(of: client).map({ min(512, $0 - 3) }), value.count > limit {
        ticket.tellCut(value.count, limit)
      }
      _ = central(client)
      let queue = updates[client] ?? UpdateQueue(client, server)
      updates[client] = queue
      queue.append(
        UpdateQueue.Entry(
          handle: handle, value: Array(value.prefix(512)),
          isIndication: !configuration.contains(.notification),
          ticket: ticket))
    }
  }

  // MARK: Advertising

  func advertise(_ wish: AdvertisingWish, isSilent: Bool = false) {
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
        kept.advertisement = KeptPublications.Advertisement(
          name: wish.name, services: wish.services.map(\.fullDescription))
        save()
        if !isSilent { told(nil) }
        for await link in advertisement.links { host.take(link) }
      } catch {
        guard let self, !Task.isCancelled else { return }
        advertising = nil
        told(ErrorMapping.advertising(error))
      }
    }
  }

  private func told(_ error: CBError?) {
    post { manager in
      if error == nil { manager.own.withLock { $0.isAdvertising = true } }
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
