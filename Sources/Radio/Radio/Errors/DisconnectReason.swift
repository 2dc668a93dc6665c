import AttoATT

/// Why a link ended or was not made: error codes of controllers. Vol 1, Part F, 1.3. Unknown codes
/// are kept.
public struct DisconnectReason: RawRepresentable, Hashable, Sendable {
  public var rawValue: UInt8
  public init(rawValue: UInt8) { self.rawValue = rawValue }

  /// Unknown HCI Command: the controller does not have it. 0x01.
  public static let unknownCommand = DisconnectReason(rawValue: 0x01)
  /// Authentication Failure. 0x05.
  public static let authenticationFailure = DisconnectReason(rawValue: 0x05)
  /// PIN or Key Missing: the peer has no key of an earlier pairing. 0x06.
  public static let keyMissing = DisconnectReason(rawValue: 0x06)
  /// Connection Timeout. 0x08.
  public static let connectionTimeout = DisconnectReason(rawValue: 0x08)
  /// Connection Limit Exceeded. 0x09.
  public static let connectionLimitExceeded = DisconnectReason(rawValue: 0x09)
  /// Connection Already Exists. 0x0B.
  public static let connectionAlreadyExists = DisconnectReason(rawValue: 0x0B)
  /// Command Disallowed: not in the present state. 0x0C.
  public static let commandDisallowed = DisconnectReason(rawValue: 0x0C)
  /// Connection Rejected Due To Limited Resources. 0x0D.
  public static let limitedResources = DisconnectReason(rawValue: 0x0D)
  /// Unsupported Feature or Parameter Value. 0x11.
  public static let unsupportedFeature = DisconnectReason(rawValue: 0x11)
  /// Invalid HCI Command Parameters. 0x12.
  public static let invalidParameters = DisconnectReason(rawValue: 0x12)
  /// Remote User Terminated Connection. 0x13.
  public static let remoteUserTerminated = DisconnectReason(rawValue: 0x13)
  /// Remote Device Terminated Connection Due To Low Resources. 0x14.
  public static let remoteLowResources = DisconnectReason(rawValue: 0x14)
  /// Remote Device Terminated Connection Due To Power Off. 0x15.
  public static let remotePowerOff = DisconnectReason(rawValue: 0x15)
  /// Connection Terminated By Local Host. 0x16.
  public static let localHostTerminated = DisconnectReason(rawValue: 0x16)
  /// Unsupported Remote Feature: the peer does not have it. 0x1A.
  public static let unsupportedRemoteFeature = DisconnectReason(rawValue: 0x1A)
  /// Unspecified Error: the peer broke the protocol of the link. 0x1F.
  public static let unspecified = DisconnectReason(rawValue: 0x1F)
  /// Connection Failed to be Established: the peer does not advertise connectably. 0x3E.
  public static let failedToBeEstablished = DisconnectReason(rawValue: 0x3E)
}

extension DisconnectReason: CustomStringConvertible {
  public var description: String {
    switch self {
    case .unknownCommand: "the controller does not have this command"
    case .commandDisallowed: "not allowed now"
    case .unsupportedFeature: "the controller does not support it"
    case .invalidParameters: "the controller does not take these parameters"
    case .unsupportedRemoteFeature: "the peer does not support it"
    case .authenticationFailure: "authentication failure"
    case .keyMissing: "the key of an earlier pairing is missing"
    case .connectionTimeout: "connection timeout"
    case .connectionLimitExceeded: "connection limit exceeded"
    case .connectionAlreadyExists: "there is a connection already"
    case .limitedResources: "rejected because of limited resources"
    case .remoteUserTerminated: "ended by the remote user"
    case .remoteLowResources: "the remote device is low on resources"
    case .remotePowerOff: "the remote device is powering off"
    case .localHostTerminated: "ended by this host"
    case .unspecified: "unspecified error"
    case .failedToBeEstablished: "the connection could not be established"
    default: "reason 0x" + Hex.digits(rawValue)
    }
  }
}
