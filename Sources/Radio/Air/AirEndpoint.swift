public import Links

/// What follows `air:` in an endpoint.
public enum AirEndpoint: Hashable, Sendable {
  /// `air:`: a server, with the address that belongs to its name.
  case own
  /// `air:C0:11:22:33:44:55`.
  case address(BluetoothAddress)
  /// `air:Strap`: the radio of that name, or else the only one with that local name.
  case name(String)

  /// Octets that a name may have.
  public static let nameLimit = AirControl.nameLimit

  /// Reads what follows the colon. Six pairs of digits are an address, and never a name.
  ///
  /// - Throws: `invalidEndpoint` for a name that is too long or has control characters.
  public init(_ text: String) throws(RadioError) {
    if text.isEmpty {
      self = .own
    } else if let address = BluetoothAddress(text.utf8.contains(0x2F) ? text : text + "/random") {
      self = .address(BluetoothAddress(address.value, kind: .random))
    } else if Self.isName(text) {
      self = .name(text)
    } else {
      throw .invalidEndpoint(text)
    }
  }

  /// Whether a radio may be called that.
  static func isName(_ text: String) -> Bool {
    (1...nameLimit).contains(text.utf8.count)
      && !text.unicodeScalars.contains { $0.properties.generalCategory == .control }
  }
}

extension AirEndpoint: CustomStringConvertible {
  /// As it is written, without `air:`.
  public var description: String {
    switch self {
    case .own: ""
    case .address(let address): address.digits
    case .name(let name): name
    }
  }
}
