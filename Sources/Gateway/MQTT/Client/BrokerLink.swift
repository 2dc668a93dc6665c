import AttoEventLoop
import AttoGateway
import CAttoMosquitto

/// One connection to one broker, from the attempt to the end. Used on the loop's thread.
///
/// A process of its own has the connection (``BrokerProcess``), one for each, so that libmosquitto has nothing to
/// send again: the outbox knows what is not acknowledged. A process that says nothing for longer than the period
/// of the keep-alive is ended.
final class BrokerLink {
  /// The time for the process to start, the name server, the TCP connection, TLS and the broker's CONNACK.
  static let connectTime: Duration = .seconds(15)
  /// How long the process may be silent beyond half a period more than the keep-alive.
  private static let silenceTime: Duration = .seconds(5)
  /// Octets of a frame that its message does not have.
  private static let fieldCounts = 64

  /// What happens on the connection.
  enum Event {
    /// The broker has accepted the client, and allows this many unacknowledged messages.
    case connected(window: Int)
    /// At QoS 1 the broker has accepted a message; a reason code from 128 refuses it.
    case published(Int32, reason: Int32)
    /// The broker has refused a subscription.
    case subscriptionRefused
    case message(BrokerMessage)
    /// More can be published without waiting for the network.
    case writable
    /// The end; nothing follows.
    case ended(BrokerFault)
  }

  let broker: Configuration.MQTT.Broker
  private let settings: BrokerSettings
  private let loop: Loop
  private let report: (Event) -> Void
  private var process: BrokerProcess?
  private var timer: LoopTimer?
  private var isAccepted = false
  private var hasEnded = false
  /// Octets in one packet that the broker accepts.
  private var packetLimit = Int.max
  /// When the broker has accepted the client.
  private var acceptedAt: Int64 = 0
  /// When the process has told something last.
  private var heardAt: Int64 = 0
  private var lastID: UInt32 = 0
  /// Subscriptions that the broker has not answered.
  private(set) var unanswered = 0

  init(
    to broker: Configuration.MQTT.Broker, _ settings: BrokerSettings, on loop: Loop,
    report: @escaping (Event) -> Void
  ) {
    (self.broker, self.settings, self.loop, self.report) = (broker, settings, loop, report)
  }

  deinit { process?.kill() }

  /// Connects.
  func connect() {
    timer = LoopTimer(after: Self.connectTime, on: loop) { [weak self] in
      guard let self else { return }
      self.finish(.timeout(self.broker, after: Self.connectTime))
    }
    let bound = LoopBound(Weak(self), loop)
    let (settings, broker) = (settings, broker)
    Blocking.run(on: loop) { () -> Result<[UInt8], BrokerFault> in
      Result { () throws(BrokerFault) in try settings.request(for: broker) }
    } done: { result in
      bound.value.link?.start(result ?? .failure(.unreachable(broker, "no thread is left")))
    }
  }

  private struct Weak {
    weak var link: BrokerLink?
    init(_ link: BrokerLink) { self.link = link }
  }

  private func start(_ request: Result<[UInt8], BrokerFault>) {
    guard !hasEnded else { return }
    let frame: [UInt8]
    do throws(BrokerFault) { frame = try request.get() } catch { return finish(error) }
    do throws(BrokerProcess.Failure) {
      let process = try BrokerProcess(on: loop) { [weak self] in self?.happened($0) }
      self.process = process
      process.send { $0 += frame }
    } catch {
      finish(.unreachable(broker, "\(error)"))
    }
  }

  /// Whether messages can be published.
  var isConnected: Bool { isAccepted && !hasEnded }

  /// Whether the network does not accept more at the moment.
  var isFull: Bool { process?.isFull ?? false }

  /// Publishes a message.
  ///
  /// - Returns: its ID, 0 at QoS 0; nil if the connection has ended, or the broker takes no message of that size.
  func publish(_ message: Outgoing) -> Int32? {
    guard isConnected, let process, message.packetSize <= packetLimit,
      message.packetSize + Self.fieldCounts <= CMOSQUITTO_FRAME_LIMIT,
      message.properties.count <= Outgoing.propertyLimit
    else { return nil }
    var id: UInt32 = 0
    if message.qos > 0 {
      lastID = lastID == UInt32(Int32.max) ? 1 : lastID + 1
      id = lastID
    }
    process.send { $0.appendFrame(message, id: id) }
    return Int32(id)
  }

