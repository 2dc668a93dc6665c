/// Why a client's stream cannot be used any further. Each of them ends the connection.
package enum WireError: Error, Hashable, Sendable {
  /// The client does not encrypt, and the server does.
  case plaintextClient
  /// The client encrypts, and the server does not.
  case encryptingClient
  /// A frame begins with an octet that is neither.
  case preamble(UInt8)
  /// A frame is longer than allowed.
  case tooLong(UInt64, limit: Int)
  /// A length or a message type that is no number.
  case number
  /// The client's key is another one.
  case wrongKey
  /// The handshake is malformed.
  case handshake(String)
  /// A message of the session was changed on its way.
  case notAuthentic
  /// An encrypted message is shorter than its header.
  case short(Int)
}

extension WireError: CustomStringConvertible {
  package var description: String {
    switch self {
    case .plaintextClient: "the client does not use encryption"
    case .encryptingClient: "the client uses encryption, which is not configured"
    case .preamble(let octet): "unexpected first octet \(octet) of a frame"
    case .tooLong(let length, let limit): "frame of \(length) octets (the limit is \(limit))"
    case .number: "malformed length or message type"
    case .wrongKey: "the client's encryption key is wrong"
    case .handshake(let what): "malformed handshake: \(what)"
    case .notAuthentic: "a message failed authentication"
    case .short(let count): "encrypted message of \(count) octets (the header has 4)"
    }
  }
}
