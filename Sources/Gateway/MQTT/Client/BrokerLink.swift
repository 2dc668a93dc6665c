import AttoEventLoop
import AttoGateway
import CAttoMosquitto
import Glibc

/// One connection to one broker, from the attempt to the end. Used on the loop's thread.
///
/// libmosquitto keeps the protocol; the loop watches its socket. Only connecting, which blocks on the
/// name server, has a thread. That thread owns the client until it is done; then the loop does. Each
/// connection has a client of its own, so that the library has nothing to send again: the outbox
/// knows what is not acknowledged.
///
/// What is published in one turn of the loop is written at its end. Without TLS, messages at QoS 0 do not pass
/// through the library at all but are ``PublishPackets``; the library writes only when none of these is left
/// unfinished.
final class BrokerLink {
  /// The time for the TCP connection, TLS and the broker's CONNACK.
  static let connectTime: Duration = .seconds(15)
  /// Packets that are read before others get their turn.
  private static let packetsPerTurn: Int32 = 64

  /// What happens on the connection.
  enum Event {
    /// The broker has accepted the client, and allows this many unacknowledged messages.
    case connected(window: Int)
    /// The kernel or, at QoS 1, the broker has accepted a message; a reason code from 128 refuses it.
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
  private var client: OpaquePointer?
  private var watch: WatchID?
  private var timer: LoopTimer?
  private var isAccepted = false
  private var hasEnded = false
  private var isWriting = false
  private var packets = PublishPackets()
  private var awaitsTurnEnd = false
  /// Octets in one packet that the broker accepts; nil: any.
  private var packetLimit: Int?
  /// When the broker has accepted the client.
  private var acceptedAt: Int64 = 0
  /// When something was sent last.
  private var lastSent: Int64 = 0
  /// Subscriptions that the broker has not answered.
  private(set) var unanswered = 0
  /// Set by a callback within a call of the library.
  private var end: BrokerFault?

  init(
    to broker: Configuration.MQTT.Broker, _ settings: BrokerSettings, on loop: Loop,
    report: @escaping (Event) -> Void
  ) {
    (self.broker, self.settings, self.loop, self.report) = (broker, settings, loop, report)
  }

  deinit { if let client { cmosquitto_destroy(client) } }

  /// Connects. `released` is called when the thread has ended, which can be after the link's end.
  func connect(released: @escaping () -> Void) {
    timer = LoopTimer(after: Self.connectTime, on: loop) { [weak self] in
      guard let self else { return }
      self.finish(.timeout(self.broker, after: Self.connectTime))
    }
    // Held until the thread has ended, since the client refers to it.
    let bound = LoopBound((self, released), loop)
    let context = UInt(bitPattern: Unmanaged.passUnretained(self).toOpaque())
    let (settings, broker) = (settings, broker)
    Blocking.run(on: loop) { () -> Result<UInt, BrokerFault> in
      do throws(BrokerFault) {
        return .success(try settings.connect(to: broker, events: Self.events, context: context))
      } catch {
        return .failure(error)
      }
    } done: { result in
      let (link, released) = bound.value
      link.attemptEnded(result ?? .failure(.unreachable(broker, "no thread is left")))
      released()
    }
  }

  private func attemptEnded(_ result: Result<UInt, BrokerFault>) {
    switch result {
    case .failure(let fault): finish(fault)
    case .success(let number):
      client = OpaquePointer(bitPattern: number)
      guard !hasEnded else { return close() }
      do {
        watch = try loop.watch(cmosquitto_socket(client), trigger: .level, self)
        updateInterest()
      } catch {
        finish(.unreachable(broker, "\(error)"))
      }
    }
  }

  /// Whether messages can be published.
  var isConnected: Bool { isAccepted && !hasEnded && !isBroken }
  /// Whether the library has closed the socket; the end is reported in the next turn.
  private var isBroken = false

  /// Whether the network does not accept more at the moment.
  var isFull: Bool { isWriting }

