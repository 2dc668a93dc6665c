import AttoStreams

/// Announces a service on one network and answers questions about it: a multicast DNS responder (RFC 6762).
///
/// # Theory
/// Messages and the time go in, messages to send come out.
///
///     probing: 3 questions, 250 ms apart --> announcing: twice, 1 s apart --> idle
///
/// Questions are answered after the probes. An answer about this instance alone is sent at once. One that
/// other gateways give as well is delayed by 20 to 120 ms, so that not all send at the same time, and by up to
/// 500 ms if the client says that more of the answers that it knows follow. Answers that a client knows are left
/// out. A record goes to the group once a second at most, or every 250 ms to clients that probe for its name; what is
/// asked for in between has just been sent. So a flood of questions causes no flood of answers. Answers to single
/// clients have a limit of their own, ``unicastLimit``.
///
/// A response that contradicts the service ends the responder: another host has the name.
///
/// Times are the loop's, in nanoseconds.
struct Responder {
  typealias Kinds = AnnouncedService.Kinds
  typealias Sender = MulticastSocket.Sender

  enum Output: Equatable {
    case multicast([UInt8])
    case unicast([UInt8], Sender)
    /// Another host has the name.
    case contradiction
  }

  static let port: UInt16 = 5353
  /// Answers to single clients in one second.
  static let unicastLimit = 64
  private static let milliseconds: Int64 = 1_000_000
  private static let probes = 3
  private static let announcements = 2

  private enum Phase: Equatable { case probing(sent: Int), announcing(sent: Int), idle, ended }

  let service: AnnouncedService
  private let random: (ClosedRange<Int64>) -> Int64
  private var phase: Phase
  private var phaseTime = Int64.max
  /// Answers that wait for their time.
  private var waiting: Kinds = []
  private var waitingTime = Int64.max
  /// The only client that waits; nil: there are several.
  private var waitingClient: Sender?
  /// When each kind was sent to the group.
  private var sent: [Kinds: Int64] = [:]
  private var unicasts = (second: Int64.min, count: 0)

  /// - Parameters:
  ///   - probes: false for a name that was probed already, whose records have changed.
  ///   - random: replaced in tests.
  init(
    _ service: AnnouncedService, probes: Bool = true, now: Int64,
    random: @escaping (ClosedRange<Int64>) -> Int64 = { Int64.random(in: $0) }
  ) {
    self.service = service
    self.random = random
    phase = probes ? .probing(sent: 0) : .announcing(sent: 0)
    phaseTime = now + (probes ? random(0...250 * Self.milliseconds) : 0)
  }

  /// When ``advance(to:)`` is due; nil: never.
  var nextTime: Int64? {
    let time = min(phaseTime, waiting.isEmpty ? .max : waitingTime)
    return time == .max ? nil : time
  }

  var isAnnounced: Bool { phase == .idle || phase == .announcing(sent: 1) }

  mutating func advance(to now: Int64) -> [Output] {
    var outputs: [Output] = []
    if phaseTime <= now {
      switch phase {
      case .probing(let count) where count < Self.probes:
        outputs.append(.multicast(probe.octets))
        (phase, phaseTime) = (.probing(sent: count + 1), now + 250 * Self.milliseconds)
      case .probing: (phase, phaseTime) = (.announcing(sent: 0), now)
      case .announcing(let count):
        outputs += multicast(.announced, now, pause: 0)
        let isLast = count + 1 == Self.announcements
        phase = isLast ? .idle : .announcing(sent: count + 1)
        phaseTime = isLast ? .max : now + 1000 * Self.milliseconds
      case .idle, .ended: phaseTime = .max
      }
    }
    if !waiting.isEmpty, waitingTime <= now {
      outputs += multicast(waiting, now)
      waiting = []
    }
    return outputs
  }

  /// The message that ends the service; nil if it was not announced.
  mutating func goodbye() -> [UInt8]? {
    defer { phase = .ended }
    guard isAnnounced else { return nil }
    var message = response(service.records(Kinds.announced.subtracting(.meta)))
    for index in message.answers.indices { message.answers[index].timeToLive = 0 }
    return message.octets
  }

  /// - Parameter isOwn: whether this machine has sent the message.
  mutating func receive(
    _ message: DNSMessage, from sender: Sender, isOwn: Bool, now: Int64
  ) -> [Output] {
    guard phase != .ended else { return [] }
    guard !message.isResponse else {
      let contradicts = message.answers.contains {
        $0.timeToLive > 0 && service.isContradicted(by: $0, isOwn: isOwn)
      }
      // Responses of multicast DNS come from its port.
      guard contradicts, sender.port == Self.port else { return [] }
      (phase, phaseTime, waiting) = (.ended, .max, [])
      return [.contradiction]
    }
    if case .probing = phase { return [] }
    let known = known(message.answers)
    guard !message.questions.isEmpty else {
      // More known answers of the client that waits.
      if waitingClient == sender { waiting.subtract(known) }
      return []
    }
    return answer(message, known, to: sender, now)
  }

