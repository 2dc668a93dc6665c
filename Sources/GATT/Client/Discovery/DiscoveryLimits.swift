import ATT

/// How much a discovery takes from a server before it gives up with
/// ``ProtocolViolation/limit(_:_:)``.
///
/// Handles only ever rise, so 65535 of anything bounds every discovery; these limits are about
/// memory and patience. They count what is found in one procedure.
public struct DiscoveryLimits: Equatable, Sendable {
  /// Primary and secondary services.
  public var services: Int
  /// Include declarations.
  public var includes: Int
  /// Characteristic declarations, before any filter.
  public var characteristics: Int
  /// Descriptors.
  public var descriptors: Int
  /// Values of ``ReadUsingUUID``.
  public var values: Int
  /// Requests that one procedure sends.
  public var requests: Int

  /// One with these values; its properties say what each means.
  public init(
    services: Int = 2_000, includes: Int = 2_000, characteristics: Int = 10_000,
    descriptors: Int = 20_000, values: Int = 10_000, requests: Int = 40_000
  ) {
    self.services = services
    self.includes = includes
    self.characteristics = characteristics
    self.descriptors = descriptors
    self.values = values
    self.requests = requests
  }

  /// More than any server known has, and a few megabytes at the most.
  public static let standard = DiscoveryLimits()

  /// Throws if there are already as many as there may be.
  func check(_ count: Int, of kind: ProcedureLimit) throws(ProcedureError) {
    let limit =
      switch kind {
      case .services: services
      case .includes: includes
      case .characteristics: characteristics
      case .descriptors: descriptors
      case .values: values
      case .requests: requests
      }
    guard count < limit else { throw .violation(.limit(kind, limit)) }
  }
}
