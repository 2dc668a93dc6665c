import CAttoLinux
import Glibc

/// PUBLISH packets at QoS 0 that one call sends together. libmosquitto would make two calls for each packet.
struct PublishPackets {
  /// Octets of packets that wait before they are sent within a turn.
  static let batch = 16_384
  /// Octets in a packet beyond its topic and its payload: five of the header, two that count the topic's, one
  /// without properties.
  private static let overhead = 8

  private var octets: [UInt8] = []
  private var sent = 0

  /// Octets that wait.
  var waiting: Int { octets.count - sent }

  /// Adds a packet. MQTT 5.0, 3.3; MQTT 3.1.1, 3.3.
  ///
  /// - Parameter limit: the octets that the broker accepts in a packet; nil without a limit.
  /// - Returns: false if the packet would be longer.
  mutating func append(_ topic: String, _ payload: [UInt8], version5: Bool, limit: Int?) -> Bool {
    let topicCount = topic.utf8.count
    var length = 2 + topicCount + (version5 ? 1 : 0) + payload.count
    guard topicCount <= 0xFFFF, length < 1 << 28, Self.overhead + length <= limit ?? .max else {
      return false
    }
    octets.append(0x30)
    repeat {
      octets.append(UInt8(length & 0x7F) | (length > 0x7F ? 0x80 : 0))
      length >>= 7
    } while length > 0
    octets.append(UInt8(topicCount >> 8))
    octets.append(UInt8(topicCount & 0xFF))
    octets.append(contentsOf: topic.utf8)
    if version5 { octets.append(0) }
    octets.append(contentsOf: payload)
    return true
  }

  /// Sends what the socket takes.
  ///
  /// - Returns: an `errno` if the connection is lost.
  mutating func send(to socket: Int32) -> Int32? {
    guard waiting > 0 else { return nil }
    let result = octets.withUnsafeBytes {
      clinux_send(socket, $0.baseAddress! + sent, $0.count - sent)
    }
    guard result >= 0 else { return result == -Int(EAGAIN) ? nil : Int32(-result) }
    sent += result
    if sent == octets.count {
      octets.removeAll(keepingCapacity: octets.capacity <= 4 * Self.batch)
      sent = 0
    }
    return nil
  }
}
