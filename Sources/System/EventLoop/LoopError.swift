import Glibc

/// A failed system call that a loop depends on.
public struct LoopError: Error, Hashable, Sendable, CustomStringConvertible {
  /// The operation of a loop that failed.
  @nonexhaustive public enum Operation: Hashable, Sendable {
    /// Creating the epoll instance: epoll_create1(2).
    case createPoll
    /// Creating the descriptor that wakes a sleeping loop: eventfd(2).
    case createWakeUp
    /// Starting the loop's own thread: pthread_create(3).
    case startThread
    /// Watching a descriptor: epoll_ctl(2).
    case watch(descriptor: Int32)
  }

  /// The operation that failed.
  public let operation: Operation
  /// The `errno` of the call.
  public let errno: Int32

  init(_ operation: Operation, errno: Int32) {
    self.operation = operation
    self.errno = errno
  }

  /// The operation, the reason and a remedy.
  public var description: String {
    let failed: String
    switch operation {
    case .createPoll: failed = "cannot create an epoll instance"
    case .createWakeUp: failed = "cannot create an eventfd"
    case .startThread: failed = "cannot start the loop's thread"
    case .watch(let descriptor): failed = "cannot watch descriptor \(descriptor)"
    }
    return "\(failed): \(String(cString: strerror(errno)))\(remedy)"
  }

  private var remedy: String {
    switch (operation, errno) {
    case (_, EMFILE): "; raise the limit on open files (ulimit -n)"
    case (_, ENFILE): "; the whole machine is out of open files (sysctl fs.file-max)"
    case (.watch, EEXIST): "; it is watched already"
    case (.watch, EPERM): "; a regular file is always ready, read it directly"
    case (.watch, ENOSPC): "; the limit on watches is reached (sysctl fs.epoll.max_user_watches)"
    case (.startThread, EAGAIN): "; the limit on threads is reached (ulimit -u)"
    default: ""
    }
  }
}
