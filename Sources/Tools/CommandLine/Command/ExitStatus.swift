import Atto
import AttoFormats
import AttoStore

/// A command that failed: its kind of failure, exit status, message and hints.
package struct ExitStatus: Sendable {
  let kind: FailureKind
  package private(set) var message: String
  package var hints: [String] = []
  /// The peer's answer, if it refused a request.
  package private(set) var refusal: ErrorResponse?

  package var code: Int32 { kind.status }

  /// Whether the command was interrupted.
  package var isInterruption: Bool { kind == .interrupted }

  package init(_ kind: FailureKind, _ message: String, hint: String? = nil) {
    self.kind = kind
    self.message = message
    hints = [hint].compactMap(\.self)
  }

  package init(_ error: any Error) {
    switch error {
    case let failure as ScriptFailure:
      self.init(failure.error)
      message = "\(failure.place): \(message)"
      return
    case let failure as HintedFailure:
      self.init(failure.error)
      hints.append(failure.hint)
      return
    case AttoError.cancelled, RadioError.cancelled, AttoError.radio(.cancelled),
      is CancellationError:
      self.init(.interrupted, "interrupted")
    case let error as Interrupted: self.init(.interrupted, error.message, hint: error.hint)
    case let error as UsageError: self.init(.usage, error.message, hint: error.hint)
    case let error as FileError: self.init(.file, error.message, hint: error.hint)
    case let error as ProfileError: self.init(.file, error.description)
    case let error as TranscriptError: self.init(.file, error.description)
    case let error as Unreachable: self.init(.link, error.message, hint: error.hint)
    case let error as OutOfTime: self.init(.timeout, error.message, hint: error.hint)
    case let error as CheckFailure: self.init(.check, error.message, hint: error.hint)
    case let error as ReferenceFailure:
      self.init(error.isMissing ? .att : .usage, error.message, hint: error.hint)
    case let error as LinkError: self.init(.link, error.description, hint: error.advice)
    case let error as RadioError: self.init(error.kind, error.description, hint: error.advice)
    case let error as StoreError: self.init(error.kind, error.description, hint: error.advice)
    case AttoError.database(let error): self.init(.usage, error.text)
    case let error as AttoError:
      self.init(error.kind, error.description, hint: error.advice)
      switch error {
      case .refused(let response), .insufficientSecurity(let response, _): refusal = response
      default: break
      }
    default: self.init(.system, "\(error)")
    }
    if Self.isRadioClosed(error) {
      hints.append("atto doctor finds Bluetooth problems on this machine")
    }
  }

  /// Whether the kernel's Bluetooth, or a link over it, was not available.
  private static func isRadioClosed(_ error: any Error) -> Bool {
    switch error {
    case AttoError.radio(let error): isRadioClosed(error)
    case AttoError.link(let error), RadioError.link(let error): isRadioClosed(error)
    case AttoError.connectTimeout(let endpoint, _): endpoint.hasPrefix("le:")
    case let error as LinkError:
      switch error.operation {
      case .open, .connect, .listen, .option: error.endpoint.hasPrefix("le:")
      default: false
      }
    case let error as RadioError:
      switch error {
      case .noAdapter, .poweredOff, .managementSilent: true
      case .management(_, let status, _):
        [.blocked, .busy, .notPowered, .permissionDenied, .rejected, .invalidIndex].contains(status)
      default: false
      }
    default: false
    }
  }
}
