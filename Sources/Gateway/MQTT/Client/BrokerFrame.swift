import CAttoMosquitto

/// What the process of a connection tells, as `Frames.h` describes it.
///
/// A broker that exploits a fault of libmosquitto controls that process, so its frames are checked like the
/// octets of a peer.
enum BrokerFrame: Equatable, Sendable {
  /// The broker has accepted the client. The limits are nil where it has stated none.
  case connected(window: Int?, packetLimit: Int?)
  /// The end: what has happened, the broker's reason code and words, and the server that it names.
  case ended(End, code: Int32, text: String, words: String?, server: String?)
  case published(UInt32, reason: Int32)
  case subscribed(reason: Int32)
  case message(BrokerMessage)
  case alive

  enum End: UInt8, Sendable {
    case library, unreachable, closed, lost, refused, byBroker
  }

  /// Takes frames from a stream of octets.
  struct Reader {
    private var octets: [UInt8] = []

    mutating func append(_ part: [UInt8]) { octets += part }

    /// Octets of the frame that is not complete.
    var waiting: Int { octets.count }

    /// The complete frames; the last one is nil if it is malformed, and then nothing can follow.
    mutating func frames() -> [BrokerFrame?] {
      var frames: [BrokerFrame?] = []
      var start = 0
      while octets.count - start >= Int(CMOSQUITTO_HEADER) {
        var header = Body(octets[start..<(start + Int(CMOSQUITTO_HEADER))])
        guard let count = header.number(UInt32.self), let kind = header.number(UInt8.self),
          count <= CMOSQUITTO_FRAME_LIMIT
        else { return frames + [nil] }
        let body = start + Int(CMOSQUITTO_HEADER)
        guard octets.count - body >= count else { break }
        start = body + Int(count)
        let frame = BrokerFrame(kind: kind, Body(octets[body..<start]))
        frames.append(frame)
        if frame == nil { return frames }
      }
      octets.removeFirst(start)
      return frames
    }
  }

  private init?(kind: UInt8, _ body: Body) {
    var body = body
    guard let frame = Self.parse(kind, &body), body.isEmpty else { return nil }
    self = frame
  }

  private static func parse(_ kind: UInt8, _ body: inout Body) -> BrokerFrame? {
    switch Int(kind) {
    case CMOSQUITTO_CONNECTED:
      guard let window = body.number(UInt16.self), let packet = body.number(UInt32.self) else {
        return nil
      }
      return .connected(
        window: window == 0 ? nil : Int(window), packetLimit: packet == 0 ? nil : Int(packet))
    case CMOSQUITTO_ENDED:
      guard let kind = body.number(UInt8.self).flatMap(End.init),
        let code = body.number(Int32.self), let text = body.words(), let words = body.words(),
        let server = body.words()
      else { return nil }
      return .ended(
        kind, code: code, text: text ?? "", words: words, server: server)
    case CMOSQUITTO_PUBLISHED:
      guard let id = body.number(UInt32.self), let reason = body.number(UInt8.self) else {
        return nil
      }
      return .published(id, reason: Int32(reason))
    case CMOSQUITTO_SUBSCRIBED:
      return body.number(UInt8.self).map { .subscribed(reason: Int32($0)) }
    case CMOSQUITTO_MESSAGE: return message(&body).map { .message($0) }
    case CMOSQUITTO_ALIVE: return .alive
    default: return nil
    }
  }

  private static func message(_ body: inout Body) -> BrokerMessage? {
    guard let retained = body.number(UInt8.self), retained <= 1,
      case let topic?? = body.field(), topic.count <= 0xFFFF,
      case let payload?? = body.field(), payload.count <= CMOSQUITTO_MESSAGE_LIMIT,
      let response = body.field(), response?.count ?? 0 <= 0xFFFF,
      let correlation = body.field(), correlation?.count ?? 0 <= 0xFFFF
    else { return nil }
    var message = BrokerMessage(
      topic: String(decoding: topic, as: UTF8.self), payload: Array(payload))
    message.isRetained = retained == 1
    message.responseTopic = response.map { String(decoding: $0, as: UTF8.self) }
    message.correlation = correlation.map { Array($0) }
    return message
  }

  /// What is left of a body. Its functions return nil at the end.
  private struct Body {
    private var rest: ArraySlice<UInt8>

    init(_ octets: ArraySlice<UInt8>) { rest = octets }

    var isEmpty: Bool { rest.isEmpty }

    /// A number in the machine's order, which is the other process's too.
    mutating func number<Number: FixedWidthInteger>(_ type: Number.Type) -> Number? {
      let size = MemoryLayout<Number>.size
      guard rest.count >= size else { return nil }
      defer { rest = rest.dropFirst(size) }
      return rest.withUnsafeBytes { $0.loadUnaligned(as: type) }
    }

    /// A field of variable length; `.some(nil)` if it is not there.
    mutating func field() -> ArraySlice<UInt8>?? {
      guard let count = number(UInt32.self) else { return nil }
      if count == CMOSQUITTO_ABSENT { return .some(nil) }
      guard rest.count >= count else { return nil }
      defer { rest = rest.dropFirst(Int(count)) }
      return rest.prefix(Int(count))
    }

    /// A text that explains something.
    mutating func words() -> String?? {
      guard let found = field(), found?.count ?? 0 <= CMOSQUITTO_WORDS_LIMIT else { return nil }
      return .some(found.map { String(decoding: $0, as: UTF8.self) })
    }
  }
}

// MARK: - Frames to the process

extension [UInt8] {
  /// Appends a frame with what `body` appends.
  mutating func appendFrame(_ kind: Int, _ body: (inout [UInt8]) -> Void) {
    let start = count
    appendNumber(0 as UInt32)
    append(UInt8(kind))
    body(&self)
    Swift.withUnsafeBytes(of: UInt32(count - start - Int(CMOSQUITTO_HEADER))) { size in
      replaceSubrange(start..<(start + size.count), with: size)
    }
  }

  /// Appends a number in the machine's order. Its name is not `append`, which would take literals of octets.
  mutating func appendNumber(_ number: some FixedWidthInteger) {
    Swift.withUnsafeBytes(of: number) { append(contentsOf: $0) }
  }

  /// Appends a field of variable length.
  mutating func appendField(_ octets: some Collection<UInt8>) {
    appendNumber(UInt32(octets.count))
    append(contentsOf: octets)
  }

  mutating func appendText(_ text: String?) {
    if let text { appendField(text.utf8) } else { appendNumber(CMOSQUITTO_ABSENT) }
  }
}
