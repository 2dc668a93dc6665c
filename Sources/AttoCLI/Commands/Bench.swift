import Atto
import LinkTiming

/// `atto bench`: throughput and latency.
enum BenchCommand: Command {
  static let name = "bench"
  static let examples = [
    "atto bench 'air:Bench?phy=2M&interval=15ms&dle=251' --mtu 247 --size 244 --test notify,write",
    "atto bench unix:/tmp/bench --json > before.json",
    "atto bench unix:/tmp/bench --compare before.json --report page.html --fail-under 10000",
  ]
  static let summary = "Throughput and latency against a peer."
  static let usage = "ENDPOINT [--test TEST] [OPTIONS]"
  static let options =
    BenchPlan.options + [
      OptionSpec(
        "link", "PARAMETERS", "the link's, to tell its limit: phy=2M&interval=15ms&dle=251"),
      OptionSpec("csv", nil, "one line of a table for each test, on standard output"),
      OptionSpec("report", "FILE.html", "write a page with the results"),
      OptionSpec("compare", "FILE.json", "results of an earlier --json"),
      OptionSpec("fail-under", "N", "status 4 if a test has less than N a second"),
      .quiet,
    ] + OptionSpec.connecting
  static let notes =
    "TEST is read, write, write-command, notify, indicate, long-read, discover or ping.\n"
    + "At the other end: atto serve Fixtures/bench.json. At other peers values are read and\n"
    + "subscribed to where they are found, and written only where --handle says so.\n"
    + "Values are counted at their receiver, by their numbers. Latency is the time of a round\n"
    + "trip or procedure; of notify and indicate, that between two values; of write-command,\n"
    + "the time until the link took it."

  static func run(_ arguments: Arguments, on loop: Loop) async throws {
    let connecting = try Connecting(arguments)
    try arguments.allow(words: 1)
    let plan = try BenchPlan(arguments)
    let earlier = try arguments.value("compare").map { try BenchResult.reading($0) } ?? []
    let floor = try arguments.value("fail-under").map { text in
      guard let number = Double(text), number >= 0 else {
        throw UsageError("--fail-under wants a rate a second, such as 1000, not \"\(text)\"")
      }
      return number
    }
    if arguments.has("json"), arguments.has("csv") {
      throw UsageError("--json and --csv are two forms of one output: choose one")
    }
    var link: LinkParameters?
    do throws(LinkParameterFault) {
      if let text = arguments.value("link") { link = try LinkParameters.reading(text).parameters }
    } catch {
      throw UsageError("--link: \(error)")
    }
    link = link ?? connecting.endpoint.timing?.parameters
    // What the kernel knows of its own links, it tells those who listen from the beginning.
    let radioLink =
      link == nil && connecting.isRadio
      ? try? await LinkReport(connecting.endpoint, on: loop) : nil
    let report = try arguments.value("report").map { try BenchReport(path: $0) }
    let bench = Bench(
      plan: plan, endpoint: arguments.words[0], earlier: earlier, link: link, radioLink: radioLink,
      output: Output(arguments), report: report,
      progress: BenchProgress(ProgressLine(arguments)), loop: loop)
    do {
      try await bench.run(connecting)
    } catch {
      // What there is so far is worth having.
      try bench.finish()
      throw error
    }
    try bench.finish()
    let slow = floor.map { floor in bench.results.filter { $0.rate < floor } } ?? []
    if let floor, !slow.isEmpty {
      let rates = slow.map { "\($0.test): \(Decimal.text($0.rate, places: 1)) a second" }
      throw CheckFailure(
        message: "\(rates.joined(separator: ", ")), which is less than"
          + " \(Decimal.text(floor, places: 1))")
    }
  }

  /// How results are shown.
  enum Output {
    case table, json, csv

    init(_ arguments: Arguments) {
      self = arguments.has("json") ? .json : arguments.has("csv") ? .csv : .table
    }
  }
}

/// The tests of one command, one after another over one connection.
private final class Bench {
  let plan: BenchPlan
  let endpoint: String
  let earlier: [BenchResult]
  let link: LinkParameters?
  let radioLink: LinkReport?
  let output: BenchCommand.Output
  var report: BenchReport?
  let loop: Loop
  var results: [BenchResult] = []
  private let progress: BenchProgress

  init(
    plan: BenchPlan, endpoint: String, earlier: [BenchResult], link: LinkParameters?,
    radioLink: LinkReport?,
    output: BenchCommand.Output, report: BenchReport?, progress: BenchProgress, loop: Loop
  ) {
    self.plan = plan
    self.endpoint = endpoint
    self.earlier = earlier
    self.link = link
    self.radioLink = radioLink
    self.output = output
    self.report = report
    self.progress = progress
    self.loop = loop
  }

  func run(_ connecting: Connecting) async throws {
    try await connecting.use(on: loop) { try await self.run(over: $0) }
  }

  private func run(over connection: Connection) async throws {
    let needsDatabase = plan.tests.contains { $0 != .discover && $0 != .ping }
    let database = needsDatabase ? try await connection.discover() : nil
    // Before any is begun: a command that cannot do all does none.
    let targets = try plan.tests.map { test in
      try database.flatMap { try BenchTarget.find(test, in: $0, named: plan.handle) }
    }
    let mtu = try await connection.mtu
    for (test, target) in zip(plan.tests, targets) {
      let runner = BenchRunner(test, plan, over: connection, at: target, on: loop)
      let shown = progress.follow(LoopBound(runner.measurement, loop), plan, on: loop)
      do {
        try await runner.run()
      } catch {
        shown?.cancel()
        progress.clear()
        if !(error is UsageError) {
          try took(runner.measurement, mtu: mtu, error: ExitStatus(error).message, over: nil)
        }
        throw error
      }
      shown?.cancel()
      progress.clear()
      let told = await radioLink?.measured(connection)
      try took(runner.measurement, mtu: mtu, error: nil, over: told)
      if runner.measurement.count == 0 {
        throw CheckFailure(
          message: "\(test.rawValue): nothing came in the time; the peer has to send values of"
            + " \(target?.handle ?? .invalid) by itself, as atto serve Fixtures/bench.json does")
      }
    }
  }

  private func took(
    _ measured: Measurement, mtu: Int, error: String?, over told: MeasuredLink?
  ) throws {
    var result = BenchResult(measured, endpoint: endpoint, mtu: mtu, error: error)
    if let known = link.map({ .stated($0) }) ?? told { result.set(link: known) }
    if let before = earlier.last(where: { $0.test == result.test }) {
      result.compare(with: before)
    } else if let other = earlier.first {
      Terminal.note(
        "atto bench: there is no \(result.test) to compare with; the earlier results begin with"
          + " \(other.test)")
    }
    results.append(result)
    report?.add(result, measured)
    switch output {
    case .json: try Terminal.print(json: result)
    case .csv:
      if results.count == 1 { Terminal.print(BenchResult.csvHead) }
      Terminal.print(result.csv)
    case .table: break
    }
  }

  /// Shows what is shown at the end.
  func finish() throws {
    if case .table = output, !results.isEmpty {
      for line in Columns.text(BenchResult.head, results.map(\.cells)) { Terminal.print(line) }
      for line in results.flatMap(\.remarks) { Terminal.print(line) }
    }
    if !results.isEmpty { try report?.write() }
  }
}
