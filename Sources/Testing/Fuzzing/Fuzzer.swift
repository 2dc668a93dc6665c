import AttoATT
import AttoConformance
import AttoFormats

/// Sends hostile PDUs to a server and checks that it survives.
///
/// # Theory
///
/// Each attack has its own link; random PDUs share a link for ``linkLength`` PDUs. After each attack
/// and each random PDU, the server must answer a probe: Find Information of handle 1, which every
/// server must support (Vol 3, Part F, 4.2 and table 4.1). The run ends at the first failure, with a
/// transcript of the link that `TranscriptPlay` can repeat. Before the first attack the server must
/// answer the probe, because otherwise a failure would say nothing about the attacks.
///
/// Hosts have some ten buffers for what a controller receives, and CID 4 has no flow control: an attack that
/// sends many PDUs without a response would fail for their number. After each ``unansweredLimit`` of them the
/// server must answer the probe too. A server that loses a probe but answers the next one on the same link is not
/// stuck.
///
/// Some stacks do not answer a request that is malformed, and then no other one on that link, because the
/// transaction has not ended (Vol 3, Part F, 3.3.3). That is a fault of its own, which
/// ``FuzzReport/silenced`` counts: the server is not stuck if it answers on a new link, where the rest
/// of the attack follows.
public struct Fuzzer {
  /// The seed of the random PDUs. The same seed and ATT_MTU give the same PDUs.
  public var seed: UInt64 = 1
  /// The number of random PDUs after the attacks.
  public var count = 1000
  /// The attacks. Those that write are skipped unless ``allowsWrites`` is set.
  public var attacks = AttackCatalogue.attacks()
  /// Whether to send writes, which may change values of the server.
  public var allowsWrites = false
  /// The ATT_MTU to exchange on each link; 23 for no exchange.
  public var mtu = 23
  /// How long the server may take for each response.
  public var patience: Duration = .seconds(2)
  /// Called before each PDU of an attack and before each random PDU.
  public var onProgress: (Progress) -> Void = { _ in }

  /// The number of random PDUs on one link, which bounds the length of a transcript.
  public static let linkLength = 256

  /// The number of PDUs without a response in a row, after which the probe is sent.
  public static let unansweredLimit = 8

  /// The progress of a run.
  public struct Progress: Sendable {
    /// The number of attacks and random PDUs done so far.
    public var done: Int
    /// The number of attacks and random PDUs in all.
    public var total: Int
    /// The name of the attack; nil for a random PDU.
    public var attack: String?
    /// The number of the PDU on its link, from 1.
    public var pdu: Int
  }

  /// Creates a run of all attacks that do not write, and 1000 random PDUs.
  public init() {}

  /// Runs the attacks against a server.
  ///
  /// - Throws: ``/AttoConformance/PeerError/unreachable(_:)`` if no link can be opened at first, and
  ///   `cancelled`.
  public func run(against peer: any TestPeer) async throws(PeerError) -> FuzzReport {
    var report = FuzzReport()
    let target = FuzzTarget(peer, patience)
    if let reason = try await greet(target) {
      report.outcome = .unresponsive(reason)
      return report
    }
    let attacks = attacks.filter { allowsWrites || !$0.mayWrite }
    let total = attacks.count + count
    var generator = AttackGenerator(seed: seed, allowsWrites: allowsWrites, mtu: min(mtu, 517))
    for index in 0..<total {
      let number = index - attacks.count
      let isRandom = number >= 0
      let attack = isRandom ? Attack("random-\(number)", "", [generator.next()]) : attacks[index]
      if !isRandom || number % Self.linkLength == 0 { await target.close() }
      target.willSend = {
        let name = isRandom ? nil : attack.name
        onProgress(Progress(done: index, total: total, attack: name, pdu: $0))
      }
      if !isRandom { report.attacks += 1 }
      report.pdus += attack.pdus.count
      if let failure = try await send(attack, target) {
        report.outcome = .failed(failure)
        break
      }
    }
    await target.close()
    (report.unanswered, report.silenced) = (target.unanswered, target.silenced)
    report.links = target.linkCount
    return report
  }

