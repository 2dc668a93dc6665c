import AttoATT

/// The program's part of a server: it answers questions about values that the database does not
/// hold. Override the functions that are needed.
///
/// Answer each question at once, or return `later` and call ``Session/answer(_:_:at:)`` with the
/// identifier of the question. A question whose client has disconnected needs no answer.
open class Application {
  /// Creates an application that refuses everything, for subclasses.
  public init() {}

  /// Returns the value of an attribute for a client.
  ///
  /// - Parameter offset: the offset of the first requested octet, which is 0 except for Read Blob.
  open func read(_ question: Question, offset: Int) -> ReadAnswer { .refused(.readNotPermitted) }

  /// Writes a value for a client. The answer to a command is ignored.
  open func write(_ question: Question, _ value: RawSpan) -> WriteAnswer {
    .refused(.writeNotPermitted)
  }

  /// Executes a client's prepared writes to attributes of the application. Accept all of them or
  /// none. If they are accepted, the server then writes the values that it holds itself.
  open func execute(_ question: Question, _ writes: [PreparedWrite]) -> WriteAnswer {
    .refused(.writeNotPermitted)
  }

  /// Returns the current security of a client's link, or nil if it is not known to have changed.
  ///
  /// The server asks before it refuses a client for insufficient security, because some links
  /// change without an event.
  open func security(of client: ClientID) -> LinkSecurity? { nil }

  /// Stores the counter of a signed write with a valid signature, before the write takes effect.
  /// Vol 3, Part H, 2.4.5.
  ///
  /// - Returns: false if storing failed. Then the write has no effect, so that it cannot be
  ///   replayed after a restart.
  open func accepts(signCounter: UInt32, of client: ClientID) -> Bool { true }

  /// Decides whether a client may read or write an attribute that requires authorization.
  open func authorize(_ question: Question) -> WriteAnswer {
    .refused(.insufficientAuthorization)
  }
}

/// A question to the application.
public struct Question: Equatable, Sendable {
  /// The identifier, to which an answer refers.
  public let id: QuestionID
  /// The kind of question.
  public let kind: Kind
  /// The client that sent the request.
  public let client: ClientID
  /// The attribute.
  public let handle: AttributeHandle
  /// Whether the answer may come later. A command does not wait: an answer that comes later has no
  /// effect.
  public let canWait: Bool

  /// The kind of question.
  public enum Kind: Equatable, Sendable {
    /// The value of an attribute.
    case read
    /// Whether a value may be written by a Write Request.
    case write
    /// Whether a value may be written by a command. The answer is ignored.
    case writeCommand
    /// Whether prepared writes may be executed.
    case execute
    /// Whether the client is authorized to read.
    case authorizeRead
    /// Whether the client is authorized to write.
    case authorizeWrite
  }
}

/// The identifier of a question.
public struct QuestionID: RawRepresentable, Hashable, Sendable {
  public let rawValue: UInt64
  public init(rawValue: UInt64) { self.rawValue = rawValue }
}

/// The application's answer to a read.
public enum ReadAnswer: Equatable, Sendable {
  /// The whole value. The server sends the requested part.
  case value([UInt8])
  /// The value from the requested offset on.
  case part([UInt8])
  /// A refusal with this code.
  case refused(ErrorCode)
  /// The answer comes later.
  case later
}

/// The application's answer to a write or an authorization.
public enum WriteAnswer: Equatable, Sendable {
  /// The write or access is accepted.
  case accepted
  /// A refusal with this code.
  case refused(ErrorCode)
  /// The answer comes later.
  case later
}

/// A prepared write of a client.
public struct PreparedWrite: Equatable, Sendable {
  /// The attribute.
  public let handle: AttributeHandle
  /// The offset of the part in the value.
  public let offset: Int
  /// The octets.
  public let part: [UInt8]

  /// Creates a value with these properties.
  public init(handle: AttributeHandle, offset: Int, part: [UInt8]) {
    self.handle = handle
    self.offset = offset
    self.part = part
  }
}

/// An answer that comes later.
public enum LateAnswer: Equatable, Sendable {
  /// The whole value. The server sends the requested part.
  case value([UInt8])
  /// The value from the question's offset on.
  case part([UInt8])
  /// The write or access is accepted.
  case accepted
  /// A refusal with this code.
  case refused(ErrorCode)
}
