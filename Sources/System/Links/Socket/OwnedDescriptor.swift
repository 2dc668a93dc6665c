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

  deinit {
    // Never repeated on EINTR: Linux has closed it by then.
    _ = Glibc.close(rawValue)
  }
}
