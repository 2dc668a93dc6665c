import AttoATT
import TestSupport
import Testing

/// Every input that once broke a target, and every seed, without libFuzzer: in each run of the
/// tests, under whatever sanitizer that has.
@Suite(.sideBySide) struct ReplayTests {
  private static let fixtures: String = {
    // Tests/System/Fuzz/Replay/ReplayTests.swift of the same checkout.
    let parts = #filePath.split(separator: "/").dropLast(5)
    return "/" + parts.joined(separator: "/") + "/Fixtures"
  }()

  @Test(arguments: FuzzTarget.allCases) func crashers(of target: FuzzTarget) {
    let folder = FixtureFolder(path: Self.fixtures)
    for name in folder.names("crashers/\(target)") {
      target.take(folder.octets("crashers/\(target)/\(name)"))
    }
  }

  /// What long runs have reached.
  @Test(arguments: FuzzTarget.allCases) func corpus(of target: FuzzTarget) {
    for line in FixtureFolder(path: Self.fixtures).octets("corpus/\(target)").split(separator: 10) {
      guard let input = Hex.octets(line) else { Issue.record("not hex"); continue }
      target.take(input)
    }
  }

  @Test(arguments: FuzzTarget.allCases) func seeds(of target: FuzzTarget) {
    let seeds = target.seeds(Self.fixtures)
    #expect(!seeds.isEmpty)
    for seed in seeds { target.take(seed) }
  }
}
