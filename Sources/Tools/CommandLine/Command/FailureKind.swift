import Atto
import AttoStore

extension FailureKind {
  /// The exit status of a command that fails in this way.
  var status: Int32 {
    switch self {
    case .att: 1
    case .usage, .file: 2
    case .link, .radio, .pairing, .timeout, .peer, .limit, .system, .interrupted: 3
    case .check: 4
    }
  }
}

extension StoreError {
  var kind: FailureKind {
    switch self {
    case .libraryMissing, .busy, .full, .sqlite, .system: .system
    default: .file
    }
  }
}