  private mutating func answer(
    _ message: DNSMessage, _ known: Kinds, to sender: Sender, _ now: Int64
  ) -> [Output] {
    var (all, alone, questions) = (Kinds(), Kinds(), [DNSQuestion]())
    for question in message.questions {
      let kinds = service.answers(to: question)
      guard !kinds.isEmpty else { continue }
      questions.append(question)
      if question.wantsUnicast { alone.formUnion(kinds) } else { all.formUnion(kinds) }
    }
    guard sender.port == Self.port else {
      // A client of the ordinary DNS (RFC 6762, section 6.7).
      let kinds = all.union(alone).subtracting(known)
      guard !kinds.isEmpty, mayUnicast(now) else { return [] }
      var reply = response(records(of: kinds))
      (reply.id, reply.questions) = (message.id, questions)
      for index in reply.answers.indices {
        reply.answers[index].timeToLive = min(10, reply.answers[index].timeToLive)
        reply.answers[index].isUnique = false
      }
      for index in reply.questions.indices { reply.questions[index].wantsUnicast = false }
      return [.unicast(reply.octets, sender)]
    }
    all.subtract(known)
    alone.subtract(known)
    alone.subtract(all)
    var outputs: [Output] = []
    if !alone.isEmpty, mayUnicast(now) {
      outputs.append(.unicast(response(records(of: alone)).octets, sender))
    }
    guard !all.isEmpty else { return outputs }
    if message.isTruncated || !all.isDisjoint(with: .shared) {
      let delay = message.isTruncated ? random(400...500) : random(20...120)
      wait(all, for: sender, until: now + delay * Self.milliseconds)
    } else {
      let isProbe = !message.authorities.isEmpty
      outputs += multicast(all, now, pause: isProbe ? 250 : 1000)
    }
    return outputs
  }

  private mutating func wait(_ kinds: Kinds, for sender: Sender, until time: Int64) {
    waitingClient = waiting.isEmpty || waitingClient == sender ? sender : nil
    waitingTime = waiting.isEmpty ? time : min(waitingTime, time)
    waiting.formUnion(kinds)
  }

  /// Sends records, except those that the group has got in the last `pause` milliseconds.
  private mutating func multicast(
    _ kinds: Kinds, _ now: Int64, pause: Int64 = 1000
  ) -> [Output] {
    var fresh: Kinds = []
    for bit in 0..<8 {
      let kind = Kinds(rawValue: 1 << bit)
      guard kinds.contains(kind) else { continue }
      if let time = sent[kind], now - time < pause * Self.milliseconds { continue }
      fresh.insert(kind)
      sent[kind] = now
    }
    return fresh.isEmpty ? [] : [.multicast(response(records(of: fresh)).octets)]
  }

  private mutating func mayUnicast(_ now: Int64) -> Bool {
    let second = now / (1000 * Self.milliseconds)
    unicasts = (second, unicasts.second == second ? unicasts.count + 1 : 1)
    return unicasts.count <= Self.unicastLimit
  }

  private func records(of kinds: Kinds) -> [DNSRecord] {
    service.records(kinds) + service.records(service.additions(to: kinds))
  }

  private func response(_ records: [DNSRecord]) -> DNSMessage {
    var message = DNSMessage()
    message.isResponse = true
    message.answers = records
    return message
  }

  private var probe: DNSMessage {
    var message = DNSMessage()
    for name in [service.instance, service.host] {
      message.questions.append(
        DNSQuestion(name: name, type: DNSType.any, wantsUnicast: false))
    }
    message.authorities = service.records([.service, .text, .ipv4, .ipv6])
    for index in message.authorities.indices { message.authorities[index].isUnique = false }
    return message
  }

  /// What a client knows, of at least half the time that it may be kept.
  private func known(_ answers: [DNSRecord]) -> Kinds {
    guard !answers.isEmpty else { return [] }
    var known: Kinds = []
    for bit in 0..<8 {
      let kind = Kinds(rawValue: 1 << bit)
      let records = service.records(kind)
      let isKnown = records.allSatisfy { record in
        answers.contains {
          $0.data == record.data && $0.name == record.name
            && $0.timeToLive >= record.timeToLive / 2
        }
      }
      if isKnown, !records.isEmpty { known.insert(kind) }
    }
    return known
  }
}
