import Atto
import Files
import Hostility

/// `atto fuzz`: hostile PDUs, and whether the peer survives them.
enum FuzzCommand: Command {
  static let name = "fuzz"
  static let examples = [
    "atto fuzz unix:/tmp/peer --seed 7 --count 20000 --save death.att",
    "atto fuzz unix:/tmp/peer --catalogue list",
  ]
  static let summary = "Sends hostile PDUs to a server and watches whether it survives them."
  static let usage = "ENDPOINT [OPTIONS]"
  static let options =
    [
      OptionSpec("seed", "N", "of the random PDUs (default 1)"),
      OptionSpec("count", "N", "random PDUs after the catalogue (default 1000)"),
      OptionSpec("catalogue", "NAME", "only this attack; may be repeated; \"list\" lists them all"),
      OptionSpec("allow-writes", nil, "send writes too: values of the peer may change"),
      OptionSpec("save", "FILE", "keep the transcript of a death in FILE.att, for atto play"),
      .quiet,
    ] + OptionSpec.connecting
  static let notes =
    "First each attack of the catalogue, on a link of its own, then --count PDUs by --seed. After\n"
    + "each attack and each random PDU the peer must answer a probe (Find Information of handle 1)\n"
    + "within --timeout (default 2 s). If it does not, or the link is lost, the run ends with status\n"
    + "4 and the transcript that led there. The same seed and ATT_MTU give the same PDUs.\n"
    + "Without --allow-writes no PDU is sent whose opcode belongs to the writes, malformed or not."

  /// Random PDUs on one link, so that the transcript of a death has an end.
  private static let linkLength = 256

  private struct Result: Encodable {
    var result = "survived"
    let seed: UInt64
    var attacks = 0
    var pdus = 0
    var unanswered = 0
    var links = 0
    var attack: String?
    var transcript: String?
  }

  static func run(_ arguments: Arguments, on loop: Loop) async throws {
    let mtu = try arguments.integer("mtu", in: 23...65535) ?? 23
    let all = AttackCatalogue.attacks(mtu: min(mtu, 517))
    let wanted = arguments.all("catalogue")
    if wanted.contains("list") { return try list(all, arguments.has("json")) }
    for name in wanted where !all.contains(where: { $0.name == name }) {
      throw UsageError("there is no attack \"\(name)\"; --catalogue list lists them")
    }
    try arguments.allow(words: 1)
    let connecting = try Connecting(arguments)
    let seed = UInt64(try arguments.integer("seed", in: 0...Int.max) ?? 1)
    let count = try arguments.integer("count", in: 0...1 << 30) ?? (wanted.isEmpty ? 1000 : 0)
    let writes = arguments.has("allow-writes")
    let chosen = all.filter {
      (wanted.isEmpty || wanted.contains($0.name)) && (writes || !$0.mayWrite)
    }
    if chosen.isEmpty, count == 0 {
      throw UsageError("these attacks write, which wants --allow-writes")
    }
    let target = FuzzTarget(
      connecting, try arguments.duration("timeout") ?? .seconds(2), on: loop)
    defer { target.close() }
    var result = Result(seed: seed)
    if let path = arguments.value("save") { try WrittenFile.check(path) }
    // Of a peer that never answered, no attack can be said to have silenced it.
    try await greet(target)
    let progress = ProgressLine(arguments)
    let steps = chosen.count + count
    for (index, attack) in chosen.enumerated() {
      target.close()
      target.willSend = { progress.show(index, of: steps, "\(attack.name), PDU \($0)") }
      result.pdus += attack.pdus.count
      result.attacks += 1
      let fate = try await strike(target, attack, mtu)
      if fate != .alive {
        return try await fell(target, fate, attack.name, &result, arguments)
      }
    }
    var generator = AttackGenerator(seed: seed, allowsWrites: writes, mtu: min(mtu, 517))
    target.willSend = { _ in }
    for index in 0..<count {
      progress.show(chosen.count + index, of: steps, "random PDUs by seed \(seed)")
      if index % linkLength == 0 { target.close() }
      let attack = Attack("random-\(index)", "", [generator.next()])
      result.pdus += 1
      let fate = try await strike(target, attack, mtu)
      if fate != .alive {
        return try await fell(target, fate, attack.name, &result, arguments)
      }
    }
    progress.clear()
    result.unanswered = target.unanswered
    result.links = target.links
    if arguments.has("json") { return try Terminal.print(json: result) }
    Terminal.print(
      "survived \(result.attacks) attacks and \(count) random PDUs by seed \(seed)"
        + " (\(result.pdus) PDUs, \(result.links) links)")
    if result.unanswered > 0 {
      Terminal.print("\(result.unanswered) requests had no response, which ATT demands for each")
    }
  }

