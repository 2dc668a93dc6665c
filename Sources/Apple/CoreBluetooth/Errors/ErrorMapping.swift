internal import Atto
import Foundation

/// Maps Atto's errors to Apple's.
enum ErrorMapping {
  /// Maps the failure of an operation on a connected peer.
  static func error(of operation: AttoError) -> any Error {
    switch operation {
    case .refused(let response): attError(response.code)
    case .misuse(.valueTooLong): CBATTError(.invalidAttributeValueLength)
    case .cancelled: CBError(.operationCancelled)
    case .securityTimeout: CBError(.encryptionTimedOut)
    case .procedureTimeout: CBError(.connectionTimeout, userInfo: reason(operation))
    case .violation, .limit, .database, .endpoint: CBError(.unknown, userInfo: reason(operation))
    case .misuse: CBError(.invalidParameters, userInfo: reason(operation))
    case .radio(let error): channel(error)
    default: disconnection(operation)
    }
  }

  /// Maps the end of a connection that this side did not cancel.
  static func disconnection(_ end: AttoError?) -> CBError {
    switch end {
    case nil, .closed, .disconnected: CBError(.peripheralDisconnected)
    case .link(let error):
      switch error.errno {
      case EACCES, EPERM: CBError(.peerRemovedPairingInformation)
      case ETIMEDOUT, EHOSTDOWN, EHOSTUNREACH: CBError(.connectionTimeout)
      default: CBError(.peripheralDisconnected)
      }
    case .bearer(.linkEnded): CBError(.peripheralDisconnected)
    case .bearer: CBError(.connectionTimeout)
    case .securityTimeout: CBError(.encryptionTimedOut)
    case .connectTimeout: CBError(.connectionTimeout)
    case .cancelled: CBError(.operationCancelled)
    case .some(let other): CBError(.connectionFailed, userInfo: reason(other))
    }
  }

  /// Maps the end of a connection by a pairing that failed.
  static func disconnection(_ failure: PairingFailure) -> CBError {
    let code: CBError.Code =
      switch failure {
      case .keyMissing: .peerRemovedPairingInformation
      case .timeout: .encryptionTimedOut
      default: .peripheralDisconnected
      }
    return CBError(code, userInfo: [NSDebugDescriptionErrorKey: "pairing failed: \(failure)"])
  }

  /// Maps the failure of a connection attempt.
  static func connecting(_ error: RadioError) -> CBError {
    switch error {
    case .refused(_, .connectionLimitExceeded), .refused(_, .limitedResources),
      .refused(_, .remoteLowResources):
      CBError(.connectionLimitReached)
    case .timedOut: CBError(.connectionTimeout)
    case .cancelled: CBError(.operationCancelled)
    default: CBError(.connectionFailed, userInfo: [NSDebugDescriptionErrorKey: "\(error)"])
    }
  }

  /// Maps the failure to open or publish a channel.
  static func channel(_ error: RadioError) -> any Error {
    var text = "\(error)"
    if case .channelRefused(_, _, let refusal) = error, let hint = refusal.hint {
      text += "; \(hint)"
    }
    let reason = [NSDebugDescriptionErrorKey: text]
    return switch error {
    case .channelRefused(_, _, .insufficientAuthentication):
      CBATTError(.insufficientAuthentication, userInfo: reason)
    case .channelRefused(_, _, .insufficientAuthorization):
      CBATTError(.insufficientAuthorization, userInfo: reason)
    case .channelRefused(_, _, .keyTooShort):
      CBATTError(.insufficientEncryptionKeySize, userInfo: reason)
    case .channelRefused(_, _, .insufficientEncryption):
      CBATTError(.insufficientEncryption, userInfo: reason)
    case .pairing(_, .keyMissing): CBError(.peerRemovedPairingInformation, userInfo: reason)
    case .pairing(_, .timeout): CBError(.encryptionTimedOut, userInfo: reason)
    case .pairing: CBATTError(.insufficientEncryption, userInfo: reason)
    case .channelRefused(_, _, .noResources), .tooManyChannels:
      CBError(.outOfSpace, userInfo: reason)
    case .channelRefused(_, _, .unknownPSM): CBError(.invalidParameters, userInfo: reason)
    case .channelRefused: CBError(.connectionFailed, userInfo: reason)
    // Only a connected peer is asked for a channel, so it has just disconnected.
    case .notConnected, .closed, .unplugged, .poweredOff:
      CBError(.peripheralDisconnected, userInfo: reason)
    case .unsupported: CBError(.operationNotSupported, userInfo: reason)
    case .link(let error): channel(error, reason)
    case .timedOut: CBError(.connectionTimeout, userInfo: reason)
    case .cancelled: CBError(.operationCancelled, userInfo: reason)
    default: CBError(.unknown, userInfo: reason)
    }
  }

  /// Maps the kernel's failure to create or connect a channel's socket.
  private static func channel(_ error: LinkError, _ reason: [String: Any]) -> CBError {
    let code: CBError.Code =
      switch error.errno {
      case ETIMEDOUT: .connectionTimeout
      case ECONNRESET, ECONNABORTED, ENOTCONN, EPIPE, EHOSTDOWN, EHOSTUNREACH, ENETDOWN, ENODEV,
        ESHUTDOWN:
        .peripheralDisconnected
      case ENOMEM, ENOBUFS, EMFILE, ENFILE, EADDRINUSE, ENOSPC: .outOfSpace
      case EAFNOSUPPORT, EPROTONOSUPPORT, EOPNOTSUPP, ENOPROTOOPT: .operationNotSupported
      case EINVAL, EBADFD: .invalidParameters
      default: .connectionFailed
      }
    return CBError(code, userInfo: reason)
  }

  /// Maps the failure to advertise.
  static func advertising(_ error: RadioError) -> CBError {
    switch error {
    case .alreadyAdvertising: CBError(.alreadyAdvertising)
    case .advertisingData: CBError(.outOfSpace)
    case .tooManyAdvertisements: CBError(.outOfSpace)
    case .unsupported: CBError(.operationNotSupported)
    default: CBError(.unknown, userInfo: [NSDebugDescriptionErrorKey: "\(error)"])
    }
  }

  static func attError(_ code: ErrorCode) -> CBATTError {
    CBATTError(CBATTError.Code(number: Int(code.rawValue)))
  }

  private static func reason(_ error: AttoError) -> [String: Any] {
    [NSDebugDescriptionErrorKey: "\(error)"]
  }
}
