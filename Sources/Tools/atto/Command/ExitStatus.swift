import Atto
import AttoConformance
import AttoFormats
import AttoStore
import Glibc

/// The exit status of a command that failed, its message and hints.
///
/// 1: the peer answered with an ATT error. 2: the command line or a file is wrong. 3: the link
/// could not be opened, was lost, or timed out, or the peer broke the protocol. 4: a check failed.
struct ExitStatus {
  let code: Int32
  let message: String
  private(set) var hints: [String] = []
  /// Whether the command was interrupted.
  private(set) var isInterruption = false

  init(_ error: any Error) {
    var hint: String?
    switch error {
    case AttoError.cancelled, RadioError.cancelled, AttoError.radio(.cancelled),
      PeerError.cancelled, is CancellationError:
      (code, message, isInterruption) = (3, "interrupted", true)
    case let error as UsageError: (code, message, hint) = (2, error.message, error.hint)
    case let error as FileError: (code, message, hint) = (2, error.message, error.hint)
    case let error as ProfileError: (code, message) = (2, error.description)
    case let error as TranscriptError: (code, message) = (2, error.description)
    case let error as Unreachable: (code, message, hint) = (3, error.message, error.hint)
    case let error as OutOfTime: (code, message, hint) = (3, error.message, error.hint)
    case let error as CheckFailure: (code, message, hint) = (4, error.message, error.hint)
    case let error as LinkError: (code, message, hint) = (3, error.description, error.advice)
    case let error as RadioError:
      (code, message, hint) = (error.code, error.description, error.advice)
    case let error as StoreError:
      (code, message, hint) = (error.code, error.description, error.advice)
    case AttoError.database(let error): (code, message) = (2, error.text)
    case let error as AttoError:
      message = error.description
      code =
        switch error {
        case .refused, .insufficientSecurity: 1
        case .misuse, .endpoint, .database: 2
        case .radio(let error): error.code
        default: 3
        }
      hint = error.advice
    default: (code, message) = (3, "\(error)")
    }
    if let hint { hints.append(hint) }
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

extension RadioError {
  /// 2 for a wrong request, 3 for a failure of the radio.
  fileprivate var code: Int32 {
    switch self {
    case .invalidName, .invalidEndpoint, .invalidInterval, .advertisingData: 2
    default: 3
    }
  }
}

extension StoreError {
  /// 2 for a wrong file, 3 for a failure of the system.
  fileprivate var code: Int32 {
    switch self {
    case .libraryMissing, .busy, .full, .sqlite, .system: 3
    default: 2
    }
  }
}

extension DatabaseError {
  fileprivate var text: String {
    switch self {
    case .handleTaken(let handle): "handle \(handle) is already used, or inside another service"
    case .handleOutOfOrder(let handle): "handle \(handle) is not after the handles before it"
    case .handleOutOfRange(let handle): "handle \(handle) is outside its service"
    case .noHandlesLeft: "no handles are left up to 0xFFFF"
    case .valueTooLong(let handle, let count, let limit):
      "value too long: \(count) octets (the limit of \(handle) is \(limit))"
    case .noSuchService(let handle): "no service starts at \(handle)"
    case .included(let handle): "the service is included by the one at \(handle): remove that first"
    case .noSuchValue(let handle): "the server stores no value at \(handle)"
    case .noHandler(let uuid): "the application has no handler for the value \(uuid)"
    }
  }
}

// The libraries' hints, with the commands and options to use.

extension AttoError {
  fileprivate var advice: String? {
    switch self {
    case .pairing(let peer, .keyMissing):
      "remove the bond here too, then pair again: atto unpair \(peer)"
    case .insufficientSecurity(_, .noDisplayOrKeyboard): "state what this end can do with --io"
    case .insufficientSecurity(_, .link(.low)): "le: and air: links can be encrypted"
    case .insufficientSecurity(_, .timeout(_, after: _, hasAgent: false)):
      "answering the kernel's questions about pairing requires CAP_NET_ADMIN"
    case .securityTimeout, .insufficientSecurity(_, .timeout(_, after: _, hasAgent: true)):
      "both ends need an agent to pair with, and a person may have to confirm"
    case .connectTimeout: "check that the device is on, in range and connectable"
    case .radio(let error): error.advice
    case .link(let error): error.advice
    default: nil
    }
  }
}

extension RadioError {
  fileprivate var advice: String? {
    switch self {
    case .pairing(let peer, .keyMissing):
      "remove the bond here too, then pair again: atto unpair le:\(peer)"
    case .notFound, .ambiguous: "atto scan air: lists the radios on the air"
    case .noAdapter(""): "endpoints that begin with air: need no adapter"
    case .noAdapter: "atto adapters lists the adapters"
    case .addressInUse: "choose another name or address"
    case .folder(let path, .openToOthers):
      "chmod 700 \(path), or set ATTO_AIR to another folder"
    case .folder: "set ATTO_AIR to another folder"
    case .poweredOff(let name): "atto adapters \(name) --power on"
    case .management(_, .notPowered, _): "atto adapters --power on"
    case .management(_, .blocked, _): "sudo rfkill unblock bluetooth"
    case .management(_, .permissionDenied, _):
      "run atto as root, or once: sudo setcap cap_net_admin+ep \"$(command -v atto)\""
    case .management(_, .alreadyPaired, _), .management(_, .authenticationFailed, _):
      "if one end has lost an earlier bond, remove it at both: atto unpair"
    case .channelRefused(_, _, let refusal): refusal.hint
    case .link(let error): error.advice
    default: nil
    }
  }
}

extension LinkError {
  fileprivate var advice: String? {
    // Authentication failed, because one end has lost the bond.
    if endpoint.hasPrefix("le:"), errno == EBADE || errno == EACCES {
      return "remove the bond here too, then pair again: atto unpair \(endpoint)"
    }
    return hint
  }
}

extension StoreError {
  fileprivate var advice: String? {
    switch self {
    case .libraryMissing: hint.map { $0 + ", or use --no-store" }
    case .noPlace, .notAFile, .foreign, .foreignOwner, .writableFolder, .newer, .readOnly:
      hint.map { $0 + " (--store)" }
    case .tooManyBonds: "remove a bond: atto bonds --remove ADDRESS"
    case .damagedRecord: "pair again, or remove it: atto bonds --remove ADDRESS"
    case .noSigningKey:
      "pair first (atto pair), or give --key and --counter; not every peer supports signing"
    case .noAddress: "give --key and --counter"
    default: hint
    }
  }
}
