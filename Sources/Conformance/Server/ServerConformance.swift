import Files

/// Runs conformance cases against somebody's server.
///
/// # Theory
///
/// A survey finds out what the server has; each case then takes what fits it, on a link of its
/// own, and ends at the first broken rule. A server that dies or falls silent in a case is told
/// of, connected to anew, and the next case goes on. Nothing is written to a value or a
/// descriptor unless the caller allows it.
public struct ServerConformance {
  /// How long each response may take. The specification allows 30 s; few servers need more than
  /// one.
  public var patience: Duration = .seconds(5)
  /// Whether cases may write; those that would are skipped otherwise.
  public var allowsWrites = false
  /// What the server serves, if it is known: then permissions are judged by it and not by the
  /// properties alone.
  public var profile: ProfileLayout?
  /// Which cases are wanted, by name.
  public var isWanted: (String) -> Bool = { _ in true }
  /// Told before each case: how many have ended, how many there are, and the name of this one.
  public var willRun: (_ done: Int, _ all: Int, _ name: String) -> Void = { _, _, _ in }

  /// All cases that write nothing.
  public init() {}

  /// Names and titles of all cases that are wanted, in order.
  public var cases: [(name: String, title: String, writes: Bool)] {
    [(Self.survey, Self.surveyTitle, false)]
      + ServerCase.all.filter { isWanted($0.name) }.map { ($0.name, $0.title, $0.writes) }
  }

  private static let survey = "survey/database"
  private static let surveyTitle = "all attributes, services, characteristics and values"
  /// Links that may fail to open, one after the other, before the run ends.
  private static let lossLimit = 3
  /// A large database on a slow link takes its time.
  private static let surveyTimeLimit: Duration = .seconds(900)

  /// Runs the cases and tells of each when it has ended.
  ///
  /// - Throws: `cancelled` alone.
  public func run(
    with peer: any Peer, _ tell: (CaseReport) async -> Void
  ) async throws(PeerError) {
    var known = KnownServer()
    known.layout = profile
    var surveyed: KnownServer?
    let all = cases.count
    willRun(0, all, Self.survey)
    let report = try await report(
      Self.survey, Self.surveyTitle, peer, known, deadline: Self.surveyTimeLimit
    ) {
      bench throws(CaseStop) in
      surveyed = try await ServerSurvey.run(bench)
    }
    await tell(report)
    if case .unreachable = report.outcome { return }
    var lost = 0
    for (index, test) in ServerCase.all.filter({ isWanted($0.name) }).enumerated() {
      willRun(index + 1, all, test.name)
      guard allowsWrites || !test.writes else {
        await tell(
          CaseReport(
            name: test.name, title: test.title,
            outcome: .skipped("it writes; allow that with --allow-writes")))
        continue
      }
      let report = try await self.report(test.name, test.title, peer, surveyed ?? known) {
        bench throws(CaseStop) in
        try await test.body(bench)
        try await bench.probe()
      }
      await tell(report)
      guard case .unreachable = report.outcome else {
        lost = 0
        continue
      }
      lost += 1
      if lost == Self.lossLimit { return }
    }
  }

  private func report(
    _ name: String, _ title: String, _ peer: any Peer, _ known: KnownServer,
    deadline: Duration = ServerBench.timeLimit, _ body: (ServerBench) async throws(CaseStop) -> Void
  ) async throws(PeerError) -> CaseReport {
    let wire = Wire(peer)
    let bench = ServerBench(wire, known, patience: patience, deadline: deadline)
    var stop: CaseStop?
    do throws(CaseStop) {
      try await wire.open()
      try await body(bench)
    } catch {
      stop = error
    }
    let report = try CaseReport(name, title, stop, wire)
    await wire.closeAll()
    return report
  }
}
