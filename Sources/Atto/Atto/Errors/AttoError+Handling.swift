import AttoATT
import AttoLinks
import AttoRadio
import Glibc

/// What a program does about an error, without listing all cases.
extension AttoError {
  /// Whether no connection is left: it has ended with this error, or could not be opened. After other
  /// errors only the call has failed, and the connection continues.
  public var endsConnection: Bool {
    switch self {
    case .closed, .disconnected, .bearer, .pairing: true
    // The link refuses to be secured, and stays as it is.
    case .link(let error): error.operation != .raiseSecurity
    case .radio, .connectTimeout, .loop, .tooManyClients, .idle, .tooSlow, .endpoint: true
    case .refused, .enhancedBearer, .insufficientSecurity, .securityTimeout, .violation, .limit,
      .procedureTimeout, .misuse, .database, .cancelled:
      false
    }
  }

  /// Whether a later attempt may succeed although nobody has changed the program, its options or a
  /// bond: to connect again if ``endsConnection``, otherwise to make the same call again. Pause
  /// before it, longer each time.
  ///
  /// A peer's refusal is retryable if its code says that the peer is busy or out of resources.
  public var isRetryable: Bool {
    switch self {
    case .refused(let response): response.code.isTemporary
    case .disconnected, .bearer, .enhancedBearer, .connectTimeout, .procedureTimeout, .loop,
      .tooManyClients, .idle, .tooSlow:
      true
    case .link(let error): error.isTemporary
    case .radio(let error): error.isTemporary
    case .pairing(_, let failure): failure == .linkLost || failure == .timeout
    case .closed, .insufficientSecurity, .securityTimeout, .violation, .limit, .misuse, .database,
      .endpoint, .cancelled:
      false
    }
  }

  /// Whether the call failed because the caller's task was cancelled.
  public var isCancellation: Bool {
    switch self {
    case .cancelled, .radio(.cancelled): true
    default: false
    }
  }
}

extension ErrorCode {
  fileprivate var isTemporary: Bool {
    switch self {
    case .prepareQueueFull, .insufficientResources, .databaseOutOfSync, .procedureAlreadyInProgress:
      true
    default: false
    }
  }
}

extension LinkError {
  fileprivate var isTemporary: Bool {
    guard case .system(let errno) = reason else { return false }
    return switch errno {
    // Permissions, bonds, and what this kernel or this kind of socket does not have.
    case EPERM, EACCES, EBADE, EINVAL, EAFNOSUPPORT, EPROTONOSUPPORT, EOPNOTSUPP, ENOPROTOOPT: false
    default: true
    }
  }
}

extension RadioError {
  fileprivate var isTemporary: Bool {
    switch self {
    case .notFound, .refused, .timedOut, .notConnected, .managementSilent, .system, .noAdapter,
      .unplugged, .poweredOff, .notConnectable, .protocolViolation, .tooManyChannels,
      .tooManyAdvertisements:
      true
    case .management(_, let status, _): status == .busy || status == .timeout
    case .link(let error): error.isTemporary
    case .pairing(_, let failure): failure == .linkLost || failure == .timeout
    case .refusedByController(_, let reason): reason == nil || reason == .commandDisallowed
    case .channelRefused(_, _, let refusal): refusal == .noResources
    case .folder, .invalidName, .addressInUse, .alreadyAdvertising, .advertisingData,
      .invalidInterval, .invalidEndpoint, .ambiguous, .cancelled, .closed, .notPaired, .unsupported:
      false
    }
  }
}
