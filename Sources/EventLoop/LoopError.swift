import Glibc

/// A system call that a loop depends on has failed.
public struct LoopError: Error, Hashable, Sendable, CustomStringConvertible {
  /// What the loop was about to do.
  public enum Operation: Hashable, Sendable {
    /// Making the epoll instance: epoll_create1(2).
    case createPoll
    /// Making the descriptor that wakes a sleeping loop: eventfd(2).
    case createWakeUp
    /// Starting the loop's own thread: pthread_create(3).
    case startThread
    /// Putting a descriptor under watch: epoll_ctl(2).
    case watch(descriptor: Int32)
  }

  /// What was tried.
  public let operation: Operation
  /// The `errno` of the call.
  public let errno: Int32

  init(_ operation: Operation, errno: Int32) {
    self.operation = operation
    self.errno = errno
  }

  /// What failed, why, and what can be done.
  public var description: String {
    let what: String
    switch operation {
    case .createPoll: what = "cannot create an epoll instance"
    case .createWakeUp: what = "cannot create an eventfd"
    case .startThread: what = "cannot start the loop's thread"
    case .watch(let descriptor): what = "cannot watch descriptor \(descriptor)"
    }
    return "\(what): \(String(cString: strerror(errno)))\(remedy)"
  }

  private var remedy: String {
    switch (operation, errno) {
    case (_, EMFILE): "; raise the limit on open files (ulimit -n)"
    case (_, ENFILE): "; the whole machine is out of open files (sysctl fs.file-max)"
    case (.watch, EEXIST): "; it is under watch already, and one watch sees everything"
    case (.watch, EPERM): "; it is a file that is always ready, so read it directly"
    case (.watch, ENOSPC): "; the user's watches are used up (sysctl fs.epoll.max_user_watches)"
    case (.startThread, EAGAIN): "; the limit on threads is reached (ulimit -u)"
    default: ""
    }
  }
}
