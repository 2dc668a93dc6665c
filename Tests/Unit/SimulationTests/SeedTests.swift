import Foundation
import AttoSimulation
import TestSupport
import Testing

/// Runs seeds of the simulator.
@Suite(.sideBySide) struct SeedTests {
  /// The number of seeds, which `ATTO_SEEDS` changes. The step `simulation` of Tests/run runs more.
  static let count = ProcessInfo.processInfo.environment["ATTO_SEEDS"].flatMap(UInt64.init) ?? 100
  static let batches: UInt64 = 8
  /// The first seeds, in which every kind of event occurs.
  static let tallied: UInt64 = 60

  @Test(arguments: 0..<batches) func seeds(_ batch: UInt64) {
    for seed in stride(from: Self.tallied + batch + 1, through: Self.count, by: Int(Self.batches)) {
      if Self.run(seed) == nil { return }
    }
  }

  /// Runs a seed. Returns what has occurred; nil if a rule was broken.
  private static func run(_ seed: UInt64) -> SimulationTally? {
    let simulator = Simulator(SimulationPlan(seed: seed))
    guard let violation = simulator.run() else { return simulator.tally }
    let small = SimulationRun.shrink(violation, limit: 40)
    let transcript = SimulationRun.transcript(of: small.plan, last: 60)
    Issue.record(
      "\(violation)\n\nas small as it gets: \(small)\n\(transcript.joined(separator: "\n"))")
    return nil
  }

  /// Seeds that have found bugs.
  @Test func seedsThatFoundBugs() throws {
    let file = URL(filePath: #filePath).deletingLastPathComponent()
      .appending(path: "../../../Fixtures/seeds.txt")
    let lines = try String(contentsOf: file, encoding: .utf8).split(separator: "\n")
      .filter { !$0.hasPrefix("#") }
    #expect(!lines.isEmpty)
    for line in lines {
      let plan = try #require(SimulationPlan(line: line), "\(line)")
      if let violation = Simulator(plan).run() { Issue.record("\(violation)") }
    }
  }

  /// The same plan gives exactly the same run.
  @Test(arguments: [3, 5, 8, 13] as [UInt64]) func runsCanBeRepeated(_ seed: UInt64) {
    let first = Simulator(SimulationPlan(seed: seed), transcript: true)
    let second = Simulator(SimulationPlan(seed: seed), transcript: true)
    #expect(first.run() == nil)
    #expect(second.run() == nil)
    #expect(first.transcript.count > 50)
    #expect(first.transcript == second.transcript)
  }

  /// Every kind of event happens often enough.
  @Test func everyKindOfEventOccurs() {
    var tally = SimulationTally()
    for seed in 1...Self.tallied {
      guard let found = Self.run(seed) else { return }
      tally.add(found)
    }
    #expect(tally[.procedures] > 2000)
    #expect(tally[.notifications] > 200)
    #expect(tally[.indications] > 50)
    #expect(tally[.lateAnswers] > 5)
    #expect(tally[.losses] > 30)
    #expect(tally[.cancels] > 20)
    #expect(tally[.databaseChanges] > 50)
    #expect(tally[.comparisons] > 10)
    #expect(tally[.rawPDUs] > 50)
    #expect(tally[.bearers] > 100)
    #expect(tally[.closedChannels] > 30)
    #expect(tally[.deadBearers] > 0)
  }

  @Test func plansRoundTripAsText() {
    for seed in 1...200 as ClosedRange<UInt64> {
      let plan = SimulationPlan(seed: seed)
      #expect(SimulationPlan(line: plan.description) == plan)
    }
    #expect(SimulationPlan(line: "7") == SimulationPlan(seed: 7))
    for wrong in ["", "x", "7 devices", "7 devices 2 actions 3 hazards fire"] {
      #expect(SimulationPlan(line: wrong) == nil)
    }
  }
}
