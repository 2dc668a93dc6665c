struct ServerCase: Sendable {
  let name: String
  let title: String
  let rule: Rule
  /// Whether it writes to values or descriptors of the server.
  let writes: Bool
  let body: @Sendable (ServerBench) async throws -> Void

  init(
    _ name: String, _ title: String, _ rule: Rule, writes: Bool = false,
    _ body: @escaping @Sendable (ServerBench) async throws -> Void
  ) {
    self.name = name
    self.title = title
    self.rule = rule
    self.writes = writes
    self.body = body
  }

  /// A case with a rule of its own.
  init(
    _ name: String, _ title: String, _ rule: String, _ section: String, writes: Bool = false,
    _ body: @escaping @Sendable (ServerBench) async throws -> Void
  ) {
    self.init(name, title, Rule(rule, section), writes: writes, body)
  }

  /// All cases in the order of a run.
  static let all: [ServerCase] =
    mtu + form + searching + structure + reading + permissions + order + gatt + writing + queue
    + values
    + bearers
}
