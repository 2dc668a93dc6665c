import ATT

/// What a server asks of the program that it runs in. Override what the database leaves to
/// the application.
///
/// Each question is answered at once, or `later` with ``Session/answer(_:_:at:)`` and the
/// number of the question. A question whose client is gone needs no answer.
open class Application {
  /// One that refuses everything; for subclasses.
  public init() {}

  /// The value of an attribute, asked for by a client.
  ///
  /// - Parameter offset: of the first octet that is wanted, 0 but for Read Blob.
  open func read(_ question: Question, offset: Int) -> ReadAnswer { .refused(.readNotPermitted) }

  /// A client writes.
  ///
  /// For a command the answer is dropped: nobody waits for it.
  open func write(_ question: Question, _ value: RawSpan) -> WriteAnswer {
    .refused(.writeNotPermitted)
  }

  /// A client executes prepared writes to attributes of the application: all are accepted or
  /// none. Writes to values that the server keeps follow if they are.
  open func execute(_ question: Question, _ writes: [PreparedWrite]) -> WriteAnswer {
    .refused(.writeNotPermitted)
  }

  /// The security of a client's link, asked for before a client is refused for lack of it: some
  /// links change without saying so. nil if nothing more is known than the server was told.
  open func security(of client: ClientID) -> LinkSecurity? { nil }

  /// Called with the counter of each signed write whose signature is right, before the write has
  /// any effect: keep the next one with the bond. False if that failed; the write has no effect
  /// then, so that it cannot be played again after a restart. Vol 3, Part H, 2.4.5.
  open func accepts(signCounter: UInt32, of client: ClientID) -> Bool { true }

  /// Whether a client may do this with an attribute that requires authorization.
  open func authorize(_ question: Question) -> WriteAnswer {
    .refused(.insufficientAuthorization)
  }
}

/// What is asked, by whom, about which attribute.
public struct Question: Equatable, Sendable {
  /// What an answer refers to.
  public let id: QuestionID
  /// What is asked.
  public let kind: Kind
  /// Who asks.
  public let client: ClientID
  /// The attribute.
  public let handle: AttributeHandle

  /// What is asked.
  public enum Kind: Equatable, Sendable {
    /// For its value.
    case read
    /// Whether a value may be written; the client waits for the answer.
    case write
    /// Whether a value may be written; nobody waits for the answer.
    case writeCommand
    /// Whether what was prepared may be written.
    case execute
    /// Whether the client may read at all.
    case authorizeRead
    /// Whether the client may write at all.
    case authorizeWrite
  }
}

/// Names a question until it is answered.
public struct QuestionID: RawRepresentable, Hashable, Sendable {
  public let rawValue: UInt64
  public init(rawValue: UInt64) { self.rawValue = rawValue }
}

/// The application's answer to a read.
public enum ReadAnswer: Equatable, Sendable {
  /// The whole value; the server takes what was asked for from it.
  case value([UInt8])
  /// The value from the offset that was asked for.
  case part([UInt8])
  /// Why not.
  case refused(ErrorCode)
  /// The answer comes later.
  case later
}

/// The application's answer to a write or to the wish for authorization.
public enum WriteAnswer: Equatable, Sendable {
  /// The value is written.
  case accepted
  /// Why not.
  case refused(ErrorCode)
  /// The answer comes later.
  case later
}

/// A part of a value that a client has prepared.
public struct PreparedWrite: Equatable, Sendable {
  /// The attribute.
  public let handle: AttributeHandle
  /// Where the part begins in the value.
  public let offset: Int
  /// The octets.
  public let part: [UInt8]

  /// One with these values; its properties say what each means.
  public init(handle: AttributeHandle, offset: Int, part: [UInt8]) {
    self.handle = handle
    self.offset = offset
    self.part = part
  }
}

/// An answer that comes later.
public enum LateAnswer: Equatable, Sendable {
  /// The whole value: the server takes the part that was asked for.
  case value([UInt8])
  /// The value from the question's offset on.
  case part([UInt8])
  /// What was to be written is.
  case accepted
  /// Why not.
  case refused(ErrorCode)
}
