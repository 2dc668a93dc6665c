import AttoLinks
import Foundation

/// The radio that a manager uses. Not in Apple's framework.
public enum CBRadio: Hashable, Sendable {
  /// The kernel's first adapter, or the virtual air if the kernel has none.
  case automatic
  /// The kernel's adapter hciN; nil is the first one.
  case adapter(Int?)
  /// The virtual air, under this name; nil is the name of the program.
  case air(String?)

  /// The radio that the environment variable `ATTO_RADIO` names: `hci`, `hci1`, `air` or
  /// `air:NAME`, or as for the command: `le:`, `le:@hci1`, `air:`. Without the variable,
  /// ``automatic``.
  public static var usual: CBRadio {
    guard let text = ProcessInfo.processInfo.environment["ATTO_RADIO"], !text.isEmpty else {
      return .automatic
    }
    guard let radio = CBRadio(text) else {
      Warning.log(
        "invalid value \"\(text)\" for ATTO_RADIO: expected hci, hci0, air or air:NAME (ignored)")
      return .automatic
    }
    return radio
  }

  /// Parses `hci`, `hci1`, `air`, `air:NAME`, `le:`, `le:@hci1` or `air:`; nil for anything else.
  public init?(_ text: String) {
    let adapter = text.hasPrefix("le:@hci") ? text.dropFirst(4) : text[...]
    if text == "air" || text == "air:" {
      self = .air(nil)
    } else if text == "hci" || text == "le:" {
      self = .adapter(nil)
    } else if text.hasPrefix("air:") {
      self = .air(String(text.dropFirst(4)))
    } else if let index = L2CAPSource.index(ofAdapter: adapter) {
      self = .adapter(Int(index))
    } else {
      return nil
    }
  }

  /// Whether this process may use the radio. The kernel's radio requires CAP_NET_ADMIN.
  var authorization: CBManagerAuthorization {
    switch self {
    case .air: .allowedAlways
    case .adapter: Capability.mayManageNetwork ? .allowedAlways : .denied
    case .automatic:
      RadioContext.kernelHasAdapters && !Capability.mayManageNetwork ? .denied : .allowedAlways
    }
  }
}

enum Capability {
  /// CAP_NET_ADMIN, which scanning, advertising and pairing on the kernel's radio require.
  static let mayManageNetwork: Bool = {
    guard let status = try? String(contentsOfFile: "/proc/self/status", encoding: .utf8),
      let line = status.split(separator: "\n").first(where: { $0.hasPrefix("CapEff:") }),
      let bits = UInt64(line.dropFirst(7).trimmingCharacters(in: .whitespaces), radix: 16)
    else { return geteuid() == 0 }
    return bits & 1 << 12 != 0
  }()
}
