import AttoLinkTiming
import AttoLinks
import AttoRadio
import AttoVirtualRadio

/// The address of a peer to connect to, or of a place to listen at.
///
/// | Text | Meaning |
/// |---|---|
/// | `unix:PATH` | a Unix SOCK_SEQPACKET socket, one PDU per packet |
/// | `fd:N` | an inherited, connected SOCK_SEQPACKET descriptor |
/// | `le:ADDRESS` | the kernel's L2CAP, CID 4; `/random` for a random address, `@hci1` for an adapter; as a server `le:` or `le:@hci1` |
/// | `air:NAME`, `air:ADDRESS` | a simulated radio; as a server `air:` too |
/// | `air:NAME?phy=2M&interval=15ms&dle=251` | the same with the timing of such a link; also `event-length`, `packets`, `encrypted`, `per`, `subrate`, `continuation`, `frame-space`, `links` and `seed` |
public enum Endpoint: Hashable, Sendable {
  /// `unix:PATH`: a Unix SOCK_SEQPACKET socket.
  case unix(path: String)
  /// `fd:N`: an inherited, connected SOCK_SEQPACKET descriptor.
  case descriptor(Int32)
  /// `le:ADDRESS`: a peer on the kernel's L2CAP, fixed channel 4.
  case le(L2CAPAddress)
  /// Any central that connects to this machine: for servers.
  case leAny(L2CAPSource)
  /// `air:NAME?phy=2M`: the name or address of a simulated radio, empty for a server without a name,
  /// and the timing of the link to it. Without one the link is as fast as its socket.
  case air(String, timing: AirTiming? = nil)

  /// Parses an endpoint.
  ///
  /// - Throws: ``EndpointError`` with the fault.
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
      let parts = rest.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
      do throws(LinkParameterFault) {
        self = .air(
          String(parts[0]), timing: parts.count == 2 ? try AirTiming(String(parts[1])) : nil)
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
      if let index = L2CAPSource.index(ofAdapter: name) {
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
  /// The peer that an `air:` endpoint names, without the link's timing; nil for others and for
  /// `air:` alone.
  ///
  /// - Throws: `invalidEndpoint` for a name that is too long or has control characters.
  public func airPeer() throws(RadioError) -> PeerTarget? {
    guard case .air(let name, _) = self else { return nil }
    return try PeerTarget(virtual: name)
  }

  /// The timing of links to an `air:` endpoint, if it is given; nil for others.
  public var timing: AirTiming? {
    guard case .air(_, let timing) = self else { return nil }
    return timing
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
    case .air(let name, nil): "air:\(name)"
    case .air(let name, let timing?): "air:\(name)?\(timing)"
    }
  }
}
