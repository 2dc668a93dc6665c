import AttoATT
import AttoFormats
import AttoGATT

/// Runs conformance cases against a client: serves one case to each client that connects, and checks
/// the PDUs that it sends.
///
/// # Theory
///
/// A client is free in what it does. A case is exercised only if the client does what the case tests;
/// otherwise it is reported as not exercised. Each PDU of the client must follow the general rules. A
/// case misbehaves either before the response to the client's first request, when the client is
/// certain to listen, or in place of responses.
public struct ClientConformance {
  /// How long a client may be idle before its case ends.
  public var patience: Duration = .seconds(5)
  /// Whether to run cases that take more than half a minute.
  public var runsSlow = false
  /// Selects cases by name.
  public var isWanted: (String) -> Bool = { _ in true }

  /// Creates a run of all cases.
  public init() {}

  /// The names and titles of the selected cases, in order.
  public var cases: [(name: String, title: String)] {
    ClientCase.all.filter { isWanted($0.name) }.map { ($0.name, $0.title) }
  }

  /// Runs one case for each client that connects, and calls `onReport` after each.
  ///
  /// - Parameter next: called with the name of each case before waiting for a client.
  /// - Throws: `cancelled`.
  public func run(
    with peer: any TestPeer, next: (String) async -> Void = { _ in },
    _ onReport: (CaseReport) async -> Void
  ) async throws(PeerError) {
    for test in ClientCase.all where isWanted(test.name) {
      guard runsSlow || !test.isSlow else {
        await onReport(
          CaseReport(
            name: test.name, title: test.title,
            outcome: .skipped("it takes more than half a minute")))
        continue
      }
      await next(test.name)
      let links = RecordedLinks(peer)
      let bench = ClientBench(links, Self.database, patience: test.isSlow ? .seconds(31) : patience)
      let report = try await CaseReport.running(test.name, test.title, on: links) {
        try await test.run(bench)
      }
      await onReport(report)
      if case .unreachable = report.outcome { return }
    }
  }

  /// The database of the cases: short values and one that is long for an ATT_MTU of up to 300, UUIDs and
  /// includes of both sizes, the last handle.
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
                "value": {"repeat": "0123456789", "count": 60} } ] },
          { "uuid": "00112233-4455-6677-8899-aabbccddeeff", "handle": "0x0030", "primary": false,
            "characteristics": [
              { "uuid": "00112233-4455-6677-8899-aabbccddee00", "handle": "0x0031",
                "properties": ["read", "writeWithoutResponse"], "value": "hex:03" } ] },
          { "uuid": "A500", "handle": "0xFFFD",
            "characteristics": [
              { "uuid": "A501", "handle": "0xFFFE", "properties": ["read"], "value": "hex:ff" } ] } ] }
      """
    do {
      return try Profile(json: Array(text.utf8)).database()
    } catch {
      preconditionFailure("invalid profile of the cases: \(error)")
    }
  }()
}
