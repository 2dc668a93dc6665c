import AttoFormats

/// The result of a ``Fuzzer``'s run.
public struct FuzzReport: Equatable, Sendable {
  /// The attacks that were sent.
  public var attacks = 0
  /// The PDUs of attacks and the random PDUs that were sent.
  public var pdus = 0
  /// The requests without a response, although the server answered the probe after them, on the same
  /// link or a new one.
  public var unanswered = 0
  /// The links on which the server answered nothing any more after a malformed request, which had no
  /// response either.
  public var silenced = 0
  /// The links that were opened.
  public var links = 0
  /// The outcome.
  public var outcome = Outcome.survived

  /// The outcome of a run.
  public enum Outcome: Equatable, Sendable {
    /// The server answered the probe after each attack.
    case survived
    /// The server failed after an attack.
    case failed(Failure)
    /// The server did not answer the probe before the first attack, for this reason.
    case unresponsive(String)
  }

  /// A failure of the server.
  public struct Failure: Equatable, Sendable {
    /// The name of the attack; `random-N` for a random PDU.
    public let attack: String
    /// The kind of failure.
    public let kind: Kind
    /// The PDUs of the server that ``transcript`` lacks, because a link had more of them than are
    /// kept: 4096, of 1 MiB in all.
    public let omitted: Int
    /// The PDUs of the link, ending with the probe and any response.
    public let transcript: Transcript

    /// A kind of failure.
    public enum Kind: String, Sendable, CustomStringConvertible {
      /// The server closed the link, and responds on a new one.
      case closed
      /// The server stopped responding, but responds on a new link.
      case silent
      /// The server stopped responding, even on a new link.
      case dead
      /// The link was lost, and the server does not respond on a new one.
      case lost

      /// The failure as a clause.
      public var description: String {
        switch self {
        case .closed: "the peer closed the connection, but responds on a new one"
        case .silent: "the peer does not respond on this connection, but does on a new one"
        case .dead: "the peer does not respond, even on a new connection"
        case .lost: "the connection was lost, and the peer does not respond on a new one"
        }
      }
    }
  }
}
