internal import Atto
import Foundation

/// Atto's errors in the words that Apple has for them.
enum ErrorMapping {
  /// Why an operation on a connected peer failed.
  static func error(of operation: AttoError) -> any Error {
    switch operation {
    case .refused(let response): attError(response.code)
    case .misuse(.valueTooLong): CBATTError(.invalidAttributeValueLength)
    case .cancelled: CBError(.operationCancelled)
    case .securityTimeout: CBError(.encryptionTimedOut)
    case .violation, .database, .endpoint: CBError(.unknown, userInfo: reason(operation))
    case .misuse: CBError(.invalidParameters, userInfo: reason(operation))
    case .radio(let error): channel(error)
    default: disconnection(operation)
    }
  }

  /// Why a connection ended that nobody here has cancelled.
  static func disconnection(_ end: AttoError?) -> CBError {
    switch end {
    case nil, .disconnected: CBError(.peripheralDisconnected)
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

  /// Why a connection was not made.
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

  /// Why a channel was not opened or published.
  static func channel(_ error: RadioError) -> any Error {
    let reason = [NSDebugDescriptionErrorKey: "\(error)"]
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
    // Apps open channels of those who are connected: this one has just gone.
    case .notConnected, .closed, .unplugged, .poweredOff:
      CBError(.peripheralDisconnected, userInfo: reason)
    case .unsupported: CBError(.operationNotSupported, userInfo: reason)
    case .link(let error): channel(error, reason)
    case .timedOut: CBError(.connectionTimeout, userInfo: reason)
    case .cancelled: CBError(.operationCancelled, userInfo: reason)
    default: CBError(.unknown, userInfo: reason)
    }
  }

  /// Why the kernel did not make a channel's socket, or not connect it.
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

  /// Why an advertisement did not come about.
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
    // Every octet has a case.
    CBATTError(CBATTError.Code(rawValue: Int(code.rawValue)) ?? .unlikelyError)
  }

  private static func reason(_ error: AttoError) -> [String: Any] {
    [NSDebugDescriptionErrorKey: "\(error)"]
  }
}
