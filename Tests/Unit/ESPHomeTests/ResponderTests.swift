import AttoStreams
import TestSupport
import Testing

@testable import AttoESPHome

/// The responder, a step at a time.
@Suite(.sideBySide) struct ResponderTests {
  typealias Kinds = AnnouncedService.Kinds

  static let service = DNSTests.service
  static let client = Responder.Sender(octets: [192, 0, 2, 9], port: 5353)
  static let other = Responder.Sender(octets: [192, 0, 2, 8], port: 5353)
  static let millisecond: Int64 = 1_000_000

  static func running() -> Responder {
    var responder = Responder(service, now: 0) { $0.lowerBound }
    while let time = responder.nextTime { _ = responder.advance(to: time) }
    return responder
  }

  static func question(
    _ name: DNSName, _ type: UInt16, unicast: Bool = false, known: Kinds = [],
    truncated: Bool = false
  ) -> DNSMessage {
    var message = DNSMessage()
    message.questions = [DNSQuestion(name: name, type: type, wantsUnicast: unicast)]
    message.answers = service.records(known)
    message.isTruncated = truncated
    return message
  }

  /// Names and types of the records that were sent, and to whom.
  static func sent(_ outputs: [Responder.Output]) throws -> [[String]] {
    try outputs.map { output in
      let (octets, mark) =
        switch output {
        case .multicast(let octets): (octets, "")
        case .unicast(let octets, _): (octets, "alone ")
        case .contradiction: ([UInt8](), "")
        }
      guard output != .contradiction else { return ["contradiction"] }
      return try DNSMessage(octets).answers.map { "\(mark)\($0.data.type)" }
    }
  }

  @Test func probesAnnouncementsAndGoodbye() throws {
    var responder = Responder(Self.service, now: 0) { $0.upperBound }
    var steps: [(Int64, [Responder.Output])] = []
    #expect(responder.goodbye() == nil)
    responder = Responder(Self.service, now: 0) { $0.upperBound }
    while let time = responder.nextTime {
      let outputs = responder.advance(to: time)
      if !outputs.isEmpty { steps.append((time / Self.millisecond, outputs)) }
    }
    #expect(steps.map(\.0) == [250, 500, 750, 1000, 2000])
    for (_, outputs) in steps.prefix(3) {
      guard case .multicast(let octets) = outputs[0] else { continue }
      let probe = try DNSMessage(octets)
      #expect(probe.questions.map(\.type) == [255, 255])
      #expect(probe.authorities.map(\.data.type) == [33, 16, 1, 28])
      #expect(probe.authorities.allSatisfy { !$0.isUnique } && !probe.isResponse)
    }
    for (_, outputs) in steps.suffix(2) {
      #expect(try Self.sent(outputs) == [["12", "12", "33", "16", "1", "28"]])
      guard case .multicast(let octets) = outputs[0] else { continue }
      #expect(
        try DNSMessage(octets).answers.map(\.isUnique) == [false, false, true, true, true, true])
    }
    let farewell = responder.goodbye()
    let goodbye = try DNSMessage(try #require(farewell))
    #expect(goodbye.answers.map(\.timeToLive) == [0, 0, 0, 0, 0])
    #expect(goodbye.answers.first?.data == .pointer(Self.service.instance))
    #expect(responder.goodbye() == nil)
  }

  @Test func sharedAnswersAreDelayedAndOthersAreNot() throws {
    var responder = Self.running()
    let now: Int64 = 60_000 * Self.millisecond
    let type = Self.question(AnnouncedService.type, 12)
    #expect(responder.receive(type, from: Self.client, isOwn: false, now: now) == [])
    #expect(responder.nextTime == now + 20 * Self.millisecond)
    // A second client in the meantime costs nothing more.
    #expect(responder.receive(type, from: Self.other, isOwn: false, now: now + 1) == [])
    let sent = responder.advance(to: now + 20 * Self.millisecond)
    #expect(try Self.sent(sent) == [["12", "33", "16", "1", "28"]])
    #expect(responder.nextTime == nil)
    let later = now + 2000 * Self.millisecond
    for (name, type, answers) in [
      (Self.service.instance, UInt16(33), ["33", "1", "28"]), (Self.service.instance, 16, ["16"]),
      (Self.service.host, 1, ["1"]), (Self.service.host, 28, ["28"]),
      // What does not exist.
      (Self.service.host, 12, ["47"]), (Self.service.instance, 1, ["47"]),
    ] {
      let output = responder.receive(
        Self.question(name, type), from: Self.client, isOwn: false, now: later)
      #expect(try Self.sent(output) == [answers], "\(type)")
    }
  }

  @Test func otherNamesAreNotAnswered() {
    var responder = Self.running()
    for name in [
      DNSName("hall"), DNSName("x", "local"), DNSName(), DNSName("_http", "_tcp", "local"),
    ] {
      let output = responder.receive(
        Self.question(name, 255), from: Self.client, isOwn: false, now: 1 << 40)
      #expect(output == [] && responder.nextTime == nil)
    }
    // Types are no instances.
    let output = responder.receive(
      Self.question(AnnouncedService.type, 1), from: Self.client, isOwn: false, now: 1 << 40)
    #expect(output == [] && responder.nextTime == nil)
  }

