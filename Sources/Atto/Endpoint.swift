import LinkTiming
import Links
import Radio

/// Where a connection goes to or comes from, as people write it.
///
/// | Written | Means |
/// |---|---|
/// | `unix:PATH` | a Unix SOCK_SEQPACKET socket, one PDU per packet |
/// | `fd:N` | an inherited, connected SOCK_SEQPACKET descriptor |
/// | `le:ADDRESS` | the kernel's L2CAP, CID 4; `/random` for a random address, `@hci1` for an adapter; as a server `le:` or `le:@hci1` |
/// | `air:NAME`, `air:ADDRESS` | the virtual air; as a server `air:` too |
/// | `air:NAME?phy=2M&interval=15ms&dle=251` | the same, as fast as such a link would be; also `event-length`, `packets`, `encrypted`, `per` and `seed` |
public enum Endpoint: Hashable, Sendable {
  /// `unix:PATH`: a Unix SOCK_SEQPACKET socket.
  case unix(path: String)
  /// `fd:N`: an inherited, connected SOCK_SEQPACKET descriptor.
  case descriptor(Int32)
  /// `le:ADDRESS`: a peer on the kernel's L2CAP, fixed channel 4.
  case le(L2CAPAddress)
  /// Any central that connects to this machine: for servers.
  case leAny(L2CAPSource)
  /// What follows the colon; empty for a server without a name. What follows a question mark is
  /// the link's timing.
  case air(String)

  /// Reads an endpoint.
  ///
  /// - Throws: ``EndpointError`` with what is wrong, and what was expected.
  public init(_ text: some StringProtocol) throws(EndpointError) {
    let parts = text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
    guard parts.count == 2 else { throw EndpointError(text: String(text), .unknownForm) }
    let rest = String(parts[1])
    switch parts[0] {
    case "unix":
      guard !rest.isEmpty else { throw EndpointError(text: String(text), .missingPath) }
      self = .unix(path: rest)
    case "fd":
      guard let number = Int32(rest), number >= 0 else {
        throw EndpointError(text: String(text), .notADescriptor)
      }
      self = .descriptor(number)
    case "le":
      self = try Self.le(rest, text: String(text))
    case "air":
      self = .air(rest)
      do throws(LinkParameterFault) {
        _ = try Self.airParts(rest)
      } catch {
        throw EndpointError(text: String(text), .linkParameters(error.description))
      }
    default: throw EndpointError(text: String(text), .unknownForm)
    }
  }

  private static func le(_ rest: String, text: String) throws(EndpointError) -> Endpoint {
    let parts = rest.split(separator: "@", maxSplits: 1, omittingEmptySubsequences: false)
    var source = L2CAPSource.any
    if parts.count == 2 {
      let name = parts[1]
      if name.hasPrefix("hci"), let index = UInt16(name.dropFirst(3)) {
        source = .adapter(index)
      } else if let address = BluetoothAddress(name) {
        source = .address(address)
      } else {
        throw EndpointError(text: text, .notAnAdapter)
      }
    }
    if parts.isEmpty || parts[0].isEmpty { return .leAny(source) }
    guard let address = BluetoothAddress(parts[0]) else {
      throw EndpointError(text: text, .notAnAddress)
    }
    return .le(L2CAPAddress(address, source: source))
  }
}

extension Endpoint {
  /// The name or address on the air, and how the link is to be timed.
  static func airParts(
    _ text: String
  ) throws(LinkParameterFault) -> (name: String, timing: AirTiming?) {
    let parts = text.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
    guard parts.count == 2 else { return (text, nil) }
    return (String(parts[0]), try AirTiming(String(parts[1])))
  }

  /// Who an `air:` endpoint names, without how the link is timed; nil for others.
  ///
  /// - Throws: `invalidEndpoint` for a name that is too long or has control characters.
  public func airPeer() throws(RadioError) -> AirEndpoint? {
    guard case .air(let text) = self else { return nil }
    // Checked when the endpoint was read; one that was made otherwise may be wrong.
    guard let (name, _) = try? Self.airParts(text) else { throw .invalidEndpoint(text) }
    return try AirEndpoint(name)
  }

  /// How a link to an `air:` endpoint is timed, if it says so; nil for others.
  public var timing: AirTiming? {
    guard case .air(let text) = self else { return nil }
    return (try? Self.airParts(text))?.timing
  }
}

extension Endpoint: CustomStringConvertible {
  public var description: String {
    switch self {
    case .unix(let path): "unix:\(path)"
    case .descriptor(let number): "fd:\(number)"
    case .le(let address): address.description
    case .leAny(.adapter(let index)): "le:@hci\(index)"
    case .leAny(.address(let address)): "le:@\(address)"
    case .leAny(.any): "le:"
    case .air(let name): "air:\(name)"
    }
  }
}

/// A text that is no endpoint, or one that does not suit its role.
public struct EndpointError: Error, Equatable, Sendable {
  /// What was given.
  public let text: String
  /// What is wrong with it.
  public let fault: Fault

  /// What is wrong with an endpoint.
  public enum Fault: Equatable, Sendable {
    /// It begins with none of `unix:`, `fd:`, `le:`, `air:`.
    case unknownForm
    /// Nothing comes after `unix:`.
    case missingPath
    /// No number comes after `fd:`.
    case notADescriptor
    /// No address comes after `le:`.
    case notAnAddress
    /// No adapter comes after `@`.
    case notAnAdapter
    /// It names no peer, and one is needed.
    case noPeer
    /// It names a peer, and a place to listen is needed.
    case notForListening
    /// What is wrong with the parameters of the link, and the legal range.
    case linkParameters(String)
    /// A listener states the timing of links, which is the central's to choose.
    case timingOfListener
  }

  /// One with these values; its properties say what each means.
  public init(text: String, _ fault: Fault) {
    self.text = text
    self.fault = fault
  }

  /// The forms that there are, for people.
  public static let forms =
    "unix:PATH, fd:N, le:AA:BB:CC:DD:EE:FF[/random][@hciN], air:NAME or air:ADDRESS"
}

extension EndpointError: CustomStringConvertible {
  public var description: String {
    let what =
      switch fault {
      case .unknownForm: "is no endpoint"
      case .missingPath: "lacks the path of a socket"
      case .notADescriptor: "does not name a descriptor by its number"
      case .notAnAddress: "does not hold an address such as AA:BB:CC:DD:EE:FF"
      case .notAnAdapter: "does not name an adapter such as hci0"
      case .noPeer: "names nobody to connect to"
      case .linkParameters(let fault): "describes no link: \(fault)"
      case .timingOfListener:
        "times links where it listens: the one who connects says phy, interval and so on"
      case .notForListening: "is no place to listen: that would be le: or le:@hciN"
      }
    return "\"\(text)\" \(what); the forms are \(Self.forms)"
  }
}
