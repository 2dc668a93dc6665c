import AttoFormats

/// Runs conformance cases against a server.
///
/// # Theory
///
/// A survey discovers the server's database. Each case then uses the attributes that fit it, on its
/// own link, and ends at the first violation of a rule. After a server disconnects or stops
/// responding, the next case connects again. A server that has died may still have links, of its
/// controller or of a bridge: after a case that breaks because nothing was received, it must answer on one of
/// three new links, or it is unreachable and the run ends. Values and descriptors are written only if
/// the caller allows it.
public struct ServerConformance {
  /// How long to wait for each response. The specification allows 30 s.
  public var patience: Duration = .seconds(5)
  /// Whether cases may write; otherwise those that do are skipped.
  public var allowsWrites = false
  /// The server's profile, if known. Permissions are checked against it instead of the properties.
  public var profile: ProfileLayout?
  /// Selects cases by name.
  public var isWanted: (String) -> Bool = { _ in true }
  /// Called before each case with the number of finished cases, the number of all, and the name.
  public var willRun: (_ done: Int, _ all: Int, _ name: String) -> Void = { _, _, _ in }

  /// Creates a run of all cases that do not write.
  public init() {}

  /// The names and titles of the selected cases, in order.
  public var cases: [(name: String, title: String, writes: Bool)] {
    [(Self.survey, Self.surveyTitle, false)] + selected.map { ($0.name, $0.title, $0.writes) }
  }

  private var selected: [ServerCase] { ServerCase.all.filter { isWanted($0.name) } }

  private static let survey = "survey/database"
  private static let surveyTitle = "all attributes, services, characteristics and values"
  /// The number of consecutive links that fail to open before the run ends.
  private static let lossLimit = 3
  private static let surveyTimeLimit: Duration = .seconds(900)

  /// Runs the cases and calls `onReport` after each.
  ///
  /// - Throws: `cancelled`.
  public func run(
    with peer: any TestPeer, _ onReport: (CaseReport) async -> Void
  ) async throws(PeerError) {
    var known = KnownServer()
    known.layout = profile
    let tests = selected
    willRun(0, tests.count + 1, Self.survey)
    let links = RecordedLinks(peer)
    let bench = ServerBench(
      links, known, .answered, patience: patience, deadline: Self.surveyTimeLimit)
    let report = try await CaseReport.running(Self.survey, Self.surveyTitle, on: links) {
      known = try await ServerSurvey.run(bench)
    }
    await onReport(report)
    if case .unreachable = report.outcome { return }
    if try await hasDied(peer, in: report) {
      if let test = tests.first { await onReport(Self.unreachable(test, since: Self.survey)) }
      return
    }
    var lost = 0
    for (index, test) in tests.enumerated() {
      willRun(index + 1, tests.count + 1, test.name)
      guard allowsWrites || !test.writes else {
        await onReport(
          CaseReport(
            name: test.name, title: test.title, outcome: .skipped("it writes to the server")))
        continue
      }
      let report = try await run(test, with: peer, known)
      await onReport(report)
      if case .unreachable = report.outcome {
        lost += 1
        if lost == Self.lossLimit { return }
        continue
      }
      lost = 0
      guard try await hasDied(peer, in: report) else { continue }
      if index + 1 < tests.count {
        await onReport(Self.unreachable(tests[index + 1], since: test.name))
      }
      return
    }
  }

  /// Whether the case was broken because nothing was received, and the server answers nothing on new links.
  private func hasDied(
    _ peer: any TestPeer, in report: CaseReport
  ) async throws(PeerError) -> Bool {
    guard case .broken(let finding) = report.outcome, finding.got == nil else { return false }
    for _ in 0..<Self.lossLimit {
      let links = RecordedLinks(peer)
      let bench = ServerBench(
        links, KnownServer(), .alive, patience: patience, deadline: ServerBench.timeLimit)
      let probe = try await CaseReport.running("", "", on: links) { try await bench.probe() }
      // Where no link opens, the next cases say why.
      if case .unreachable = probe.outcome { return false }
      if probe.exchange.contains(where: \.isFromPeer) { return false }
    }
    return true
  }

  private static func unreachable(_ test: ServerCase, since name: String) -> CaseReport {
    CaseReport(
      name: test.name, title: test.title,
      outcome: .unreachable("the server has answered nothing since \(name)"))
  }

  private func run(
    _ test: ServerCase, with peer: any TestPeer, _ known: KnownServer
  ) async throws(PeerError) -> CaseReport {
    let links = RecordedLinks(peer)
    let bench = ServerBench(
      links, known, test.rule, patience: patience, deadline: ServerBench.timeLimit)
    return try await CaseReport.running(test.name, test.title, on: links) {
      try await test.body(bench)
      bench.turn(toBearer: 0)
      try await bench.probe()
    }
  }
}