  /// Publishes a value at QoS 0.
  ///
  /// - Returns: false if the connection has ended, or the broker takes no message of that size.
  func publish(_ topic: String, _ payload: [UInt8]) -> Bool {
    guard !broker.usesTLS else {
      return publish(Outgoing(topic: topic, payload: payload, qos: 0)) != nil
    }
    guard isConnected,
      packets.append(
        topic, payload, version5: settings.mqtt.version == .v5, limit: packetLimit)
    else { return false }
    writeLater()
    if packets.waiting >= PublishPackets.batch {
      sendPackets()
      updateInterest()
    }
    return true
  }

  /// Publishes a message.
  ///
  /// - Returns: its ID; nil if the connection has ended, or the broker takes no message of that size.
  func publish(_ message: Outgoing) -> Int32? {
    guard let client, isConnected else { return nil }
    var id: Int32 = 0
    let count = Int32(clamping: message.payload.count)
    let result =
      message.correlation == nil && message.properties.isEmpty
      ? cmosquitto_publish(
        client, &id, message.topic, message.payload, count, message.qos, message.retained)
      : publish(message, client, &id)
    guard cmosquitto_socket(client) >= 0 else {
      breakOff(fault(result))
      return nil
    }
    guard result == CMOSQUITTO_OK else { return nil }
    writeLater()
    return id
  }

  private func publish(_ message: Outgoing, _ client: OpaquePointer, _ id: inout Int32) -> Int32 {
    let correlation = message.correlation ?? []
    return message.properties.withCProperties { properties, count in
      cmosquitto_publish_with(
        client, &id, message.topic, message.payload, Int32(clamping: message.payload.count),
        message.qos, message.retained, correlation, Int32(clamping: correlation.count), properties,
        count)
    }
  }

  func subscribe(_ filter: String, qos: Int32) {
    guard let client, !hasEnded else { return }
    unanswered += 1
    _ = cmosquitto_subscribe(client, nil, filter, qos)
    writeLater()
  }

  /// Ends the connection; the broker publishes no last will.
  func disconnect() {
    if let client, isConnected {
      write()
      // Not within an unfinished packet.
      if packets.waiting == 0 {
        _ = cmosquitto_disconnect(client)
        _ = cmosquitto_write(client)
      }
    }
    hasEnded = true
    close()
  }

  // MARK: - The loop

  private func updateInterest() {
    guard let client, let watch else { return }
    let wants = packets.waiting > 0 || cmosquitto_wants_to_write(client)
    guard wants != isWriting else { return }
    isWriting = wants
    loop.setInterest(watch, wants ? [.readable, .writable] : .readable)
  }

  private func writeLater() {
    lastSent = loop.now
    guard !awaitsTurnEnd else { return }
    awaitsTurnEnd = true
    loop.atEndOfTurn(self)
  }

  /// Writes what waits, as far as the network takes it.
  private func write() {
    guard let client, !hasEnded, !isBroken else { return }
    sendPackets()
    if !isBroken, packets.waiting == 0, cmosquitto_wants_to_write(client) {
      check(cmosquitto_write(client))
    }
    updateInterest()
  }

  private func sendPackets() {
    guard let number = packets.send(to: cmosquitto_socket(client)) else { return }
    breakOff(lost(String(cString: strerror(number))))
  }

  /// Uses the socket no more: its number may be another's soon. The caller learns the end from outside its own
  /// call.
  private func breakOff(_ fault: BrokerFault) {
    if let watch { loop.unwatch(watch) }
    watch = nil
    isBroken = true
    loop.execute(LoopBound((self, fault), loop)) { $0.0.finish($0.1) }
  }

  /// Has the library send a ping when nothing was sent for the time of `keepAlive`, and notice if the last one
  /// was not answered.
  private func tick() {
    let period = Duration.seconds(settings.mqtt.keepAlive)
    let rest = period - .nanoseconds(loop.now - lastSent)
    timer = LoopTimer(after: max(rest, .seconds(1)), on: loop) { [weak self] in
      guard let self, let client else { return }
      let isDue = loop.now - lastSent >= period.inNanoseconds
      if isDue { lastSent = loop.now }
      check(cmosquitto_tick(client))
      guard !hasEnded else { return }
      write()
      if !hasEnded { tick() }
    }
  }