  /// Sends the probe before any attack. Returns why the server is not usable, if so.
  private func greet(_ target: FuzzTarget) async throws(PeerError) -> String? {
    try await target.open()
    do throws(PeerError) {
      let isAnswered = try await target.answersProbe()
      await target.close()
      return isAnswered ? nil : "no response within \(patience)"
    } catch {
      guard case .ended(let reason) = error else { throw error }
      return reason
    }
  }

  /// Sends an attack on the open link or a new one, then the probe.
  private func send(
    _ attack: Attack, _ target: FuzzTarget
  ) async throws(PeerError) -> FuzzReport.Failure? {
    var rest = attack.pdus[...]
    repeat {
      if let failure = try await send(&rest, of: attack, target) { return failure }
    } while !rest.isEmpty
    return nil
  }

  /// Sends PDUs of an attack up to the first malformed request without a response, then the probe.
  private func send(
    _ rest: inout ArraySlice<[UInt8]>, of attack: Attack, _ target: FuzzTarget
  ) async throws(PeerError) -> FuzzReport.Failure? {
    var ignored = false
    let isAlive = try await Self.ifReachable {
      () throws(PeerError) in
      let isNew = target.isClosed
      try await target.open()
      if isNew, mtu > 23 { try await target.send([0x02, UInt8(mtu & 0xFF), UInt8(mtu >> 8)]) }
      var row = 0
      while !ignored, let pdu = rest.popFirst() {
        let isAnswered = try await target.send(pdu, awaitsResponse: attack.delivery == .oneByOne)
        ignored = !isAnswered && Self.isMalformed(pdu)
        guard attack.delivery == .oneByOne else { continue }
        row = pdu.first.map { Opcode($0).kind } == .request ? 0 : row + 1
        guard row == Self.unansweredLimit, !rest.isEmpty else { continue }
        guard try await target.answersOneOfTwoProbes() else { return false }
        row = 0
      }
      if attack.delivery == .beforeDisconnecting {
        await target.close()
        try await target.open()
      }
      // After a malformed request without a response, no other one has one on this link.
      return try await ignored ? target.answersProbe() : target.answersOneOfTwoProbes()
    }
    if isAlive == true { return nil }
    let (steps, omitted) = (target.steps, target.omitted)
    await target.close()
    let isBack = try await Self.ifReachable {
      () throws(PeerError) in
      try await target.open()
      return try await target.answersProbe()
    }
    if ignored, isAlive == false, isBack == true {
      target.silenced += 1
      await target.close()
      return nil
    }
    let kind: FuzzReport.Failure.Kind =
      if isAlive == nil {
        isBack == true ? .closed : .lost
      } else {
        isBack == true ? .silent : .dead
      }
    return FuzzReport.Failure(
      attack: attack.name, kind: kind, omitted: omitted,
      transcript: transcript(of: steps, attack.name, kind.description))
  }

  private static func isMalformed(_ pdu: [UInt8]) -> Bool {
    switch PDU(pdu.span.bytes) {
    case .malformed, .unknown: true
    default: false
    }
  }

  /// nil if no link can be opened, or it ends.
  private static func ifReachable(
    _ body: () async throws(PeerError) -> Bool
  ) async throws(PeerError) -> Bool? {
    do throws(PeerError) {
      return try await body()
    } catch {
      if error == .cancelled { throw error }
      return nil
    }
  }

  /// The case that leads to the failure and ends with the probe's response, which it lacked.
  private func transcript(
    of steps: [Transcript.Step], _ attack: String, _ title: String
  ) -> Transcript {
    var steps = steps
    if steps.last?.action != .client(FuzzTarget.probe) {
      steps.append(Transcript.Step(.client(FuzzTarget.probe)))
    }
    steps.append(Transcript.Step(.server(Transcript.Pattern([], isOpen: true))))
    return Transcript(cases: [
      Transcript.Case(name: "FUZZ/" + attack, title: "seed \(seed): \(title)", steps: steps)
    ])
  }
}