  private static func list(_ attacks: [Attack], _ isJSON: Bool) throws {
    for attack in attacks {
      if isJSON {
        try Terminal.print(json: ["attack": attack.name, "title": attack.title])
      } else {
        let pad = String(repeating: " ", count: max(2, 20 - attack.name.count))
        let note = attack.mayWrite ? " (with --allow-writes)" : ""
        Terminal.print(attack.name + pad + attack.title + note)
      }
    }
  }

  /// Asks the peer the probe's question before anything hostile is sent.
  ///
  /// - Throws: `Unreachable` if it does not answer, and what opening the link throws.
  private static func greet(_ target: FuzzTarget) async throws {
    try await target.open()
    let why: String
    do throws(AttoError) {
      if try await target.answersProbe() { return target.close() }
      why = "it was silent"
    } catch {
      if error == .cancelled { throw error }
      why = error.description
    }
    throw Unreachable(
      message:
        "nothing was attacked: before any attack the peer does not answer Find Information of"
        + " handle 1, which each server must: \(why); see atto raw ENDPOINT 0401000100")
  }

  private enum Fate: Equatable { case alive, silent, lost }

  /// Carries out one attack, on the link that there is or a new one, and probes.
  ///
  /// - Throws: what opening the first link throws, and `cancelled`.
  private static func strike(_ target: FuzzTarget, _ attack: Attack, _ mtu: Int) async throws
    -> Fate
  {
    let isNew = target.links == 0
    do {
      let before = target.links
      try await target.open()
      if mtu > 23, target.links > before {
        try await target.send([0x02, UInt8(mtu & 0xFF), UInt8(mtu >> 8)])
      }
    } catch {
      if isNew || error as? AttoError == .cancelled { throw error }
      return .lost
    }
    do throws(AttoError) {
      let isPipelined = attack.name == "pipelined"
      for pdu in attack.pdus {
        try await target.send(pdu, awaitsResponse: !attack.endsLink && !isPipelined)
      }
      if attack.endsLink {
        target.close()
        do { try await target.open() } catch { return .lost }
      }
      return try await target.answersProbe() ? .alive : .silent
    } catch {
      if error == .cancelled { throw error }
      return .lost
    }
  }

  /// Tells what has happened, and whether the peer is there on a new link.
  private static func fell(
    _ target: FuzzTarget, _ fate: Fate, _ attack: String, _ result: inout Result,
    _ arguments: Arguments
  ) async throws {
    let steps = target.steps
    result.unanswered = target.unanswered
    target.close()
    var isBack = false
    do {
      try await target.open()
      isBack = try await target.answersProbe()
    } catch {
      if error as? AttoError == .cancelled { throw error }
    }
    result.links = target.links
    let what: String
    switch (fate, isBack) {
    case (.lost, true):
      (result.result, what) = ("closed", "the peer closed the link, but answers on a new one")
    case (.lost, false):
      (result.result, what) = ("dead", "the link was lost, and the peer answers on no new one")
    case (_, true):
      (result.result, what) = (
        "silent", "the peer answers no more on this link, but does on a new one"
      )
    case (_, false):
      (result.result, what) = ("dead", "the peer answers no more, on a new link neither")
    }
    var end = steps
    if end.last?.action != .client(FuzzTarget.probe) {
      end.append(Transcript.Step(.client(FuzzTarget.probe)))
    }
    // What a peer that lives would do.
    end.append(Transcript.Step(.server(Transcript.Pattern([], isOpen: true))))
    let name = "FUZZ/" + attack
    let transcript = Transcript(cases: [
      Transcript.Case(name: name, title: "seed \(result.seed): \(what)", steps: end)
    ])
    result.attack = attack
    result.transcript = transcript.description
    if let path = arguments.value("save") {
      try WrittenFile.write(transcript.description, to: path)
    }
    if arguments.has("json") {
      try Terminal.print(json: result)
    } else {
      Terminal.print(transcript.description)
    }
    throw CheckFailure(message: "\(what) (\(attack), after \(result.pdus) PDUs)")
  }
}
