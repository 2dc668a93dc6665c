import AttoEventLoop
import AttoGateway
import AttoStore
import CAttoLinux

/// Publishes what the gateway has to say: values, which the ``Outbox`` keeps until the broker has them,
/// and messages of the moment, which are dropped if no broker is there. Used on the loop's thread.
final class Publisher {
  /// Messages of the moment that wait for the network.
  static let messageLimit = 1024
  /// Values that wait if there is no queue file.
  static let memoryLimit = 10_000
  /// The pause after a failure of the disk.
  static let diskPause: Duration = .seconds(1)
  /// Values that wait at a broker that is slower than the devices, before they are held back; half the
  /// queue's limit if that is less.
  static let waitingLimit = 2048
  /// How long a broker may accept nothing until devices are no longer held back for it.
  static let patience: Duration = .seconds(1)

  /// What the owner learns.
  enum Event {
    case connected
    case disconnected(BrokerFault)
    case subscriptionRefused
    case message(BrokerMessage)
    /// The disk does not accept values, or does so again (nil).
    case disk(StoreError?)
  }

  private let loop: Loop
  private let qos: Int
  private var file: QueueFile?
  private let limit: Int
  private var outbox: Outbox
  private let retained: RetainedTopics
  /// In a fleet another gateway may have published a newer value than one that is late.
  private let isFleet: Bool
  private var connection: BrokerConnection?
  private let report: (Event) -> Void
  private var window = 0
  private var messages: [Outgoing] = []
  private var diskTimer: LoopTimer?
  private var diskFault: StoreError?
  /// Messages of the moment that were dropped, and values sent.
  private(set) var droppedMessages = 0
  private(set) var published = 0
  /// Values that the broker has refused.
  private(set) var refused = 0
  private var isStopped = false
  /// Whether the owner lets values and messages go to the present broker.
  private var isBegun = false

  /// - Parameter queue: nil: values are kept in memory, until ``keep(in:)``.
  init(
    _ settings: BrokerSettings, isFleet: Bool, queue: QueueFile.Content?, on loop: Loop,
    report: @escaping (Event) -> Void
  ) {
    self.loop = loop
    self.isFleet = isFleet
    retained = RetainedTopics(on: loop)
    if let queue { retained.keep(in: queue.file, queue.retained) }
    self.report = report
    qos = settings.mqtt.qos
    file = queue?.file
    limit = settings.mqtt.queueLimit
    outbox = Outbox(
      limit: queue == nil ? min(limit, Self.memoryLimit) : limit, stored: queue?.stored)
    connection = BrokerConnection(settings, on: loop) { [weak self] in self?.happened($0) }
  }

  /// Keeps values in a file from now on.
  func keep(in queue: QueueFile.Content) {
    guard !isStopped else { return }
    retained.keep(in: queue.file, queue.retained)
    file = queue.file
    outbox.attach(queue.stored, limit: limit)
    pump()
  }

  var hasQueue: Bool { file != nil }
  /// Whether values outlive this process.
  var isKeeping: Bool { file != nil && diskFault == nil }

  /// Starts to connect.
  func start() {
    connection?.start()
    disk()
  }

  /// Ends the connection; `last` is published before, if there is a broker. When `done` is called, that is sent,
  /// unless the broker does not read, and values that wait are on disk, unless the disk refuses them.
  func stop(last: Outgoing, done: @escaping () -> Void) {
    if connection?.isConnected == true { _ = connection?.link?.publish(last) }
    var left = 2
    let partDone = {
      left -= 1
      if left == 0 { done() }
    }
    connection?.stop(partDone)
    connection = nil
    isStopped = true
    progressed()
    outbox.connectionLost()
    whenStored = partDone
    disk()
  }
  private var whenStored: (() -> Void)?

  var isConnected: Bool { connection?.isConnected ?? false }
  /// Whether values go to a broker.
  var isPublishing: Bool { isConnected && isBegun }
  var broker: Configuration.MQTT.Broker? { isConnected ? connection?.link?.broker : nil }
  var fault: BrokerFault? { connection?.fault }
  /// Values that wait, that were dropped, and that are or were on disk.
  var counts: (waiting: Int, dropped: Int, kept: Int) {
    (outbox.count, outbox.dropped, outbox.kept)
  }

