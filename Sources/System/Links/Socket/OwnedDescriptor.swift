import CAttoLinux
import Glibc

/// The owner of a file descriptor, which closes it when it is destroyed.
public struct OwnedDescriptor: ~Copyable, Sendable {
  public let rawValue: Int32

  /// Takes ownership of an open descriptor. Nothing else may close it from here on.
  public init(owning rawValue: Int32) {
    precondition(rawValue >= 0, "not a descriptor")
    self.rawValue = rawValue
  }

  /// Gives up the descriptor without closing it.
  public consuming func release() -> Int32 {
    let rawValue = rawValue
    discard self
    return rawValue
  }

  /// Whether the peer of this Unix socket has closed it and left nothing to receive.
  package var isDead: Bool { Self.isDead(rawValue) }

  /// Whether a PDU waits to be received.
  package static func hasUnread(_ descriptor: Int32) -> Bool { clinux_peek(descriptor) > 0 }

  /// The same for a descriptor that something else owns.
  package static func isDead(_ descriptor: Int32) -> Bool {
    let length = clinux_peek(descriptor)
    guard length <= 0, length != -Int(EAGAIN) else { return false }
    // Of an empty PDU 0 bytes are received, as at the end.
    return length < 0 || clinux_poll_now(descriptor) & (CLINUX_POLLHUP | CLINUX_POLLRDHUP) != 0
  }

  deinit {
    // Never repeated on EINTR: Linux has closed it by then.
    _ = Glibc.close(rawValue)
  }
}
