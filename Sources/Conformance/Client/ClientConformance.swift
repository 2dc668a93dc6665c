import ATT
import Files
import GATT

/// Runs conformance cases against somebody's client: serves each client that connects one case,
/// and judges what it sends.
///
/// # Theory
///
/// What a client does is its own affair; a case is exercised only if the client does what it is
/// about, and says so otherwise. Whatever a client does, each of its PDUs must keep the rules for
/// all of them. What a case does wrong it does before the answer to the client's first request,
/// when the client is sure to listen, or in place of answers.
public struct ClientConformance {
  /// How long a client may do nothing before its case ends.
  public var patience: Duration = .seconds(5)
  /// Whether cases that take more than half a minute are run.
  public var runsSlow = false
  /// Which cases are wanted, by name.
  public var isWanted: (String) -> Bool = { _ in true }

  /// All cases.
  public init() {}

  /// Names and titles of all cases that are wanted, in order.
  public var cases: [(name: String, title: String)] {
    ClientCase.all.filter { isWanted($0.name) }.map { ($0.name, $0.title) }
  }

  /// Runs the cases, one for each client that comes, and tells of each when it has ended.
  ///
  /// - Parameter next: told the name of each case before a client is waited for.
  /// - Throws: `cancelled` alone.
  public func run(
    with peer: any Peer, next: (String) async -> Void = { _ in },
    _ tell: (CaseReport) async -> Void
  ) async throws(PeerError) {
    for test in ClientCase.all where isWanted(test.name) {
      guard runsSlow || !test.isSlow else {
        await tell(
          CaseReport(
            name: test.name, title: test.title,
            outcome: .skipped("it takes more than half a minute; ask for it with --slow")))
        continue
      }
      await next(test.name)
      let wire = Wire(peer)
      let bench = ClientBench(
        wire, Self.database, mtu: test.mtu, patience: test.isSlow ? .seconds(31) : patience)
      var stop: CaseStop?
      do throws(CaseStop) {
        try await wire.open()
        try await test.run(bench)
      } catch {
        stop = error
      }
      let report = try CaseReport(test.name, test.title, stop, wire)
      await wire.closeAll()
      await tell(report)
      if case .unreachable = report.outcome { return }
    }
  }

  /// What the cases serve: short and long values, both sizes of UUID, an include of each, the
  /// last handle.
  private static let database: Database = {
    let text = """
      { "name": "Conformance",
        "services": [
          { "uuid": "180D", "handle": "0x0010",
            "includes": [{"handle": "0x0011", "service": "0x0030"}],
            "characteristics": [
              { "uuid": "2A37", "handle": "0x0012", "properties": ["notify"] },
              { "uuid": "2A38", "handle": "0x0015", "properties": ["read"], "value": "hex:01" },
              { "uuid": "2A39", "handle": "0x0017", "properties": ["write", "reliableWrite"] },
              { "uuid": "A001", "handle": "0x001A", "properties": ["indicate", "read"], "value": "hex:02" },
              { "uuid": "A002", "handle": "0x001D", "properties": ["read", "write"],
                "value": {"repeat": "0123456789", "count": 20} } ] },
          { "uuid": "00112233-4455-6677-8899-aabbccddeeff", "handle": "0x0030", "primary": false,
            "characteristics": [
              { "uuid": "00112233-4455-6677-8899-aabbccddee00", "handle": "0x0031",
                "properties": ["read", "writeWithoutResponse"], "value": "hex:03" } ] },
          { "uuid": "A500", "handle": "0xFFFD",
            "characteristics": [
              { "uuid": "A501", "handle": "0xFFFE", "properties": ["read"], "value": "hex:ff" } ] } ] }
      """
    do {
      return try Profile(json: Array(text.utf8)).database().database
    } catch {
      preconditionFailure("the profile of the cases is wrong: \(error)")
    }
  }()
}
