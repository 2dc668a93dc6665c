import AttoEventLoop
import AttoGateway

/// Keeps a connection to one of several brokers. Used on the loop's thread.
///
/// The brokers are tried in their order, from the first. When all have failed, there is a pause, which
/// doubles from one round to the next up to ``longestPause`` and is varied by half, so that many
/// gateways do not come back at one moment. A connection that has lasted for ``goodTime`` resets it.
final class BrokerConnection {
  static let shortestPause = 1.0
  static let longestPause = 60.0
  static let goodTime: Duration = .seconds(30)

  private let settings: BrokerSettings
  private let loop: Loop
  /// Receives what happens on the connection; `.ended` also for each attempt that fails.
  private let report: (BrokerLink.Event) -> Void
  private(set) var link: BrokerLink?
  /// Why there is no connection; nil while there is one, and before the first attempt.
  private(set) var fault: BrokerFault?
  private var next = 0
  private var pause = BrokerConnection.shortestPause
  private var timer: LoopTimer?
  private var connectedSince: Int64?
  private var isStopped = false
  /// The quality of service of subscriptions. RabbitMQ keeps what is for a subscription with QoS 1 on one node
  /// of a cluster, and while that node is down it ends the connections of the client that subscribes at
  /// another one. So QoS 0 follows on a connection that ended before it had answered.
  private var subscriptionQoS: Int32 = 1

  init(
    _ settings: BrokerSettings, on loop: Loop, report: @escaping (BrokerLink.Event) -> Void
  ) {
    (self.settings, self.loop, self.report) = (settings, loop, report)
  }

  /// Whether there is a broker to publish to.
  var isConnected: Bool { link?.isConnected ?? false }

  /// Starts to connect.
  func start() { attempt() }

  func subscribe(_ filters: [String]) {
    for filter in filters { link?.subscribe(filter, qos: subscriptionQoS) }
  }

  /// Ends the connection for good. `done` is called when what was published is sent, or cannot be.
  func stop(_ done: @escaping () -> Void) {
    isStopped = true
    timer?.cancel()
    guard let link else { return done() }
    self.link = nil
    link.disconnect(done)
  }

  /// Ends the connection, in order, and connects again after some time.
  ///
  /// - Returns: the fault; nil if there is no connection.
  func suspend(_ name: String, for time: Duration) -> BrokerFault? {
    guard !isStopped, let link, link.isConnected else { return nil }
    let fault = BrokerFault.nameTaken(link.broker, name)
    self.link = nil
    link.disconnect {}
    (self.fault, connectedSince, next) = (fault, nil, 0)
    timer = LoopTimer(after: time, on: loop) { [weak self] in self?.attempt() }
    return fault
  }

  private func attempt() {
    guard !isStopped else { return }
    let brokers = settings.mqtt.brokers
    guard next < brokers.count else { return rest() }
    let link = BrokerLink(to: brokers[next], settings, on: loop) { [weak self] event in
      self?.happened(event)
    }
    next += 1
    self.link = link
    link.connect()
  }

  /// Waits, then begins with the first broker again.
  private func rest() {
    next = 0
    let time = pause * Double.random(in: 0.5...1.5)
    pause = min(pause * 2, Self.longestPause)
    timer = LoopTimer(after: .seconds(time), on: loop) { [weak self] in self?.attempt() }
  }

  private func happened(_ event: BrokerLink.Event) {
    switch event {
    case .connected:
      fault = nil
      connectedSince = loop.now
    case .ended(let fault):
      self.fault = fault
      // The link is in a call of its own.
      loop.execute(LoopBound(self, loop)) { $0.ended() }
    default: break
    }
    report(event)
  }

  private func ended() {
    let isUnanswered = (link?.unanswered ?? 0) > 0
    link = nil
    if let since = connectedSince {
      connectedSince = nil
      next = 0
      if loop.now - since >= Self.goodTime.inNanoseconds { pause = Self.shortestPause }
      let isFirst = subscriptionQoS == 1
      subscriptionQoS = isUnanswered ? 0 : 1
      return isUnanswered && isFirst ? attempt() : rest()
    }
    attempt()
  }
}

extension Loop {
  /// Runs `body` in one of the next turns, with a value of the loop.
  func execute<Value>(_ value: LoopBound<Value>, _ body: @escaping @Sendable (Value) -> Void) {
    execute { body(value.value) }
  }
}
