@testable import AttoESPHome

/// A client's stream to the ESPHome server, and the messages in it. The first octet says whether the
/// server encrypts, the second how the rest is divided; the rest is the stream.
///
/// Rules: the division of a stream does not change what is received; no more waits than a frame; after
/// an error nothing is received or sent; every message has a meaning, is ignored, or is malformed.
enum ESPHomeTarget {
  private static let key = [UInt8](repeating: 7, count: 32)
  private static let ephemeral = [UInt8](repeating: 9, count: 32)

  static func take(_ input: [UInt8]) {
    guard (try? Sodium.load()) != nil, input.count > 2 else { return }
    let stream = input.dropFirst(2)
    let isEncrypted = input[0] & 1 != 0
    let whole = receive(stream, isEncrypted, pieces: stream.count)
    let divided = receive(stream, isEncrypted, pieces: Int(input[1] % 32) + 1)
    Failure.unless(whole == divided, "the division of a stream does not matter", hex(input))
    for message in whole.messages { interpret(message, input) }
    // The decoder of messages, without the frame that a mutation must keep.
    _ = try? ClientMessage(type: UInt64(input[1]), stream)
  }

  private struct Result: Equatable {
    var messages: [Message] = []
    var error: WireError?
    var output: [UInt8] = []
  }

  private struct Message: Equatable {
    var type: UInt64
    var body: [UInt8]
  }

  private static func receive(
    _ stream: ArraySlice<UInt8>, _ isEncrypted: Bool, pieces: Int
  ) -> Result {
    var wire = Wire(
      isEncrypted ? .key(key) : .none, name: "hall", address: "020000000001", ephemeral: ephemeral)
    var result = Result()
    var rest = stream
    do throws(WireError) {
      while !rest.isEmpty {
        wire.receive(rest.prefix(pieces))
        rest = rest.dropFirst(pieces)
        while let message = try wire.next() {
          result.messages.append(Message(type: message.type, body: Array(message.body)))
        }
        Failure.unless(wire.waiting < Wire.longestFrame + 16, "no more waits than a frame")
      }
    } catch {
      result.error = error
      wire.receive([0, 0, 7])
      let isSent = wire.send(type: 8, [])
      Failure.unless((try? wire.next()) == .some(nil) && !isSent, "an error is the end")
    }
    result.output = wire.outbox
    return result
  }

  private static func interpret(_ message: Message, _ input: [UInt8]) {
    do throws(ProtobufError) {
      guard let known = try ClientMessage(type: message.type, message.body[...]) else { return }
      if case .attribute(let request) = known {
        Failure.unless(request.address == request.attribute?.address ?? request.address, "address")
      }
    } catch {
      Failure.unless(!"\(error)".isEmpty, "a malformation is told with words", hex(input))
    }
  }

  static var seeds: [[UInt8]] {
    let messages: [(type: UInt8, body: [UInt8])] = [
      (1, [10, 4] + Array("test".utf8) + [16, 1, 24, 19]), (3, []), (7, []), (9, []), (11, []),
      (20, []), (28, [8, 1]), (36, []), (66, [8, 1]), (80, []), (87, []), (127, [8, 1]),
      (68, [8, 0x85, 0x88, 0x8C, 0x90, 0x90, 0x80, 0x30, 16, 5, 24, 1, 32, 1]), (70, [8, 5]),
      (73, [8, 5, 16, 3]), (75, [8, 5, 16, 3, 24, 1, 34, 2, 1, 2]), (76, [8, 5, 16, 3]),
      (77, [8, 5, 16, 4, 26, 2, 1, 0]), (78, [8, 5, 16, 3, 24, 1]),
      (145, [8, 5, 16, 6, 24, 12, 40, 0x90, 3]),
    ]
    let plain = messages.map { [0, UInt8($0.body.count), $0.type] + $0.body }
    let first: [UInt8] = [1, 0, 0, 1, 0, 49, 0] + [UInt8](repeating: 5, count: 48)
    return plain.map { [0, 3] + $0 } + [[0, 1] + plain.flatMap { $0 }]
      + messages.map { [0, $0.type] + $0.body }
      + [[1, 4] + first, [1, 1, 0, 0, 1], [0, 1, 1, 0, 0], [1, 2] + first + first]
  }
}
