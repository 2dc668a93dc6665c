import Atto
import AttoATT
import AttoGateway
import AttoLinks
import AttoRadio
import Glibc

/// Error codes as an ESP32's Bluetooth stack has them, which is what clients show and act upon. Codes of
/// the ATT protocol are sent as they are.
struct ESPError: RawRepresentable, Hashable {
  let rawValue: Int32

  /// There is no error.
  static let none = ESPError(rawValue: 0)
  /// The device is not connected.
  static let notConnected = ESPError(rawValue: -1)
  /// The supervision timeout.
  static let timeout = ESPError(rawValue: 0x08)
  /// The device ended the connection.
  static let endedByPeer = ESPError(rawValue: 0x13)
  /// We did.
  static let endedHere = ESPError(rawValue: 0x16)
  /// The connection could not be established.
  static let notEstablished = ESPError(rawValue: 0x3E)
  /// All connections or requests are in use.
  static let noResources = ESPError(rawValue: 0x80)
  /// Any other failure.
  static let failed = ESPError(rawValue: 0x85)
  /// An argument is not possible.
  static let illegalParameter = ESPError(rawValue: 0x87)
  /// There was no attempt to connect.
  static let nothingToCancel = ESPError(rawValue: 0x0101)

  init(rawValue: Int32) { self.rawValue = rawValue }

  init(_ code: ErrorCode) { rawValue = Int32(code.rawValue) }

  /// Why a request failed.
  init(request error: GatewayError) {
    switch error {
    case .device(let error): self.init(request: error)
    case .notConnected, .released, .cancelled: self = .notConnected
    case .tooManyRequests: self = .noResources
    case .unknownCharacteristic: self.init(.invalidHandle)
    default: self = .failed
    }
  }

  private init(request error: AttoError) {
    switch error {
    case .refused(let response), .insufficientSecurity(let response, _): self.init(response.code)
    case .misuse(.valueTooLong): self.init(.invalidAttributeValueLength)
    case .misuse(.cannotSubscribe): self.init(.requestNotSupported)
    case .misuse: self = .illegalParameter
    case .closed, .disconnected, .link, .bearer: self = .notConnected
    default: self = .failed
    }
  }

  /// Why a connection could not be made.
  init(connecting error: GatewayError, last: AttoError?) {
    switch error {
    case .noFreeSlot, .tooManyDevices: self = .noResources
    case .connectTimeout: self = last.map(ESPError.init(connecting:)) ?? .notEstablished
    case .device(let error): self.init(connecting: error)
    case .released, .cancelled: self = .endedHere
    default: self = .failed
    }
  }

  private init(connecting error: AttoError) {
    switch error {
    case .connectTimeout, .radio(.notFound), .radio(.timedOut), .radio(.notConnectable):
      self = .notEstablished
    default: self = .failed
    }
  }

  /// Why a connection ended.
  init(end error: AttoError) {
    switch error {
    case .link(let error) where error.errno == ETIMEDOUT: self = .timeout
    case .disconnected, .link: self = .endedByPeer
    case .closed, .cancelled: self = .endedHere
    case .bearer, .procedureTimeout: self = .timeout
    default: self = .failed
    }
  }
}
