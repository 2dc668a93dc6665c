import Atto
import AttoCommandLine

/// The tests to run and how long each takes.
package struct BenchPlan: Sendable {
  package let tests: [BenchTest]
  /// Whether tests that the peer is not suited for are left out: with `all`.
  package let isSelective: Bool
  /// Octets of each value that is written, notified or indicated.
  let size: Int
  /// The time after which a test ends; nil if only ``count`` ends it.
  let time: Duration?
  /// The number of operations or values after which a test ends.
  let count: Int?
  /// The time before each test that is not measured.
  let warmUp: Duration
  /// The value to use instead of the first suitable one.
  package let handle: AttributeHandle?
  /// The procedures in flight at a time; nil: as many as there are enhanced bearers, at least one.
  let inFlight: Int?
  /// Whether the stages of each latency are measured.
  let showsStages: Bool

  private static let test = Option.list(
    "test", "TEST",
    "The tests, separated by commas; all leaves out those that the peer has no value for.",
    shown: "read",
    among: BenchTest.names + ["all"], expected: (BenchTest.names + ["all"]).alternatives
  ) { BenchTest.tests($0) }
  private static let size = Option.value(
    "size", "OCTETS",
    "The length of values that are written, notified or indicated, 4 to 512; 10 to 8192 in scenarios.",
    default: 20, shown: "20", expected: "a number from 4 to 512, or to 8192 with --scenario"
  ) { text in Int(text).flatMap { (4...8192).contains($0) ? $0 : nil } }
  private static let duration = Option.seconds(
    "for", "How long each test takes (default: 3, without limit with --count)."
  ).formerly("seconds")
  private static let count = Option.integer(
    "count", "N", in: 1...1_000_000_000, "End each test after N operations.")
  private static let warmUp = Option.value(
    "warm-up", "SECONDS", "The time before each test that is not measured.",
    default: Duration.milliseconds(300), shown: "0.3", expected: "seconds, at most 1000000"
  ) { text in
    Double(text).flatMap { (0...1_000_000).contains($0) ? .seconds($0) : nil }
  }
  private static let handle = Option.handle(
    "handle", "The characteristic's value to use.")
  private static let inFlight = Option.integer(
    "in-flight", "N", in: 1...64,
    "The procedures in flight at a time, 1 to 64 (default: one for each bearer of --bearers).")

  private static let stages = Option.flag(
    "stages", "Show where the time went: Atto, the kernel, the controller and the air, the peer.")

  /// The options that do not apply to scenarios.
  static let notForScenarios: [any CommandOption] = [test, warmUp, handle, inFlight]
  package static let options: [any CommandOption] = [
    test, size, duration, count, warmUp, handle, inFlight, stages,
  ]

  package init(_ arguments: Arguments) throws(UsageError) {
    tests = arguments.has(Self.test) ? arguments[Self.test].flatMap(\.self) : [.read]
    isSelective = arguments[Self.test].contains(BenchTest.allCases)
    size = arguments[Self.size]
    count = arguments[Self.count]
    time = arguments[Self.duration] ?? (count == nil ? .seconds(3) : nil)
    warmUp = arguments[Self.warmUp]
    handle = arguments[Self.handle]
    inFlight = arguments[Self.inFlight]
    showsStages = arguments[Self.stages]
    if showsStages, !isSelective, let other = tests.first(where: { $0.staged == nil }) {
      throw UsageError("--stages cannot be combined with --test \(other.rawValue)")
    }
    if handle != nil, tests.count > 1 {
      throw UsageError("--handle requires a single test")
    }
  }
}

extension BenchPlan {
  func workload(_ test: BenchTest) -> Workload {
    var workload = test.workload
    (workload.size, workload.time, workload.count) = (size, time, count)
    return workload
  }

  /// The default of `--max-time`: generous, for peers that answer each request just in time.
  package var limit: Duration {
    guard let time else { return .seconds(3600) }
    return .seconds(300) + (warmUp + time) * tests.count
  }
}

extension BenchTest {
  fileprivate static var names: [String] { allCases.map(\.rawValue) }

  fileprivate static func tests(_ text: String) -> [BenchTest]? {
    let words = text.split(separator: ",").map(String.init)
    if words.contains("all") { return allCases }
    let tests = words.compactMap { word in allCases.first { $0.rawValue == word } }
    return tests.count == words.count && !tests.isEmpty ? tests : nil
  }
}
