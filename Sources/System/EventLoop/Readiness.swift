import CAttoLinux

/// What a descriptor is ready for.
@frozen public struct Readiness: OptionSet, Hashable, Sendable {
  public let rawValue: UInt8
  @inlinable public init(rawValue: UInt8) { self.rawValue = rawValue }

  /// Something can be received (EPOLLIN).
  @inlinable public static var readable: Readiness { Readiness(rawValue: 1) }
  /// Something can be sent (EPOLLOUT).
  @inlinable public static var writable: Readiness { Readiness(rawValue: 2) }
  /// The other end will send no more, or is gone (EPOLLRDHUP or EPOLLHUP). What it sent before
  /// may still wait to be received.
  @inlinable public static var hangup: Readiness { Readiness(rawValue: 4) }
  /// An error waits to be fetched by the next call on the descriptor (EPOLLERR).
  @inlinable public static var error: Readiness { Readiness(rawValue: 8) }

  init(epoll events: UInt32) {
    var readiness: Readiness = []
    if events & CLINUX_EPOLLIN != 0 { readiness.insert(.readable) }
    if events & CLINUX_EPOLLOUT != 0 { readiness.insert(.writable) }
    if events & (CLINUX_EPOLLHUP | CLINUX_EPOLLRDHUP) != 0 { readiness.insert(.hangup) }
    if events & CLINUX_EPOLLERR != 0 { readiness.insert(.error) }
    self = readiness
  }
}

/// A handler of a watched descriptor's readiness.
public protocol ReadinessHandler: AnyObject {
  /// Called on the loop's thread. May watch and unwatch anything, itself included.
  func ready(_ readiness: Readiness)
}

/// When a watched descriptor is reported.
@frozen public enum Trigger: Hashable, Sendable {
  /// Once for each change, in both directions (EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET). The
  /// handler goes on until a call says that it would block, or asks to be called again with
  /// ``Loop/reschedule(_:_:)``. No system call is made while a link is busy.
  case edge
  /// In every turn in which something can be received (EPOLLIN | EPOLLRDHUP): for descriptors that
  /// are read piece by piece, such as standard input, and for those that usually have only one
  /// piece, so that no call is made for a second. ``Loop/setInterest(_:_:trigger:)`` adds EPOLLOUT.
  /// A regular file, which epoll refuses, is reported as readable in every turn until it is
  /// unwatched. So is any descriptor at its end: the handler unwatches it then.
  case level
}

/// The identity of a watch. Not reused while its loop lives, except after 2^32 watches in one slot.
@frozen public struct WatchID: Hashable, Sendable {
  let token: UInt64
}
