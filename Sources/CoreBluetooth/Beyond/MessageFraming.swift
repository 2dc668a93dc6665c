import Foundation

/// Not Apple's: messages of any size over values of a limited one. Each message is preceded by its
/// length, four octets, most significant first; so nothing in it can be taken for its end.
public struct MessageFraming: Sendable {
  /// The longest message that is taken: a peer that announces more has lost its place.
  public let limit: Int
  private var buffer = Data()

  /// - Parameter limit: octets of a message, a megabyte by default.
  public init(limit: Int = 1_048_576) { self.limit = limit }

  /// A message in pieces of at most `size` octets, to be sent in this order.
  public static func pieces(of message: Data, size: Int) -> [Data] {
    precondition(size > 0 && message.count <= Int(UInt32.max), "no size, or too long a message")
    let count = UInt32(message.count)
    let all = Data((0..<4).map { UInt8(truncatingIfNeeded: count >> (24 - 8 * $0)) }) + message
    return stride(from: 0, to: all.count, by: size).map { start in
      all.subdata(in: start..<min(all.count, start + size))
    }
  }

  /// Takes a piece that has come; returns the messages that are complete now.
  ///
  /// - Throws: ``TooLong`` if a message is announced that is longer than ``limit``; what was
  ///   gathered is dropped then.
  public mutating func take(_ piece: Data) throws(TooLong) -> [Data] {
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

  /// An earlier message was not sent to its end: the other end takes what follows for its rest.
  public struct CutShort: Error, Equatable, CustomStringConvertible {
    public var description: String {
      "an earlier message over this characteristic was cut short, and the other end would take this"
        + " one for its rest: connect anew first"
    }
  }

  /// A message that is longer than what is taken.
  public struct TooLong: Error, Equatable, CustomStringConvertible {
    public let length: Int
    public let limit: Int
    public var description: String {
      "a message of \(length) octets was announced; \(limit) is the limit. Do both ends frame?"
    }
  }
}
