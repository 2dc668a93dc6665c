import Foundation

/// Which radio a manager uses. Not Apple's: an extension of this module.
public enum CBRadio: Hashable, Sendable {
  /// The kernel's first adapter, or the virtual air where the kernel has none.
  case automatic
  /// The kernel's adapter hciN; without a number the first one.
  case adapter(Int?)
  /// The virtual air, under this name; without one, under the name of the program.
  case air(String?)

  /// What the environment variable `ATTO_RADIO` says: `hci`, `hci1`, `air` or `air:NAME`. Without
  /// it, ``automatic``.
  public static var usual: CBRadio {
    guard let text = ProcessInfo.processInfo.environment["ATTO_RADIO"], !text.isEmpty else {
      return .automatic
    }
    guard let radio = CBRadio(text) else {
      Misuse.log("ATTO_RADIO is \"\(text)\"; expected hci, hci0, air or air:NAME. It is ignored.")
      return .automatic
    }
    return radio
  }

  /// Reads `hci`, `hci1`, `air` or `air:NAME`; nil for anything else.
  public init?(_ text: String) {
    if text == "air" {
      self = .air(nil)
    } else if text == "hci" {
      self = .adapter(nil)
    } else if text.hasPrefix("air:"), text.utf8.count > 4 {
      self = .air(String(text.dropFirst(4)))
    } else if text.hasPrefix("hci"), let index = UInt16(text.dropFirst(3)) {
      self = .adapter(Int(index))
    } else {
      return nil
    }
  }

  /// Whether this process may use it: the kernel's radio wants CAP_NET_ADMIN.
  var authorization: CBManagerAuthorization {
    switch self {
    case .air: .allowedAlways
    case .adapter: Capability.mayManageNetwork ? .allowedAlways : .denied
    case .automatic:
      Station.kernelHasAdapters && !Capability.mayManageNetwork
        ? .denied : .allowedAlways
    }
  }
}
