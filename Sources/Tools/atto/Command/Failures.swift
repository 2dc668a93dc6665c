import Glibc

/// A wrong command line: exit status 2, and the usage is shown.
struct UsageError: Error {
  let message: String
  let hint: String?

  init(_ message: String, hint: String? = nil) {
    self.message = message
    self.hint = hint
  }
}

/// A file that cannot be read or written, or has wrong content: exit status 2.
struct FileError: Error {
  let message: String
  var hint: String?

  /// The error of a call on a file.
  static func cannot(_ verb: String, _ path: String, errno: Int32) -> FileError {
    FileError(message: "cannot \(verb) \(path): \(String(cString: strerror(errno)))")
  }
}

/// A peer or service of the system that cannot be reached, so that nothing was done: exit status 3.
struct Unreachable: Error {
  let message: String
  var hint: String?
}

/// A command that was interrupted, with what it has done until then: exit status 3.
struct Interrupted: Error {
  let message: String
  var hint: String?
}

/// A command that `--max-time` has ended: exit status 3.
struct OutOfTime: Error {
  let message: String
  var hint: String?
}

/// A reference that does not mean one attribute of the peer: exit status 1 if it has none, 2 if several.
struct ReferenceFailure: Error {
  let isMissing: Bool
  let message: String
  var hint: String?
}

/// A check that failed: exit status 4.
struct CheckFailure: Error {
  let message: String
  var hint: String?
}

/// A line of a script that failed, with its place: the status of its error.
struct ScriptFailure: Error {
  let place: String
  let error: any Error
}
