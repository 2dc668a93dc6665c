/// One case against servers.
struct ServerCase: Sendable {
  let name: String
  let title: String
  /// Whether it writes to values or descriptors of the server.
  var writes = false
  let body: @Sendable (ServerBench) async throws(CaseStop) -> Void

  init(
    _ name: String, _ title: String, writes: Bool = false,
    _ body: @escaping @Sendable (ServerBench) async throws(CaseStop) -> Void
  ) {
    self.name = name
    self.title = title
    self.writes = writes
    self.body = body
  }

  /// All, in the order in which they are run.
  static let all: [ServerCase] =
    exchanging + formed + searching + reading + permitted + ordered + kept + writing
}
