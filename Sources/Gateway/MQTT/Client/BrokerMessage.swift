import CAttoMosquitto

/// A message of the broker.
struct BrokerMessage: Equatable, Sendable {
  var topic: String
  var payload: [UInt8]
  var isRetained = false
  /// Where the answer is published, and octets that it repeats; version 5.
  var responseTopic: String?
  var correlation: [UInt8]?

  init(topic: String, payload: [UInt8]) { (self.topic, self.payload) = (topic, payload) }
}

/// A message to the broker.
struct Outgoing: Equatable, Sendable {
  var topic: String
  var payload: [UInt8]
  /// 0 or 1.
  var qos: Int32 = 1
  var retained = false
  /// Octets of the request that this answers; version 5.
  var correlation: [UInt8]?
  /// User properties, at most ``propertyLimit``; version 5.
  var properties: [Property] = []
  static let propertyLimit = Int(CMOSQUITTO_PAIR_LIMIT)

  struct Property: Equatable, Sendable {
    var name: String
    var value: String
  }
}

extension Outgoing {
  /// Octets in its packet beside those of its fields: header, counts, ID, and properties with theirs.
  private static let overhead = 16

  /// At least the octets in its packet.
  var packetSize: Int {
    let pairs = properties.reduce(0) { $0 + 5 + $1.name.utf8.count + $1.value.utf8.count }
    return Self.overhead + topic.utf8.count + payload.count + (correlation?.count ?? 0) + pairs
  }
}