  func subscribe(_ filter: String, qos: Int32) {
    guard let process, !hasEnded else { return }
    unanswered += 1
    process.send { octets in
      octets.appendFrame(CMOSQUITTO_SUBSCRIBE) { body in
        body.appendNumber(UInt8(qos))
        body.appendText(filter)
      }
    }
  }

  /// Ends the connection; the broker publishes no last will.
  ///
  /// - Parameter done: called when all was sent, or after ``BrokerProcess/finishingTime``.
  func disconnect(_ done: @escaping () -> Void) {
    let process = process
    let wasConnected = isConnected
    self.process = nil
    close()
    guard wasConnected, let process else {
      process?.kill()
      return done()
    }
    process.send { $0.appendFrame(CMOSQUITTO_DISCONNECT) { _ in } }
    process.finish(done)
  }

  // MARK: - The process

  private func happened(_ event: BrokerProcess.Event) {
    switch event {
    case .frame(let frame):
      heardAt = loop.now
      received(frame)
    case .writable: if isConnected { report(.writable) }
    case .ended(let reason): finish(fault(reason))
    }
  }

  private func received(_ frame: BrokerFrame) {
    switch frame {
    case .connected(let window, let packetLimit) where !isAccepted:
      isAccepted = true
      self.packetLimit = packetLimit ?? .max
      acceptedAt = loop.now
      watchSilence()
      let limit = Int(BrokerSettings.windowLimit)
      report(.connected(window: min(window ?? limit, limit)))
    case .ended(let end, let code, let text, let words, let server):
      let text = String(text.printable.prefix(BrokerReason.textLimit))
      var reason = BrokerReason(code, end == .byBroker ? .v5 : settings.mqtt.version, text: text)
      (reason.words, reason.server) = (words, server)
      switch end {
      case .library: finish(.libraryMissing(text))
      case .unreachable:
        let isUnknown = text.hasPrefix("Lookup error")
        finish(.unreachable(broker, isUnknown ? "the name \(broker.host) is unknown" : text))
      case .closed: finish(.closed(broker, text))
      case .lost: finish(lost(text))
      case .refused: finish(.refused(broker, reason))
      case .byBroker: finish(.ended(broker, reason))
      }
    case .published(let id, let reason) where isAccepted:
      report(.published(Int32(truncatingIfNeeded: id), reason: reason))
    case .subscribed(let reason) where unanswered > 0:
      unanswered -= 1
      if reason >= 128 { report(.subscriptionRefused) }
    case .message(let message) where isAccepted: report(.message(message))
    case .alive: break
    case .connected, .published, .subscribed, .message:
      finish(fault("its process has sent a frame that was not expected"))
    }
  }

  /// Ends a process that does not run, or not its loop.
  private func watchSilence() {
    let limit = .seconds(settings.mqtt.keepAlive) * 1.5 + Self.silenceTime
    let rest = limit - .nanoseconds(loop.now - heardAt)
    timer?.cancel()
    timer = LoopTimer(after: max(rest, .milliseconds(1)), on: loop) { [weak self] in
      guard let self else { return }
      if loop.now - heardAt < limit.inNanoseconds { return watchSilence() }
      finish(fault("its process does not respond"))
    }
  }

  private func fault(_ text: String) -> BrokerFault {
    isAccepted ? .failed(broker, text) : .unreachable(broker, text)
  }

  private func lost(_ text: String) -> BrokerFault {
    .lost(broker, text, after: .nanoseconds(loop.now - acceptedAt))
  }

  private func finish(_ fault: BrokerFault) {
    guard !hasEnded else { return }
    close()
    report(.ended(fault))
  }

  private func close() {
    hasEnded = true
    timer?.cancel()
    timer = nil
    process?.kill()
    process = nil
  }
}

extension [UInt8] {
  /// Appends a message to publish.
  fileprivate mutating func appendFrame(_ message: Outgoing, id: UInt32) {
    appendFrame(CMOSQUITTO_PUBLISH) { body in
      body.appendNumber(id)
      body.appendNumber(UInt8(message.retained ? 1 : 0))
      body.appendNumber(UInt8(message.properties.count))
      body.appendText(message.topic)
      body.appendField(message.payload)
      if let correlation = message.correlation {
        body.appendField(correlation)
      } else {
        body.appendNumber(CMOSQUITTO_ABSENT)
      }
      for property in message.properties {
        body.appendText(property.name)
        body.appendText(property.value)
      }
    }
  }
}
