import AttoFormats

/// A value on its way to the broker.
struct KeptValue: Equatable, Sendable {
  /// Its place in the order of all values of the gateway, from 1; never used again.
  var number: UInt64
  /// When the gateway received it, in milliseconds since 1970.
  var time: Int64
  var topic: String
  var payload: [UInt8]
  /// Whether the payload is a JSON object, which gets `"late":true` if it is sent late.
  var isJSON: Bool
  /// Whether the broker keeps it for later subscribers. An empty payload removes what the broker keeps.
  var isRetained = false
  /// Whether it was published before; then it is late.
  var isRepeated = false
}

/// Values as the octets of a record of the queue file: for each the number and the time (8 octets, least
/// significant first), the count of the topic's octets (2), of the payload's (4), flags (1: JSON,
/// 2: retained, 4: repeated), the topic and the payload.
enum Segment {
  /// Octets before the topic.
  private static let header = 23
  /// Values of a segment, and octets after which it takes no further value.
  static let valueLimit = 256
  static let octetLimit = 65_536

  static func octets(_ values: some Sequence<KeptValue>) -> [UInt8] {
    var octets: [UInt8] = []
    for value in values {
      append(value.number, 8, to: &octets)
      append(UInt64(bitPattern: value.time), 8, to: &octets)
      append(UInt64(value.topic.utf8.count), 2, to: &octets)
      append(UInt64(value.payload.count), 4, to: &octets)
      octets.append(
        (value.isJSON ? 1 : 0) | (value.isRetained ? 2 : 0) | (value.isRepeated ? 4 : 0))
      octets += value.topic.utf8
      octets += value.payload
    }
    return octets
  }

  /// The values; nil if the octets are not those of a segment.
  static func values(_ octets: [UInt8]) -> [KeptValue]? {
    var values: [KeptValue] = []
    var rest = octets[...]
    while !rest.isEmpty {
      guard rest.count >= header else { return nil }
      let start = rest.startIndex
      let topicCount = Int(number(rest[(start + 16)..<(start + 18)]))
      let payloadCount = Int(number(rest[(start + 18)..<(start + 22)]))
      guard rest.count - header >= topicCount + payloadCount else { return nil }
      let topic = start + header
      let flags = rest[start + 22]
      values.append(
        KeptValue(
          number: number(rest[start..<(start + 8)]),
          time: Int64(bitPattern: number(rest[(start + 8)..<(start + 16)])),
          topic: String(decoding: rest[topic..<(topic + topicCount)], as: UTF8.self),
          payload: Array(rest[(topic + topicCount)..<(topic + topicCount + payloadCount)]),
          isJSON: flags & 1 != 0, isRetained: flags & 2 != 0, isRepeated: flags & 4 != 0))
      rest = rest[(topic + topicCount + payloadCount)...]
    }
    return values
  }

  private static func append(_ number: UInt64, _ count: Int, to octets: inout [UInt8]) {
    for index in 0..<count { octets.append(UInt8(truncatingIfNeeded: number >> (8 * index))) }
  }

  private static func number(_ octets: ArraySlice<UInt8>) -> UInt64 {
    octets.reversed().reduce(0) { $0 << 8 | UInt64($1) }
  }
}
