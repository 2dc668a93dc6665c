import Glibc

/// An error of a link: it could not be opened, was lost, or does not support an operation.
public struct LinkError: Error, Hashable, Sendable {
  /// The operations that can fail.
  @nonexhaustive public enum Operation: Hashable, Sendable {
    /// Open a socket.
    case open
    /// Connect.
    case connect
    /// Listen.
    case listen
    /// Accept a connection.
    case accept
    /// Use an inherited descriptor.
    case adopt
    /// Send a PDU.
    case send
    /// Receive a PDU.
    case receive
    /// Encrypt the link, or use a better key.
    case raiseSecurity
    /// Set the socket option with this name.
    case option(String)
  }

  /// The reasons of failure.
  @nonexhaustive public enum Reason: Hashable, Sendable {
    /// A system call failed with this `errno`.
    case system(Int32)
    /// This end has closed the link.
    case closed
    /// A Unix socket's path is empty or contains a zero byte.
    case invalidPath
    /// A Unix socket's path does not fit the kernel's address structure.
    case pathTooLong(length: Int, limit: Int)
    /// Another process listens at the path.
    case alreadyListening
    /// The socket at the path belongs to this other user, so it cannot be replaced.
    case belongsToOther(user: UInt32)
    /// The file or descriptor is not a socket.
    case notASocket(found: String)
    /// The socket is not a connected SOCK_SEQPACKET socket.
    case wrongSocket(found: String)
    /// The adapter has no public address, and the kernel does not report its random one.
    case noPublicAddress
    /// The link is not an enhanced bearer.
    case notEnhanced
    /// The PDU is longer than the link can carry.
    case pduTooLong(length: Int, limit: Int)
  }

  /// The operation that failed.
  public let operation: Operation
  /// The reason.
  public let reason: Reason
  /// The endpoint as a person writes it: `unix:/run/strap`, `fd:5`, `le:AA:BB:CC:DD:EE:FF`.
  public let endpoint: String

  /// Creates an error.
  public init(_ operation: Operation, _ reason: Reason, endpoint: String) {
    self.operation = operation
    self.reason = reason
    self.endpoint = endpoint
  }

  /// - Parameter result: a negative errno, as the functions of CLinux return it.
  init(_ operation: Operation, result: Int32, endpoint: String) {
    self.init(operation, .system(-result), endpoint: endpoint)
  }

  /// Throws if a function of CLinux has failed; otherwise returns its result.
  @discardableResult static func check(
    _ result: Int32, _ operation: Operation, _ endpoint: String
  ) throws(LinkError) -> Int32 {
    guard result >= 0 else { throw LinkError(operation, result: result, endpoint: endpoint) }
    return result
  }

  /// The `errno`, if a system call failed.
  public var errno: Int32? {
    if case .system(let errno) = reason { errno } else { nil }
  }

  /// Whether the same operation may succeed a little later.
  public var isTransient: Bool {
    switch errno {
    case EAGAIN, EMFILE, ENFILE, ENOBUFS, ENOMEM: true
    default: false
    }
  }
}
