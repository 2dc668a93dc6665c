import CAttoMosquitto
import Glibc

/// A message of the broker.
struct BrokerMessage: Equatable, Sendable {
  var topic: String
  var payload: [UInt8]
  var isRetained = false
  /// Where the answer is published, and octets that it repeats; version 5.
  var responseTopic: String?
  var correlation: [UInt8]?

  init(topic: String, payload: [UInt8]) { (self.topic, self.payload) = (topic, payload) }

  init(_ message: cmosquitto_message) {
    topic = String(cString: message.topic)
    payload = Self.octets(message.payload, message.payload_count)
    isRetained = message.retained
    responseTopic = message.response_topic.map { String(cString: $0) }
    correlation = message.correlation.map { Self.octets($0, message.correlation_count) }
  }

  private static func octets(_ start: UnsafePointer<UInt8>?, _ count: Int32) -> [UInt8] {
    Array(UnsafeBufferPointer(start: start, count: start == nil ? 0 : Int(count)))
  }
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
  /// User properties; version 5.
  var properties: [Property] = []

  struct Property: Equatable, Sendable {
    var name: String
    var value: String
  }
}

extension [Outgoing.Property] {
  /// Calls `body` with the properties as C strings.
  func withCProperties<Value>(
    _ body: (UnsafePointer<cmosquitto_property>?, Int32) -> Value
  ) -> Value {
    let made = map { cmosquitto_property(name: strdup($0.name), value: strdup($0.value)) }
    defer {
      for property in made {
        free(UnsafeMutablePointer(mutating: property.name))
        free(UnsafeMutablePointer(mutating: property.value))
      }
    }
    return body(made, Int32(made.count))
  }
}
