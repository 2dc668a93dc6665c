import Foundation

/// Splits messages into values of limited size and reassembles them. Each message has its length in
/// front, four octets, most significant first. Not in Apple's framework.
public struct MessageFraming: Sendable {
  /// The longest accepted message, in octets.
  public let limit: Int
  private var buffer = Data()

  /// - Parameter limit: the longest accepted message, in octets.
  public init(limit: Int = 1_048_576) { self.limit = limit }

  /// Returns the pieces of a message, of at most `size` octets, in the order to send them. Traps if
  /// `size` is not positive.
  public static func pieces(of message: Data, size: Int) -> [Data] {
    precondition(size > 0, "MessageFraming.pieces(of:size:) was called with size \(size)")
    precondition(message.count <= Int(UInt32.max), "message too long: the limit is 4 GiB")
    let all = Data(bigEndian: UInt32(message.count)) + message
    return stride(from: 0, to: all.count, by: size).map { start in
      all.subdata(in: start..<min(all.count, start + size))
    }
  }

  /// Adds a received piece and returns the messages that are complete.
  ///
  /// - Throws: ``TooLong`` if the length of a message is greater than ``limit``. The received pieces are
  ///   dropped then.
  public mutating func receive(_ piece: Data) throws(TooLong) -> [Data] {
    buffer.append(piece)
    var messages: [Data] = []
    while buffer.count >= 4 {
      let length = Int(buffer.prefix(4).reduce(UInt32(0)) { $0 << 8 | UInt32($1) })
      guard length <= limit else {
        buffer = Data()
        throw TooLong(length: length, limit: limit)
      }
      guard buffer.count >= 4 + length else { break }
      messages.append(Data(buffer.dropFirst(4).prefix(length)))
      buffer = Data(buffer.dropFirst(4 + length))
    }
    return messages
  }

  /// An earlier message was cut short: the other end would take the next one for its rest.
  public struct CutShort: Error, Equatable, CustomStringConvertible {
    public var description: String {
      "an earlier message over this characteristic was cut short: reconnect before sending another"
    }
  }

  /// A message is longer than the limit.
  public struct TooLong: Error, Equatable, CustomStringConvertible {
    public let length: Int
    public let limit: Int
    public var description: String {
      "message too long: \(length) octets (the limit is \(limit)); do both ends use MessageFraming?"
    }
  }
}
