import Atto

/// Enhanced bearers, as `--bearers` asks for them.
enum Bearers {
  /// - Throws: a usage error if there are none at this endpoint.
  static func checked(_ count: Int, at endpoint: Endpoint) throws(UsageError) -> Int {
    switch endpoint {
    case .le, .leAny, .air: return count
    case .unix, .descriptor:
      guard count > 0 else { return 0 }
      throw UsageError("--bearers requires an le: or air: endpoint, not \"\(endpoint)\"")
    }
  }

  /// Why there are fewer than wanted; nil if there are not.
  static func shortage(
    of connection: Connection, _ wanted: Int
  ) async throws(AttoError) -> String? {
    guard wanted > 0 else { return nil }
    let count = try await connection.bearers.count - 1
    if count >= wanted { return nil }
    if let obstacle = try await connection.bearerObstacle {
      return "no enhanced bearers: \(obstacle)"
    }
    return "only \(count) of \(Shown.count(wanted, "enhanced bearer")): the peer accepts no more"
  }

  /// The number and the MTU of each bearer.
  static func text(of connection: Connection) async throws(AttoError) -> String {
    try await connection.bearers.map { "\($0.number) (MTU \($0.mtu))" }.joined(separator: ", ")
  }
}
