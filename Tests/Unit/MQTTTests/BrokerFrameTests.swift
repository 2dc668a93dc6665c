import TestSupport
import Testing

@testable import AttoMQTT

@Suite(.sideBySide) struct BrokerFrameTests {
  private func frames(_ octets: [UInt8]) -> [BrokerFrame?] {
    var reader = BrokerFrame.Reader()
    reader.append(octets)
    return reader.frames()
  }

  private func frame(_ kind: UInt8, _ body: (inout [UInt8]) -> Void = { _ in }) -> [UInt8] {
    var octets: [UInt8] = []
    octets.appendFrame(Int(kind), body)
    return octets
  }

  private func message(topic: Int, payload: Int, response: Int? = nil, correlation: Int? = nil)
    -> [UInt8]
  {
    frame(5) { body in
      body.append(0)
      for count in [topic, payload, response, correlation] {
        if let count {
          body.appendField([UInt8](repeating: 0x61, count: count))
        } else {
          body.appendText(nil)
        }
      }
    }
  }

  @Test func numbers_and_fields() {
    let octets = frame(1) { body in
      body.appendNumber(20 as UInt16)
      body.appendNumber(0 as UInt32)
    }
    #expect(octets == [6, 0, 0, 0, 1, 20, 0, 0, 0, 0, 0])
    #expect(frames(octets) == [.connected(window: 20, packetLimit: nil)])
    var text: [UInt8] = []
    text.appendText("ab")
    text.appendText(nil)
    #expect(text == [2, 0, 0, 0, 0x61, 0x62, 0xFF, 0xFF, 0xFF, 0xFF])
  }

  @Test func an_end_has_the_words_of_the_broker() {
    let octets = frame(2) { body in
      body.append(4)
      body.appendNumber(0x87 as Int32)
      body.appendText("Not authorized")
      body.appendText("go away")
      body.appendText(nil)
    }
    #expect(
      frames(octets) == [
        .ended(.refused, code: 0x87, text: "Not authorized", words: "go away", server: nil)
      ])
  }

  @Test func frames_arrive_in_pieces() {
    let octets = frame(6) + message(topic: 3, payload: 0) + frame(4) { $0.append(1) }
    var reader = BrokerFrame.Reader()
    var found: [BrokerFrame?] = []
    for octet in octets {
      reader.append([octet])
      found += reader.frames()
    }
    #expect(found == frames(octets))
    #expect(
      found == [
        .alive, .message(BrokerMessage(topic: "aaa", payload: [])), .subscribed(reason: 1),
      ])
    #expect(reader.waiting == 0)
  }

  @Test func the_largest_message_has_room() {
    let octets = message(topic: 65_535, payload: 262_144, response: 65_535, correlation: 65_535)
    guard case .message(let message)? = frames(octets).first ?? nil else {
      Issue.record("no message")
      return
    }
    #expect(message.payload.count == 262_144)
    #expect(message.responseTopic?.utf8.count == 65_535)
  }

  @Test func limits_are_kept() {
    #expect(frames(message(topic: 65_536, payload: 0)) == [nil])
    #expect(frames(message(topic: 1, payload: 262_145)) == [nil])
    #expect(frames(message(topic: 1, payload: 0, response: 65_536)) == [nil])
    #expect(frames(message(topic: 1, payload: 0, correlation: 65_536)) == [nil])
    // A body of 524,289 octets is refused at once, one of 524,288 is waited for.
    #expect(frames([1, 0, 8, 0, 5]) == [nil])
    #expect(frames([0, 0, 8, 0, 5]) == [])
    let words = frame(2) { body in
      body.append(0)
      body.appendNumber(0 as Int32)
      body.appendField([UInt8](repeating: 0x61, count: 1025))
    }
    #expect(frames(words) == [nil])
  }

  @Test(arguments: [0, 7, 255] as [UInt8]) func unknown_kinds(kind: UInt8) {
    #expect(frames(frame(kind)) == [nil])
  }

  @Test func nothing_follows_a_malformed_frame() {
    // Too short, too long, an end of an unknown kind, a field beyond its frame.
    for bad in [
      frame(3), frame(6) { $0.append(0) }, frame(2) { $0 += [9, 0, 0, 0, 0] },
      frame(5) { $0 += [0, 9, 0, 0, 0] }, frame(5) { $0 += [2] },
    ] {
      #expect(frames(frame(6) + bad + frame(6)) == [.alive, nil])
    }
  }

  @Test func octets_that_are_no_text_are_replaced() {
    let octets = frame(5) { body in
      body.append(1)
      body.appendField([0xFF, 0x61])
      body.appendField([0xFF])
      body.appendText(nil)
      body.appendText(nil)
    }
    var message = BrokerMessage(topic: "\u{FFFD}a", payload: [0xFF])
    message.isRetained = true
    #expect(frames(octets) == [.message(message)])
  }

  @Test func the_size_of_a_packet_is_never_less() {
    var message = Outgoing(topic: "t", payload: [1, 2, 3])
    // Fixed header 2, topic 3, ID 2, properties 1.
    #expect(message.packetSize >= 2 + 3 + 2 + 1 + 3)
    message.correlation = [1, 2]
    message.properties = [Outgoing.Property(name: "late", value: "true")]
    #expect(message.packetSize >= 2 + 3 + 2 + 1 + (1 + 2 + 2) + (1 + 2 + 4 + 2 + 4) + 3)
  }
}
