import Atto
import AttoCommandLine

/// Enhanced bearers, as `--bearers` asks for them.
package enum Bearers {
  /// - Throws: a usage error if there are none at this endpoint.
  package static func checked(_ count: Int, at endpoint: Endpoint) throws(UsageError) -> Int {
    switch endpoint {
    case .le, .leAny, .air: return count
    case .unix, .descriptor:
      guard count > 0 else { return 0 }
      throw UsageError("--bearers requires an le: or air: endpoint, not \"\(endpoint)\"")
    }
  }

  /// Warns if there are fewer than wanted.
  static func noteShortage(of connection: Connection, _ wanted: Int) async throws(AttoError) {
    guard wanted > 0 else { return }
    let count = try await connection.bearers.count - 1
    guard count < wanted else { return }
    guard let obstacle = try await connection.bearerObstacle else {
      return Terminal.note(
        "warning: only \(count) of \(Shown.count(wanted, "enhanced bearer")): the peer accepts no more"
      )
    }
    Terminal.note("warning: no enhanced bearers: \(obstacle)")
    if case .radio(let error) = obstacle { Terminal.note(hintsFor: error) }
  }

  /// The number and the MTU of each bearer.
  package static func text(of connection: Connection) async throws(AttoError) -> String {
    try await connection.bearers.map { "\($0.number) (MTU \($0.mtu))" }.joined(separator: ", ")
  }

  /// The same as JSON.
  package static func json(of connection: Connection) async throws(AttoError) -> [JSONObject] {
    try await connection.bearers.map { ["number": $0.number, "mtu": $0.mtu] }
  }
}
