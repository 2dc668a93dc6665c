import Glibc

/// A wrong command line: exit status 2, and the usage is shown.
package struct UsageError: Error {
  package let message: String
  package let hint: String?

  package init(_ message: String, hint: String? = nil) {
    self.message = message
    self.hint = hint
  }
}

/// A file that cannot be read or written, or has wrong content: exit status 2.
package struct FileError: Error {
  package let message: String
  var hint: String?

  package init(message: String, hint: String? = nil) {
    (self.message, self.hint) = (message, hint)
  }

  /// The error of a call on a file.
  static func cannot(_ verb: String, _ path: String, errno: Int32) -> FileError {
    FileError(message: "cannot \(verb) \(path): \(String(cString: strerror(errno)))")
  }
}

/// A peer or service of the system that cannot be reached, so that nothing was done: exit status 3.
package struct Unreachable: Error {
  let message: String
  var hint: String?

  package init(message: String, hint: String? = nil) {
    (self.message, self.hint) = (message, hint)
  }
}

/// A command that was interrupted, with what it has done until then: exit status 3.
package struct Interrupted: Error {
  let message: String
  var hint: String?

  package init(message: String, hint: String? = nil) {
    (self.message, self.hint) = (message, hint)
  }
}

/// A command that `--max-time` has ended: exit status 3.
package struct OutOfTime: Error {
  let message: String
  var hint: String?

  package init(message: String, hint: String? = nil) {
    (self.message, self.hint) = (message, hint)
  }
}

/// A reference that does not mean one attribute of the peer: exit status 1 if it has none, 2 if several.
package struct ReferenceFailure: Error {
  let isMissing: Bool
  let message: String
  var hint: String?

  package init(isMissing: Bool, message: String, hint: String? = nil) {
    (self.isMissing, self.message, self.hint) = (isMissing, message, hint)
  }
}

/// A check that failed: exit status 4.
package struct CheckFailure: Error {
  package let message: String
  var hint: String?

  package init(message: String, hint: String? = nil) {
    (self.message, self.hint) = (message, hint)
  }
}

/// A line of a script that failed, with its place: the status of its error.
package struct ScriptFailure: Error {
  let place: String
  let error: any Error

  package init(place: String, error: any Error) {
    (self.place, self.error) = (place, error)
  }
}

/// An error, with a hint for this use of the command.
package struct HintedFailure: Error {
  let error: any Error
  let hint: String

  package init(_ error: any Error, hint: String) {
    (self.error, self.hint) = (error, hint)
  }
}