  private func check(_ result: Int32) {
    if let end { return finish(end) }
    guard result == CMOSQUITTO_OK else { return finish(fault(result)) }
  }

  private func fault(_ result: Int32) -> BrokerFault {
    let text = String(cString: cmosquitto_text(client, result))
    if isAccepted { return lost(text) }
    return result == CMOSQUITTO_LOST ? .closed(broker, text) : .unreachable(broker, text)
  }

  private func lost(_ text: String) -> BrokerFault {
    .lost(broker, text, after: .nanoseconds(loop.now - acceptedAt))
  }

  private func finish(_ fault: BrokerFault) {
    guard !hasEnded else { return }
    hasEnded = true
    close()
    report(.ended(fault))
  }

  private func close() {
    timer?.cancel()
    timer = nil
    if let watch { loop.unwatch(watch) }
    watch = nil
    if let client { cmosquitto_destroy(client) }
    client = nil
  }
}

extension BrokerLink: ReadinessHandler {
  func ready(_ readiness: Readiness) {
    guard client != nil else { return }
    if readiness.contains(.writable) {
      write()
      if !hasEnded, !isWriting { report(.writable) }
    }
    guard let client, !hasEnded, readiness != .writable else { return }
    var more = false
    check(cmosquitto_read(client, Self.packetsPerTurn, &more))
    if !hasEnded, cmosquitto_wants_to_write(client) { writeLater() }
    if more, !hasEnded, let watch { loop.reschedule(watch, .readable) }
  }
}

extension BrokerLink: TurnHandler {
  func turnEnds() {
    awaitsTurnEnd = false
    write()
  }
}

// MARK: - Callbacks

extension BrokerLink {
  /// Called within the library's calls, on the loop's thread.
  fileprivate static let events = cmosquitto_events(
    connected: { context, reason, window, packet in
      BrokerLink.of(context).connected(reason, window, packet)
    },
    disconnected: { context, reason in BrokerLink.of(context).disconnected(reason) },
    published: { context, id, reason in
      BrokerLink.of(context).report(.published(id, reason: reason))
    },
    subscribed: { context, id, granted in
      let link = BrokerLink.of(context)
      link.unanswered -= 1
      if granted >= 128 { link.report(.subscriptionRefused) }
    },
    message: { context, message in
      guard let message else { return }
      BrokerLink.of(context).report(.message(BrokerMessage(message.pointee)))
    })

  private static func of(_ context: UnsafeMutableRawPointer?) -> BrokerLink {
    Unmanaged<BrokerLink>.fromOpaque(context!).takeUnretainedValue()
  }

  private func connected(_ reason: cmosquitto_reason, _ window: UInt16, _ packet: UInt32) {
    guard reason.code == 0 else {
      end = .refused(broker, BrokerReason(reason, settings.mqtt.version))
      return
    }
    timer?.cancel()
    isAccepted = true
    packetLimit = packet == 0 ? nil : Int(packet)
    acceptedAt = loop.now
    lastSent = loop.now
    tick()
    let limit = BrokerSettings.windowLimit
    report(.connected(window: Int(window == 0 ? limit : min(window, limit))))
  }

  private func disconnected(_ reason: cmosquitto_reason) {
    guard end == nil else { return }
    // A reason from 128 on is the broker's, in version 5; others are results of the library.
    end =
      reason.code >= 128
      ? .ended(broker, BrokerReason(reason, .v5)) : fault(reason.code)
  }
}

extension BrokerReason {
  fileprivate init(_ reason: cmosquitto_reason, _ version: Configuration.MQTT.Version) {
    self.init(
      reason.code, version,
      text: String(cString: cmosquitto_refusal(version == .v5, reason.code)))
    words = reason.words.map { String(cString: $0) }
    server = reason.server.map { String(cString: $0) }
  }
}