  /// When the gateway received the oldest value that waits and is in memory, in milliseconds since 1970.
  var waitingSince: Int64? { outbox.oldest }

  /// Lets values and messages go to the broker, for this connection.
  func begin() {
    isBegun = true
    pump()
  }

  /// Publishes a message before ``begin()``.
  func sendFirst(_ message: Outgoing) { _ = connection?.link?.publish(message) }

  /// Leaves the broker, where another gateway has this one's name, and connects again after some time.
  func suspend(_ name: String, for time: Duration) {
    guard let fault = connection?.suspend(name, for: time) else { return }
    ended(fault)
  }

  func subscribe(_ filters: [String]) {
    connection?.subscribe(filters)
  }

  /// Publishes a value, now or when the broker can be reached.
  func publish(_ value: KeptValue) {
    if value.isRetained { retained.add(value.topic) }
    if qos == 0, isBegun, !outbox.hasWaiting, let link = connection?.link, link.isConnected,
      !link.isFull
    {
      var message = Outgoing(
        topic: value.topic, payload: value.payload, qos: 0, retained: value.isRetained)
      if value.isRepeated {
        message = self.message(value, isLate: true)
        message.qos = 0
      }
      // A broker that refuses its size refuses it always.
      if link.publish(message) != nil { return published += 1 }
    }
    outbox.append(value, at: now)
    pump()
  }

  /// The topics that have a retained message of this gateway's.
  var retainedTopics: Set<String> { retained.topics }

  /// Removes the retained message of a topic, after the values that wait.
  func clear(_ topic: String) {
    retained.remove(topic)
    outbox.append(
      KeptValue(number: 0, time: 0, topic: topic, payload: [], isJSON: false, isRetained: true),
      at: now)
    pump()
  }

  /// Whether a broker that is there is slower than the devices. Values are accepted nevertheless.
  var isBehind: Bool {
    guard !isStuck, let link = connection?.link, link.isConnected else { return false }
    return qos == 0 && !outbox.hasWaiting
      ? link.isFull : outbox.count > min(Self.waitingLimit, outbox.limit / 2)
  }
  /// Whether the broker has accepted nothing for ``patience``.
  private var isStuck = false
  private let roomWaiters = WaiterList<Void, Void, GatewayError>()

  /// Waits until ``isBehind`` is false. Returns at once if the task is cancelled.
  func room() async {
    let _: Void? = try? await loop.withLocalWaiter { (waiter: Waiter<Void, GatewayError>) in
      guard isBehind else { return waiter.resume(.success(())) }
      roomWaiters.append(waiter, for: ())
      stuckTimer =
        stuckTimer
        ?? LoopTimer(after: Self.patience, on: loop) { [weak self] in
          self?.isStuck = true
          self?.progressed()
        }
    }
  }
  private var stuckTimer: LoopTimer?

  /// The broker has accepted something, or has gone.
  private func progressed() {
    stuckTimer?.cancel()
    stuckTimer = nil
    if !isBehind { roomWaiters.resumeAll(.success(())) }
  }

  /// Publishes a message of the moment.
  func send(_ message: Outgoing) {
    if message.retained {
      message.payload.isEmpty ? retained.remove(message.topic) : retained.add(message.topic)
    }
    // The owner publishes states when it begins.
    guard let link = connection?.link, link.isConnected, isBegun else {
      return droppedMessages += 1
    }
    if link.isFull || !messages.isEmpty {
      guard messages.count < Self.messageLimit else { return droppedMessages += 1 }
      messages.append(message)
    } else if link.publish(message) == nil {
      droppedMessages += 1
    }
  }

  private var now: Int64 { loop.now / 1_000_000 }

  // MARK: - The broker

