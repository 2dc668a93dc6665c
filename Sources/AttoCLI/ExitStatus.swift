import Atto
import Files
import Store

/// What a command ends with, and what it says.
///
/// 1: the peer answered with an ATT error. 2: the command line or a file is wrong. 3: the link
/// could not be opened, was lost, or timed out, or the peer broke the protocol. 4: a check fell
/// short.
struct ExitStatus {
  let code: Int32
  private(set) var message: String

  init(_ error: any Error) {
    switch error {
    case AttoError.cancelled, RadioError.cancelled, AttoError.radio(.cancelled):
      (code, message) = (3, "interrupted")
    case is CancellationError: (code, message) = (3, "interrupted")
    case let error as UsageError: (code, message) = (2, error.message)
    case let error as ProfileError: (code, message) = (2, error.description)
    case let error as TranscriptError: (code, message) = (2, error.description)
    case let error as Unreachable: (code, message) = (3, error.message)
    case let error as CheckFailure: (code, message) = (4, error.message)
    case let error as RadioError: (code, message) = (error.code, error.description)
    case AttoError.database(let error): (code, message) = (2, error.text)
    case let error as StoreError: (code, message) = (error.code, error.description)
    case let error as CaptureError: (code, message) = (2, error.message)
    case let error as AttoError:
      message = error.description
      code =
        switch error {
        case .refused, .insufficientSecurity: 1
        case .misuse, .endpoint, .database: 2
        case .radio(let error): error.code
        default: 3
        }
    default: (code, message) = (3, "\(error)")
    }
    if Self.isRadioClosed(error) { message += "; atto doctor tells what may stand in the way" }
  }

  /// Whether the kernel's radio, or a link over it, could not be had.
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

extension RadioError {
  /// What was asked for is wrong, or the air is.
  fileprivate var code: Int32 {
    switch self {
    case .invalidName, .invalidEndpoint, .invalidInterval, .advertisingData: 2
    default: 3
    }
  }
}

extension StoreError {
  /// The file is wrong, or the machine is.
  fileprivate var code: Int32 {
    switch self {
    case .libraryMissing, .busy, .full, .sqlite, .system: 3
    default: 2
    }
  }
}

extension DatabaseError {
  /// What a person reads.
  fileprivate var text: String {
    switch self {
    case .handleTaken(let handle): "\(handle) is taken, or inside another service"
    case .handleOutOfOrder(let handle): "\(handle) is not after the handles before it"
    case .handleOutOfRange(let handle): "\(handle) is outside its service"
    case .noHandlesLeft: "there is no room left before 0xFFFF"
    case .valueTooLong(let handle, let count, let limit):
      "a value of \(count) octets does not fit \(handle), which holds \(limit)"
    case .noSuchService(let handle): "no service begins at \(handle)"
    case .included(let handle): "the service at \(handle) includes it; remove that one first"
    case .noSuchValue(let handle):
      "there is no attribute at \(handle) whose value the server keeps"
    }
  }
}
