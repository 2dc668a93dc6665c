@testable import AttoMQTT

/// What the gateway has from the process of its connection to a broker, which a hostile broker may control. The
/// first octet is the count of octets that arrive at a time.
///
/// Rules: frames do not depend on the pieces in which they arrive; nothing follows a malformed one; each is within
/// its limits; less than one frame waits.
enum BrokerTarget {
  /// Octets that no frame exceeds, with its header.
  private static let longest = 524_288 + 5

  static func take(_ input: [UInt8]) {
    guard let size = input.first.map({ Int($0) + 1 }) else { return }
    let octets = Array(input.dropFirst())
    var whole = BrokerFrame.Reader()
    whole.append(octets)
    let frames = whole.frames()
    Failure.unless(frames.dropLast().allSatisfy { $0 != nil }, "nothing follows a malformed frame")
    for frame in frames { check(frame) }
    var reader = BrokerFrame.Reader()
    var pieces: [BrokerFrame?] = []
    for start in stride(from: 0, to: octets.count, by: size) {
      reader.append(Array(octets[start..<min(start + size, octets.count)]))
      pieces += reader.frames()
      if let last = pieces.last, last == nil { break }
      Failure.unless(reader.waiting < longest, "less than a frame waits", "\(reader.waiting)")
    }
    Failure.unless(pieces == frames, "pieces make the same frames", "\(pieces), \(frames)")
  }

  private static func check(_ frame: BrokerFrame?) {
    Failure.trace("\(String(describing: frame))")
    let isWithin =
      switch frame {
      case .connected(let window, let packetLimit): window != 0 && packetLimit != 0
      // Three octets for one that is not UTF-8.
      case .ended(_, _, let text, let words, let server):
        [text, words ?? "", server ?? ""].allSatisfy { $0.utf8.count <= 3 * 1024 }
      case .message(let message):
        message.payload.count <= 262_144 && message.topic.utf8.count <= 3 * 65_535
      default: true
      }
    Failure.unless(isWithin, "a frame is within its limits", "\(String(describing: frame))")
  }

  static var seeds: [[UInt8]] {
    let connected: [UInt8] = [6, 0, 0, 0, 1, 20, 0, 0, 0, 4, 0]
    let published: [UInt8] = [5, 0, 0, 0, 3, 7, 0, 0, 0, 0]
    let subscribed: [UInt8] = [1, 0, 0, 0, 4, 1]
    let alive: [UInt8] = [0, 0, 0, 0, 6]
    func text(_ text: String) -> [UInt8] { [UInt8(text.utf8.count), 0, 0, 0] + text.utf8 }
    let absent: [UInt8] = [0xFF, 0xFF, 0xFF, 0xFF]
    func frame(_ kind: UInt8, _ body: [UInt8]) -> [UInt8] {
      [UInt8(body.count), 0, 0, 0, kind] + body
    }
    let ended = frame(2, [4, 0x87, 0, 0, 0] + text("Not authorized") + text("no") + absent)
    let message = frame(5, [0] + text("atto/a/get") + text("{}") + text("answers") + text("id"))
    let plain = frame(5, [1] + text("t") + text("") + absent + absent)
    return [
      [255] + connected + published + alive + message + plain + ended, [0] + subscribed + ended,
      [4] + message + message, [9] + [0xFF, 0xFF, 0xFF, 0xFF, 5], [9] + frame(5, [0] + absent),
      [9] + frame(7, []),
    ]
  }
}
