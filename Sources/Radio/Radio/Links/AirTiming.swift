public import AttoLinkTiming

/// The simulated timing of a link of the virtual air, which the central chooses. It applies to ATT;
/// L2CAP channels are as fast as their sockets.
public struct AirTiming: Sendable, Hashable {
  /// The parameters of both directions.
  public var parameters: LinkParameters
  /// Decides which exchanges fail. The other direction has a seed that is derived from it.
  public var seed: UInt64

  /// A timing with these parameters.
  public init(_ parameters: LinkParameters, seed: UInt64 = 1) {
    self.parameters = parameters
    self.seed = seed
  }

  /// Reads what follows the question mark in `air:NAME?phy=2M&interval=15ms&dle=251`; also
  /// `seed=N`.
  ///
  /// - Throws: `LinkParameterFault` with the valid range of a parameter that is wrong.
  public init(_ text: String) throws(LinkParameterFault) {
    (parameters, seed) = try LinkParameters.reading(text)
  }
}

extension AirTiming: CustomStringConvertible {
  /// The text in an endpoint.
  public var description: String { seed == 1 ? "\(parameters)" : "\(parameters)&seed=\(seed)" }
}
