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
  /// The text after the colon; empty for a server without a name. The link's timing follows a
  /// question mark.
  case air(String)

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
  /// The name or address of a simulated radio, and the link's timing.
  static func airParts(
    _ text: String
  ) throws(LinkParameterFault) -> (name: String, timing: AirTiming?) {
    let parts = text.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
    guard parts.count == 2 else { return (text, nil) }
    return (String(parts[0]), try AirTiming(String(parts[1])))
  }

  /// The peer that an `air:` endpoint names, without the link's timing; nil for others and for
  /// `air:` alone.
  ///
  /// - Throws: `invalidEndpoint` for a name that is too long or has control characters.
  public func airPeer() throws(RadioError) -> PeerTarget? {
    guard case .air(let text) = self else { return nil }
    // Checked when the endpoint was parsed, but it may have been created otherwise.
    guard let (name, _) = try? Self.airParts(text) else { throw .invalidEndpoint(text) }
    return try PeerTarget(virtual: name)
  }

  /// The timing of links to an `air:` endpoint, if it is given; nil for others.
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

/// An invalid endpoint, or one that cannot be used in its role.
public struct EndpointError: Error, Equatable, Sendable {
  /// The given text.
  public let text: String
  /// The fault.
  public let fault: Fault

  /// A fault of an endpoint.
  @nonexhaustive public enum Fault: Equatable, Sendable {
    /// It begins with none of `unix:`, `fd:`, `le:`, `air:`.
    case unknownForm
    /// There is no path after `unix:`.
    case missingPath
    /// There is no number after `fd:`.
    case notADescriptor
    /// There is no address after `le:`.
    case notAnAddress
    /// There is no adapter after `@`.
    case notAnAdapter
    /// It names no peer to connect to.
    case noPeer
    /// It names a peer, and cannot be listened at.
    case notForListening
    /// The parameters of the link are invalid; the text says which and what is valid.
    case linkParameters(String)
    /// It has link parameters, which the central chooses, and is to be listened at.
    case timingOfListener
  }

  /// An error with these values.
  public init(text: String, _ fault: Fault) {
    self.text = text
    self.fault = fault
  }

  /// The forms of endpoints, for messages.
  public static let forms =
    "unix:PATH, fd:N, le:AA:BB:CC:DD:EE:FF[/random][@hciN], air:NAME or air:ADDRESS"
}

extension EndpointError: CustomStringConvertible {
  public var description: String {
    switch fault {
    case .unknownForm: "invalid endpoint \"\(text)\": expected \(Self.forms)"
    case .missingPath: "invalid endpoint \"\(text)\": expected a path after unix:"
    case .notADescriptor: "invalid endpoint \"\(text)\": expected a number after fd:"
    case .notAnAddress:
      "invalid endpoint \"\(text)\": expected an address such as AA:BB:CC:DD:EE:FF"
    case .notAnAdapter: "invalid endpoint \"\(text)\": expected an adapter such as hci0 after @"
    case .linkParameters(let fault): "invalid endpoint \"\(text)\": \(fault)"
    case .noPeer: "cannot connect to \"\(text)\": it names no peer"
    case .notForListening: "cannot listen at \"\(text)\": expected le: or le:@hciN"
    case .timingOfListener:
      "cannot listen at \"\(text)\": the connecting end chooses the link parameters"
    }
  }
}
