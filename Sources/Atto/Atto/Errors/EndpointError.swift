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
