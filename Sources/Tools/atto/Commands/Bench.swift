import Atto
import AttoBench
import AttoCommandLine
import AttoEventLoop
import AttoLinkTiming
import AttoPeers

/// `atto bench`: throughput and latency.
enum BenchCommand: Command {
  private static let link = Option.text(
    "link", "PARAMETERS", "The link, to compute its limit: phy=2M&interval=15ms&dle=251.")
  private static let csv = Option.flag("csv", "Print one line of CSV per test.")
  private static let report = Option.file(
    "report", "FILE.html", "Write a page with charts of rates and latencies.")
  private static let compare = Option.file(
    "compare", "FILE.json",
    "Show the differences from the results of an earlier --json, in charts too with --report.")

  static let description = CommandDescription(
    "bench", "Measure throughput and latency against a peer.",
    synopsis: [
      "ENDPOINT [--test TEST] [OPTIONS]", "ENDPOINT --scenario SCENARIO [OPTIONS]",
      "--listen ENDPOINT --scenario SCENARIO [OPTIONS]",
    ], arguments: [.endpoint],
    details: """
      Measure against atto serve Fixtures/bench.json: its values are numbered, and counted by their
      receiver. With other peers, the first suitable value is read or subscribed to; values are written
      only if --handle names one, or to the throughput services of Nordic (Fixtures/throughput.json), which
      counts them, of ST (Fixtures/throughput-st.json), and of ESP-IDF's throughput_app
      (Fixtures/throughput-esp.json).

      Latency is the duration of a round trip or procedure. For notify and indicate it is the time
      between two values, and for write-command the time until the link accepts the PDU.

      With --bearers, as many procedures are in flight as there are enhanced bearers (EATT), or as
      --in-flight says. Writes to one value keep their order, so each procedure writes a value of its
      own, of which Fixtures/bench.json has five.

      A scenario needs its counterpart at the other end: receive for send, pong for ping. The values of
      atto bench have check sums.
      """,
    options: BenchPlan.options + [link, csv, report, compare] + BenchChecks.options
      + [CommonOptions.quiet],
    groups: Connecting.options + [ScenarioPlan.options],
    timeLimit: TimeLimit(
      text: "300 and the time of the tests; with --count alone 3600, with --linger none"
    ) {
      let plan = try BenchPlan($0)
      let scenario = try ScenarioPlan($0, plan)
      return scenario?.lingers == true ? nil : (scenario?.limit ?? plan.limit) + $0.seconds
    },
    examples: [
      "atto bench 'air:Bench?phy=2M&interval=15ms&dle=251' --mtu 247 --test notify",
      "atto bench unix:/tmp/bench --json > before.json",
      "atto bench unix:/tmp/bench --compare before.json --report page.html",
      "atto bench --listen air:Bench --scenario receive --over channel",
      "atto bench air:Bench --scenario send --over channel --size 500",
    ])

  static func run(_ arguments: Arguments, on loop: Loop) async throws {
    let arguments = try ScenarioPlan.placed(arguments)
    let connecting = try Connecting(arguments, isMeasured: true)
    let bench = try await Bench(arguments, connecting, on: loop)
    do {
      try await bench.run(arguments, connecting)
    } catch {
      // Show the partial results.
      try bench.finish()
      throw error
    }
    try bench.finish()
    if let failure = bench.checks.failure { throw failure }
  }

  /// The tests of a command, run one after another over one connection.
  private final class Bench {
    private let plan: BenchPlan
    private let scenario: ScenarioPlan?
    private let endpoint: String
    private let earlier: [BenchResult]
    /// The link as stated by `--link` or the endpoint.
    private let link: MeasuredLink?
    /// The kernel's knowledge of the link, if it is not stated.
    private let kernelLink: LinkReport?
    private let subrate: SubrateRequest?
    private let isJSON: Bool
    private let isCSV: Bool
    private let report: BenchReport?
    private(set) var checks: BenchChecks
    private let progress: ProgressLine
    private let loop: Loop
    /// The number of runs of a scenario so far.
    private var runCount = 0
    /// The results of which the table and the report consist: further runs are printed with `--json` and
    /// `--csv` only.
    static let resultLimit = 1000
    /// The results, each with the earlier one.
    private var runs: [BenchRun] = []
    var results: [BenchResult] { runs.map(\.result) }

    init(_ arguments: Arguments, _ connecting: Connecting, on loop: Loop) async throws {
      plan = try BenchPlan(arguments)
      scenario = try ScenarioPlan(arguments, plan)
      endpoint = arguments.words[0]
      earlier =
        if let path = arguments[compare] {
          try await BenchResult.reading(path, on: loop)
        } else { [] }
      (isJSON, isCSV) = (arguments[CommonOptions.json], arguments[csv])
      if isCSV { try arguments.forbid([CommonOptions.json], "cannot be combined with --csv") }
      do throws(LinkParameterFault) {
        link =
          if let text = arguments[BenchCommand.link] {
            .stated(try LinkParameters.reading(text).parameters)
          } else {
            connecting.endpoint.timing.map { .simulated($0.parameters) }
          }
      } catch {
        throw UsageError("--link: \(error)")
      }
      subrate = connecting.certainSubrate
      // Opened first: the kernel reports the parameters when the link opens.
      kernelLink =
        link == nil && connecting.endpoint.isRadio
        ? try? await LinkReport(connecting.endpoint, on: loop) : nil
      report = try arguments[BenchCommand.report].map { try BenchReport(path: $0) }
      checks = BenchChecks(arguments)
      progress = ProgressLine(arguments)
      self.loop = loop
    }