  private func happened(_ event: BrokerLink.Event) {
    switch event {
    case .connected(let window):
      self.window = window
      report(.connected)
      pump()
    case .published(let id, let reason):
      guard outbox.acknowledged(id) else { return }
      // Refused for good, for instance because the user may not publish there.
      if reason >= 128 { refused += 1 }
      pump()
      if outbox.count == 0 { retained.acknowledged() }
      isStuck = false
      progressed()
    case .writable:
      while let message = messages.first, let link = connection?.link, !link.isFull {
        messages.removeFirst()
        if link.publish(message) == nil { droppedMessages += 1 }
      }
      pump()
      isStuck = false
      progressed()
    case .ended(let fault): ended(fault)
    case .subscriptionRefused: report(.subscriptionRefused)
    case .message(let message): report(.message(message))
    }
  }

  private func ended(_ fault: BrokerFault) {
    isBegun = false
    messages = []
    outbox.connectionLost()
    progressed()
    report(.disconnected(fault))
    disk()
  }

  /// Publishes values as the window and the network allow.
  private func pump() {
    if let link = connection?.link, link.isConnected, isBegun {
      let now = now
      while !link.isFull, outbox.inFlight < window, let (value, isLate) = outbox.next(at: now) {
        guard let id = link.publish(message(value, isLate: isLate)) else {
          guard link.isConnected else { break }
          outbox.refused()
          continue
        }
        published += 1
        outbox.sent(as: id)
      }
    }
    disk()
  }

  private func message(_ value: KeptValue, isLate: Bool) -> Outgoing {
    var message = Outgoing(topic: value.topic, payload: value.payload, retained: value.isRetained)
    guard !value.payload.isEmpty || !value.isRetained, isLate || value.isRepeated else {
      return message
    }
    if isFleet, !value.isRepeated { message.retained = false }
    if value.isJSON, value.payload.last == UInt8(ascii: "}") {
      message.payload.removeLast()
      message.payload += ",\"late\":true}".utf8
    } else {
      message.properties = [Outgoing.Property(name: "late", value: "true")]
    }
    return message
  }

  // MARK: - The disk

  private func disk() {
    guard let file else { return stored() }
    guard diskTimer == nil || diskFault == nil else { return }
    let call = outbox.diskCall(at: now, isConnected: isConnected && !isStopped)
    guard let call else { return waitForDisk() }
    diskTimer?.cancel()
    diskTimer = nil
    let publisher = LoopBound(self, loop)
    switch call {
    case .read(let first):
      Blocking.run(on: loop) { () -> Result<[KeptValue], StoreError> in
        do throws(StoreError) {
          return .success(try file.read(from: first))
        } catch { return .failure(error) }
      } done: { result in
        publisher.value.haveRead(result ?? .failure(.full(path: file.path)))
      }
    case .write(let values, let through):
      Blocking.run(on: loop) { () -> StoreError? in
        do throws(StoreError) {
          try file.write(values, removeThrough: through)
          return nil
        } catch { return error }
      } done: { fault in
        // Without a thread: again later, as after a failure.
        publisher.value.wrote(fault ?? .full(path: file.path), through)
      }
    }
  }

  private func haveRead(_ result: Result<[KeptValue], StoreError>) {
    switch result {
    case .success(let values):
      outbox.read(values)
      diskAnswered(nil)
    case .failure(let fault):
      outbox.readFailed()
      diskAnswered(fault)
    }
  }

  private func wrote(_ fault: StoreError?, _ through: UInt64) {
    outbox.wrote(fault == nil, removedThrough: through)
    diskAnswered(fault)
  }

  /// Goes on, after a fault with a pause.
  private func diskAnswered(_ fault: StoreError?) {
    if fault != diskFault { report(.disk(fault)) }
    diskFault = fault
    guard fault != nil else { return pump() }
    if isStopped { return stored() }
    diskTimer = LoopTimer(after: Self.diskPause, on: loop) { [weak self] in
      self?.diskTimer = nil
      self?.disk()
    }
  }

  /// Sets the timer for the values that the broker does not acknowledge in time.
  private func waitForDisk() {
    guard diskTimer == nil, let time = outbox.nextDiskTime else {
      if outbox.nextDiskTime == nil { stored() }
      return
    }
    let delay = Duration.milliseconds(max(1, time - now))
    diskTimer = LoopTimer(after: delay, on: loop) { [weak self] in
      self?.diskTimer = nil
      self?.disk()
    }
  }

  private func stored() {
    guard isStopped, let done = whenStored else { return }
    whenStored = nil
    done()
  }
}
