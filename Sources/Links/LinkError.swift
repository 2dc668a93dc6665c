import Glibc

/// A link could not be opened, was lost, or was asked for what it cannot do.
public struct LinkError: Error, Hashable, Sendable {
  /// What was tried.
  public enum Operation: Hashable, Sendable {
    /// To have a socket.
    case open
    /// To connect.
    case connect
    /// To listen.
    case listen
    /// To take a connection.
    case accept
    /// To use a descriptor that was inherited.
    case adopt
    /// To send a PDU.
    case send
    /// To receive a PDU.
    case receive
    /// To have the link encrypted, or with a better key.
    case raiseSecurity
    /// A socket option; the text names it.
    case option(String)
  }

  /// Why it failed.
  public enum Reason: Hashable, Sendable {
    /// A system call failed with this `errno`.
    case system(Int32)
    /// This end has closed the link.
    case closed
    /// The other end of a link in memory has closed it.
    case peerClosed
    /// A Unix socket's path is empty or contains a zero byte.
    case invalidPath
    /// A Unix socket's path is longer than the kernel's address has room for.
    case pathTooLong(length: Int, limit: Int)
    /// Another process listens there.
    case alreadyListening
    /// Something that is not a socket is where one is expected.
    case notASocket(found: String)
    /// A socket, but of another kind than a connected SOCK_SEQPACKET.
    case wrongSocket(found: String)
    /// The adapter has no public address, and the kernel cannot be asked for its random one.
    case noPublicAddress
    /// The PDU is longer than this link can carry.
    case pduTooLong(length: Int, limit: Int)
    /// A fault was injected by a test.
    case injected
  }

  /// What was tried.
  public let operation: Operation
  /// Why it failed.
  public let reason: Reason
  /// The endpoint as a person writes it: `unix:/run/strap`, `fd:5`, `le:AA:BB:CC:DD:EE:FF`.
  public let endpoint: String

  /// One with these values; its properties say what each means.
  public init(_ operation: Operation, _ reason: Reason, endpoint: String) {
    self.operation = operation
    self.reason = reason
    self.endpoint = endpoint
  }

  /// `result` is what a function of CLinux returned: a negative errno.
  init(_ operation: Operation, result: Int32, endpoint: String) {
    self.init(operation, .system(-result), endpoint: endpoint)
  }

  /// The `errno`, if a system call failed.
  public var errno: Int32? {
    if case .system(let errno) = reason { errno } else { nil }
  }

  /// Whether the same may succeed a little later without anybody doing anything.
  public var isTransient: Bool {
    switch errno {
    case EAGAIN, EMFILE, ENFILE, ENOBUFS, ENOMEM: true
    default: false
    }
  }
}