  @Test func knownAnswersAreLeftOut() throws {
    var responder = Self.running()
    let now: Int64 = 60_000 * Self.millisecond
    let known = Self.question(AnnouncedService.type, 12, known: .pointer)
    #expect(responder.receive(known, from: Self.client, isOwn: false, now: now) == [])
    #expect(responder.nextTime == nil)
    // Known for too short a time.
    var old = known
    old.answers[0].timeToLive = 2249
    _ = responder.receive(old, from: Self.client, isOwn: false, now: now)
    #expect(responder.nextTime == now + 20 * Self.millisecond)
    _ = responder.advance(to: now + 20 * Self.millisecond)
    // Known answers that follow in another message, which has to come from the same client.
    for (sender, isSent) in [(Self.other, true), (Self.client, false)] {
      let now = now + (isSent ? 5_000 : 10_000) * Self.millisecond
      let first = Self.question(AnnouncedService.type, 12, truncated: true)
      #expect(responder.receive(first, from: Self.client, isOwn: false, now: now) == [])
      #expect(responder.nextTime == now + 400 * Self.millisecond)
      var more = known
      more.questions = []
      _ = responder.receive(more, from: sender, isOwn: false, now: now + 1)
      #expect((responder.nextTime != nil) == isSent)
      _ = responder.advance(to: now + 400 * Self.millisecond)
    }
  }

  @Test func answersToOneClient() throws {
    var responder = Self.running()
    let now: Int64 = 60_000 * Self.millisecond
    let asked = Self.question(AnnouncedService.type, 12, unicast: true)
    let output = responder.receive(asked, from: Self.client, isOwn: false, now: now)
    #expect(
      try Self.sent(output)
        == [["alone 12", "alone 33", "alone 16", "alone 1", "alone 28"]])
    // A client of the ordinary DNS gets its number and its question back.
    var ordinary = Self.question(Self.service.instance, 33)
    ordinary.id = 77
    let sender = Responder.Sender(octets: [192, 0, 2, 9], port: 40_000)
    guard
      case .unicast(let octets, sender)? =
        responder.receive(ordinary, from: sender, isOwn: false, now: now).first
    else {
      Issue.record("no answer")
      return
    }
    let reply = try DNSMessage(octets)
    #expect(reply.id == 77 && reply.questions == ordinary.questions)
    #expect(reply.answers.allSatisfy { $0.timeToLive == 10 && !$0.isUnique })
    // A flood is answered to a limit.
    let count = (0..<1000).count { _ in
      !responder.receive(asked, from: Self.client, isOwn: false, now: now).isEmpty
    }
    #expect(count == Responder.unicastLimit - 2)
    let later = now + 1000 * Self.millisecond
    #expect(!responder.receive(asked, from: Self.client, isOwn: false, now: later).isEmpty)
  }

  @Test func aRecordGoesToTheGroupOnceASecond() {
    var responder = Self.running()
    let start: Int64 = 60_000 * Self.millisecond
    var (asked, probed) = (0, 0)
    for time in stride(
      from: start, to: start + 10_000 * Self.millisecond, by: Int(Self.millisecond))
    {
      let question = Self.question(Self.service.host, 1)
      asked += responder.receive(question, from: Self.client, isOwn: false, now: time).count
      var probe = Self.question(Self.service.instance, 33)
      probe.authorities = Self.service.records(.service)
      probed += responder.receive(probe, from: Self.client, isOwn: false, now: time).count
    }
    #expect(asked == 10 && probed == 40)
  }

  @Test func contradictions() throws {
    func output(
      _ data: DNSData, _ name: DNSName, isOwn: Bool = false, port: UInt16 = 5353, time: UInt32 = 120
    )
      -> [Responder.Output]
    {
      var responder = Self.running()
      var message = DNSMessage()
      message.isResponse = true
      message.answers = [DNSRecord(name: name, data: data, timeToLive: time, isUnique: true)]
      let sender = Responder.Sender(octets: [192, 0, 2, 8], port: port)
      return responder.receive(message, from: sender, isOwn: isOwn, now: 1 << 40)
    }
    let (instance, host) = (Self.service.instance, Self.service.host)
    #expect(output(.service(port: 6053, host: host), instance) == [])
    #expect(output(.service(port: 6054, host: host), instance) == [.contradiction])
    #expect(output(.service(port: 6054, host: host), instance, isOwn: true) == [.contradiction])
    #expect(output(.service(port: 6054, host: host), instance, time: 0) == [])
    #expect(output(.service(port: 6054, host: host), DNSName("x", "local")) == [])
    #expect(output(.address([192, 0, 2, 1]), host) == [])
    #expect(output(.address([192, 0, 2, 2]), host) == [.contradiction])
    // Another program of this machine knows more addresses of it.
    #expect(output(.address([192, 0, 2, 2]), host, isOwn: true) == [])
    #expect(output(.address([192, 0, 2, 2]), host, port: 40_000) == [])
    // During the probes as well.
    var responder = Responder(Self.service, now: 0)
    var message = DNSMessage()
    message.isResponse = true
    message.answers = Self.service.records(.service)
    message.answers[0].data = .service(port: 1, host: host)
    #expect(
      responder.receive(message, from: Self.other, isOwn: false, now: 1) == [.contradiction])
    #expect(responder.nextTime == nil)
    #expect(responder.goodbye() == nil)
  }
}
