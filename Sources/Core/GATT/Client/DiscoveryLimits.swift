import AttoATT

/// How much a discovery accepts from a server before it fails with
/// ``ProtocolViolation/limit(_:_:)``.
///
/// Every discovery ends, because handles must increase. These limits bound its memory and time.
/// They apply to one procedure.
public struct DiscoveryLimits: Equatable, Sendable {
  /// Primary and secondary services.
  public var services: Int
  /// Include declarations.
  public var includes: Int
  /// Characteristic declarations, including those that a filter drops.
  public var characteristics: Int
  /// Descriptors.
  public var descriptors: Int
  /// Values of ``ReadUsingUUID``.
  public var values: Int
  /// Requests of one procedure.
  public var requests: Int

  /// Creates a value with these properties.
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

  /// More than any known server has, and a few megabytes at most.
  public static let standard = DiscoveryLimits()

  /// Throws if `count` has reached the limit.
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
