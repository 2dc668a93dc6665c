import AttoATT

/// How much a discovery accepts from a server before it fails with ``ProcedureError/limit(_:_:)``.
///
/// Every discovery ends, because handles must increase. The standard limits admit any database, so
/// a smaller one is the caller's choice. They apply to one procedure.
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
    services: Int = 65_535, includes: Int = 65_535, characteristics: Int = 65_535,
    descriptors: Int = 65_535, values: Int = 65_535, requests: Int = 200_000
  ) {
    self.services = services
    self.includes = includes
    self.characteristics = characteristics
    self.descriptors = descriptors
    self.values = values
    self.requests = requests
  }

  /// One of anything for each handle, and three requests: the search for a declaration, the read of
  /// an included service, and the list of all attributes.
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
    guard count < limit else { throw .limit(kind, limit) }
  }
}
