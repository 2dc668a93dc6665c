import Glibc
import AttoSimulation

/// Runs seeds of the simulator and prints violations.
///
///     simulate [--seed N] [--count N] [--with HAZARD]... [--plan LINE] [--trace] [--shrink]
///              [--keep-going]
///
/// `--with enhanced` lets all seeds have enhanced bearers, of which otherwise a part has some.
/// The exit status is 0 without violations, 4 if a rule was violated, 2 for a usage error.
@main struct Simulate {
  static func main() {
    var first: UInt64 = 1
    var count = 1
    var plan: SimulationPlan?
    var hazards = SimulationPlan.Hazards()
    var (traces, shrinks, goesOn) = (false, false, false)
    var words = CommandLine.arguments.dropFirst()
    func next(_ word: String) -> String {
      guard let value = words.popFirst() else { stop("\(word) requires a value") }
      return value
    }
    while let word = words.popFirst() {
      switch word {
      case "--seed":
        let value = next(word)
        guard let number = UInt64(value) else { stop("invalid value \"\(value)\" for --seed") }
        first = number
      case "--count":
        let value = next(word)
        guard let number = Int(value), number > 0 else {
          stop("invalid value \"\(value)\" for --count")
        }
        count = number
      case "--with":
        let value = next(word)
        guard let known = SimulationPlan.Hazards.names.first(where: { $0.name == value }) else {
          stop("invalid value \"\(value)\" for --with")
        }
        hazards.insert(known.hazard)
      case "--plan":
        let value = next(word)
        guard let read = SimulationPlan(line: value) else {
          stop("invalid value \"\(value)\" for --plan")
        }
        plan = read
      case "--trace": traces = true
      case "--shrink": shrinks = true
      case "--keep-going": goesOn = true
      default: stop("unknown option \"\(word)\"")
      }
    }
    CrashNote.install()
    var tally = SimulationTally()
    var rules: [String: Int] = [:]
    var broken = 0
    var done = 0
    for offset in 0..<UInt64(count) {
      var plan = plan ?? SimulationPlan(seed: first &+ offset)
      plan.hazards.formUnion(hazards)
      CrashNote.begin(plan.seed)
      let simulator = Simulator(plan, transcript: traces && count == 1)
      let violation = simulator.run()
      done += 1
      tally.add(simulator.tally)
      if traces, count == 1 { simulator.transcript.forEach { print($0) } }
      guard let violation else { continue }
      broken += 1
      rules[violation.rule, default: 0] += 1
      if goesOn, rules[violation.rule, default: 0] > 1 { continue }
      print(violation)
      if shrinks {
        let small = SimulationRun.shrink(violation)
        print("shrunk to: --plan \"\(small.plan)\"\n\(small)")
        SimulationRun.transcript(of: small.plan).forEach { print("  \($0)") }
      } else if count > 1 {
        SimulationRun.transcript(of: plan, last: 40).forEach { print("  \($0)") }
      }
      if !goesOn { break }
    }
    print(
      """
      procedures \(tally[.procedures]), notifications \(tally[.notifications]) (no room for \
      \(tally[.refusedNotifications])), indications \(tally[.indications]), late answers \
      \(tally[.lateAnswers]), links \(tally[.connections]), lost \(tally[.losses]), cancelled \
      \(tally[.cancels]), database changes \(tally[.databaseChanges]), views compared \
      \(tally[.comparisons]), raw PDUs \(tally[.rawPDUs]), enhanced bearers \(tally[.bearers]), \
      of which \(tally[.closedChannels]) closed and \(tally[.deadBearers]) died
      """)
    for (rule, count) in rules.sorted(by: { $0.value > $1.value }) { print("\(count)  \(rule)") }
    print("seeds simulated: \(done), \(broken) broke a rule")
    exit(broken == 0 ? 0 : 4)
  }

  private static func stop(_ what: String) -> Never {
    let text =
      "simulate: \(what)\nusage: simulate [--seed N] [--count N] [--with HAZARD]... [--plan LINE] "
      + "[--trace] [--shrink] [--keep-going]\n"
    _ = text.withCString { write(2, $0, strlen($0)) }
    exit(2)
  }
}
