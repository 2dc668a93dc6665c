import AttoStreams

@testable import AttoESPHome

/// Messages of multicast DNS. The first octet chooses the sender and when the message comes; the rest is the message.
///
/// Rules: what can be read can be written and read again; a message causes at most two, which are within the limits
/// of their kind and are responses that can be read; a responder has a next time only while something waits.
enum MDNSTarget {
  private static let service = AnnouncedService(
    name: "hall", port: 6053, texts: [("mac", "020000000001")], addresses: [[192, 0, 2, 1]])
  private static let second: Int64 = 1_000_000_000

  static func take(_ input: [UInt8]) {
    guard let first = input.first, let message = try? DNSMessage(Array(input.dropFirst())) else {
      return
    }
    if let again = try? DNSMessage(message.octets) {
      Failure.unless(again.questions == message.questions, "questions read back", hex(input))
    }
    let sender = MulticastSocket.Sender(octets: [192, 0, 2, 9], port: first & 1 == 0 ? 5353 : 9999)
    var responder = Responder(service, now: 0) { $0.lowerBound }
    if first & 2 == 0 {
      while let time = responder.nextTime { check(responder.advance(to: time), input) }
    }
    let now = 60 * second
    check(responder.receive(message, from: sender, isOwn: first & 4 != 0, now: now), input)
    for time in [now, now + second / 2, now + second] { check(responder.advance(to: time), input) }
    // Probes and announcements are over in three seconds.
    for step in 1...8 { check(responder.advance(to: now + Int64(step) * second), input) }
    Failure.unless(responder.nextTime == nil, "nothing waits for ever", hex(input))
    if let goodbye = responder.goodbye() { check([.multicast(goodbye)], input) }
  }

  private static func check(_ outputs: [Responder.Output], _ input: [UInt8]) {
    Failure.unless(outputs.count <= 2, "a message causes at most two", hex(input))
    for case .multicast(let octets) in outputs { check(octets, input) }
    for case .unicast(let octets, _) in outputs { check(octets, input) }
  }

  private static func check(_ octets: [UInt8], _ input: [UInt8]) {
    Failure.unless(octets.count <= 1452, "an answer fits a datagram", hex(input))
    Failure.unless((try? DNSMessage(octets)) != nil, "an answer can be read", hex(input))
  }

  static var seeds: [[UInt8]] {
    var question = DNSMessage()
    question.questions = [
      DNSQuestion(name: AnnouncedService.type, type: DNSType.ptr),
      DNSQuestion(name: service.instance, type: DNSType.any, wantsUnicast: true),
      DNSQuestion(name: service.host, type: DNSType.aaaa),
    ]
    var known = question
    known.answers = service.records(.announced)
    known.isTruncated = true
    var response = DNSMessage()
    response.isResponse = true
    response.answers = service.records([.announced, .hostOnly, .instanceOnly])
    return [question, known, response].map(\.octets).flatMap { octets in
      [0, 1, 2, 4].map { [$0] + octets }
    }
  }
}
