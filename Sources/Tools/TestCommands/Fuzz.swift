import Atto
import AttoCommandLine
import AttoConformance
import AttoFuzzing
import AttoPeers

/// `atto fuzz`: hostile PDUs.
package enum FuzzCommand: Command {
  private static let seed = Option.integer(
    "seed", "N", in: 0...Int.max, default: 1, "The seed of the random PDUs.")
  private static let count = Option.integer(
    "count", "N", in: 0...1 << 30,
    "The number of random PDUs (default: 1000, or 0 with --catalogue).")
  private static let catalogue = Option.texts(
    "catalogue", "NAME", "Run only this attack; \"list\" lists all attacks.",
    kind: .words { ["list"] + AttackCatalogue.attacks(mtu: 517).map(\.name) })
  private static let allowWrites = Option.flag(
    "allow-writes", "Send writes too, which may change the peer's values.")
  private static let save = Option.file(
    "save", "FILE", "Save the transcript of a failure in FILE.att, for atto play.")

  package static let description = CommandDescription(
    "fuzz", "Send hostile PDUs to a server and check that it survives.",
    synopsis: ["ENDPOINT [OPTIONS]"], arguments: [.endpoint],
    details: """
      The command runs each attack of the catalogue on a connection of its own, and then sends random
      PDUs. After each attack and each random PDU the peer must answer a probe (Find Information of
      handle 1) within --timeout (default: 2 s). If it does not, or closes the connection, the command
      ends with status 4 and prints the transcript that led there, which atto play can repeat. A peer
      that does not answer a malformed request, and then no other one on that connection, is counted,
      and the rest follows on a new connection. At le: the link ends after each attack, for all programs.
      The same seed and ATT_MTU produce the same PDUs.

      Without --allow-writes, no PDU with the opcode of a write is sent, malformed or not.
      """,
    options: [seed, count, catalogue, allowWrites, save, CommonOptions.quiet],
    groups: Connecting.options,
    timeLimit: TimeLimit(text: "3600; none with --count") {
      $0.has(count) ? nil : .seconds(3600) + $0.seconds
    },
    examples: [
      "atto fuzz unix:/tmp/peer --seed 7 --count 20000 --save death.att",
      "atto fuzz unix:/tmp/peer --catalogue list",
    ])

  package static func run(_ arguments: Arguments, on loop: Loop) async throws {
    var fuzzer = Fuzzer()
    fuzzer.mtu = arguments[CommonOptions.mtu] ?? 23
    let all = AttackCatalogue.attacks(mtu: min(fuzzer.mtu, 517))
    let names = arguments[catalogue]
    if names.contains("list") { return list(all, Results(arguments)) }
    for name in names where !all.contains(where: { $0.name == name }) {
      throw UsageError(
        "unknown attack \"\(name)\"", hint: "--catalogue list prints the names of the attacks")
    }
    try arguments.forbid(
      ParameterRequest.options + [CommonOptions.bearers], "cannot be used with fuzz")
    let connecting = try Connecting(arguments)
    fuzzer.seed = UInt64(arguments[seed])
    fuzzer.count = arguments[count] ?? (names.isEmpty ? 1000 : 0)
    fuzzer.allowsWrites = arguments[allowWrites]
    fuzzer.attacks = names.isEmpty ? all : all.filter { names.contains($0.name) }
    if fuzzer.count == 0, !fuzzer.allowsWrites, fuzzer.attacks.allSatisfy(\.mayWrite) {
      throw UsageError("these attacks require --allow-writes")
    }
    if let time = arguments[CommonOptions.timeout] { fuzzer.patience = time }
    if let path = arguments[save] { try WrittenFile.check(path) }
    let progress = ProgressLine(arguments)
    let keeping = progress.keep(on: loop)
    defer { keeping?.cancel() }
    var last: Fuzzer.Progress?
    fuzzer.onProgress = { [seed = fuzzer.seed] step in
      last = step
      progress.show(
        step.done, of: step.total,
        step.attack.map { "\($0), PDU \(step.pdu)" } ?? "random PDUs with seed \(seed)")
    }
    let peer = RawPeer(connecting.endpoint, connecting.options, patience: .zero, on: loop)
    let report: FuzzReport
    do throws(PeerError) {
      report = try await fuzzer.run(against: peer)
    } catch {
      if error != .cancelled, let failure = peer.failure { throw failure }
      guard let last else { throw AttoError.cancelled }
      let attacks = min(last.done, fuzzer.attacks.count)
      throw Interrupted(
        message:
          "interrupted after \(attacks) of \(Shown.count(fuzzer.attacks.count, "attack")) and"
          + " \(last.done - attacks) of \(Shown.count(fuzzer.count, "random PDU")) with seed"
          + " \(fuzzer.seed): the peer survived them",
        hint: attacks < fuzzer.attacks.count
          ? "--catalogue NAME runs one attack" : "--seed \(fuzzer.seed &+ 1) sends other PDUs")
    }
    progress.clear()
    try show(report, fuzzer, arguments)
  }

  private static func show(_ report: FuzzReport, _ fuzzer: Fuzzer, _ arguments: Arguments) throws {
    if case .unresponsive(let reason) = report.outcome {
      throw Unreachable(
        message:
          "no attack was run: the peer does not answer Find Information of handle 1: \(reason)",
        hint: "try atto raw ENDPOINT 0401000100")
    }
    let results = Results(arguments)
    guard case .failed(let failure) = report.outcome else {
      let unanswered = report.unanswered
      results.print(
        "survived \(report.attacks) attacks and \(fuzzer.count) random PDUs with seed"
          + " \(fuzzer.seed) (\(report.pdus) PDUs, \(report.links) connections)",
        json: json(report, fuzzer))
      if !results.isJSON, unanswered > 0 {
        Terminal.print(
          "\(Shown.count(unanswered, "request")) had no response, though ATT requires one"
            + (report.silenced > 0
              ? "; after \(Shown.count(report.silenced, "malformed one")), the peer answered nothing"
                + " more on that connection" : ""))
      }
      return
    }
    let transcript = failure.transcript.description
    if failure.omitted > 0 {
      Terminal.note(
        "atto fuzz: warning: the transcript lacks \(Shown.count(failure.omitted, "PDU")) of the peer:"
          + " it sent too many to keep")
    }
    if let path = arguments[save] { try WrittenFile.write(transcript, to: path) }
    results.print(ownText: transcript, json: json(report, fuzzer, failure))
    throw CheckFailure(message: "\(failure.kind) (\(failure.attack), after \(report.pdus) PDUs)")
  }

  private static func json(
    _ report: FuzzReport, _ fuzzer: Fuzzer, _ failure: FuzzReport.Failure? = nil
  ) -> JSONObject {
    [
      "result": failure.map { $0.kind == .lost ? "dead" : $0.kind.rawValue } ?? "survived",
      "seed": fuzzer.seed, "attacks": report.attacks, "pdus": report.pdus,
      "unanswered": report.unanswered, "silenced": report.silenced,
      "links": report.links, "attack": failure?.attack,
      "omitted": failure.flatMap { $0.omitted > 0 ? $0.omitted : nil },
      "transcript": failure?.transcript.description,
    ]
  }

  private static func list(_ attacks: [Attack], _ results: Results) {
    for attack in attacks {
      results.print(
        attack.name.padded(to: 18) + "  " + attack.title
          + (attack.mayWrite ? " (requires --allow-writes)" : ""),
        json: ["attack": attack.name, "title": attack.title])
    }
  }
}