    func run(_ arguments: Arguments, _ connecting: Connecting) async throws {
      guard let scenario else {
        return try await connecting.use(on: loop) { try await self.run(over: $0) }
      }
      try await scenario.carry(arguments, connecting, on: loop) { carrier, connection in
        try await self.run(scenario, over: carrier, connection)
      }
    }

    private func run(
      _ scenario: ScenarioPlan, over carrier: any PacketCarrier, _ connection: Connection?
    ) async throws {
      let runner = ScenarioRunner(scenario, over: carrier, on: loop)
      let shown = progress.follow(on: loop) { runner.measurement }
      defer { shown?.cancel() }
      var added: Measurement?
      do {
        try await runner.run { measured in
          progress.clear()
          added = measured
          var link: MeasuredLink?
          if let connection { link = await kernelLink?.measured(connection, subrate) }
          try await add(measured, mtu: carrier.mtu, error: nil, over: link)
        }
      } catch {
        progress.clear()
        if !(error is UsageError), runner.measurement.start != 0, runner.measurement !== added {
          let message = ExitStatus(error).message
          try await add(runner.measurement, mtu: carrier.mtu, error: message, over: nil)
        }
        throw error
      }
    }

    private func run(over connection: Connection) async throws {
      let needsDatabase = plan.tests.contains { $0 != .discover && $0 != .ping }
      let discovering = progress.keep(on: loop) { "discovering the values to measure" }
      defer { discovering?.cancel() }
      let database = needsDatabase ? try await connection.discover() : nil
      discovering?.cancel()
      // All are found before the first test starts.
      var targets: [(BenchTest, BenchTarget?)] = []
      for test in plan.tests {
        do {
          targets.append(
            (test, try database.flatMap { try BenchTarget.find(test, in: $0, named: plan.handle) }))
        } catch let error as UsageError where plan.isSelective {
          Terminal.note("atto bench: skipped: \(error.message)")
        }
      }
      let mtu = try await connection.mtu
      var failure: (any Error)?
      for (test, target) in targets {
        let runner = BenchRunner(test, plan, over: connection, at: target, on: loop)
        let shown = progress.follow(on: loop) { runner.measurement }
        do {
          try await runner.run()
        } catch {
          shown?.cancel()
          progress.clear()
          if !(error is UsageError) {
            try await add(runner.measurement, mtu: mtu, error: ExitStatus(error).message, over: nil)
          }
          // The link is still there.
          guard plan.isSelective, case AttoError.refused = error else { throw error }
          failure = failure ?? error
          continue
        }
        shown?.cancel()
        progress.clear()
        try await add(
          runner.measurement, mtu: mtu, error: nil, over: kernelLink?.measured(connection, subrate))
        if let error = runner.noValues {
          guard plan.isSelective else { throw error }
          Terminal.note("atto bench: \(error.message)")
        }
      }
      if let failure { throw failure }
    }

    private func add(
      _ measured: Measurement, mtu: Int, error: String?, over kernelLink: MeasuredLink?
    ) async throws {
      var result = BenchResult(measured, endpoint: endpoint, mtu: mtu, error: error)
      if scenario != nil {
        result.run = runCount
        runCount += 1
      }
      await result.setLimit(measured, over: link ?? kernelLink)
      result.setStages(measured)
      let before = earlier.last { $0.title == result.title }
      if let before {
        result.compare(with: before)
      } else if let other = earlier.first {
        Terminal.note(
          "atto bench: warning: the earlier results have no \(result.title); the first one is"
            + " \(other.title)")
      }
      checks.check(result)
      let isFirst = runs.isEmpty
      if runs.count < Self.resultLimit {
        runs.append((result, before))
      } else if runCount == Self.resultLimit + 1 {
        Terminal.note("atto bench: further runs are left out of the table and the report")
      }
      if isJSON { try Terminal.print(encoded: result) }
      if isCSV {
        if isFirst { Terminal.print(BenchResult.csvHead) }
        Terminal.print(result.csv)
      }
    }

    func finish() throws {
      guard !runs.isEmpty else { return }
      if !isJSON, !isCSV {
        Columns.print(BenchResult.head, results.map(\.cells), isNumeric: true)
        for line in results.flatMap(\.remarks) { Terminal.print(line) }
        for result in results {
          guard let rows = result.stagesRows else { continue }
          Terminal.print("", result.stagesTitle)
          if !rows.isEmpty { Columns.print(BenchResult.stagesHead, rows, isNumeric: true) }
          for line in result.stagesRemarks { Terminal.print(line) }
        }
        for (result, before) in runs {
          guard let before else { continue }
          Terminal.print("", result.comparisonTitle)
          let rows = result.differences(from: before).map(\.cells)
          Columns.print(BenchDifference.head, rows, isNumeric: true)
        }
      }
      try report?.write(runs)
    }
  }
}
