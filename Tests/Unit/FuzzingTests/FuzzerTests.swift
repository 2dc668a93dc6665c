import AttoATT
import AttoConformance
import AttoFormats
import AttoFuzzing
import TestSupport
import Testing

/// The fuzzer against servers that survive and servers that do not.
@Suite(.sideBySide) struct FuzzerTests {
  /// Answers every request with an error, until its `fault` changes the answer; nil closes the link.
  private final class Peer: TestPeer {
    let fault: ([UInt8]) -> [[UInt8]]?
    var opened = 0
    var linkLimit = Int.max

    init(_ fault: @escaping ([UInt8]) -> [[UInt8]]? = Peer.answer) { self.fault = fault }

    static func answer(_ pdu: [UInt8]) -> [[UInt8]]? {
      guard let first = pdu.first, Opcode(first).kind == .request else { return [] }
      let handle = pdu.count >= 3 ? Array(pdu[1...2]) : [0, 0]
      return [[0x01, first] + handle + [0x01]]
    }

    func open() async throws(PeerError) -> any TestLink {
      guard opened < linkLimit else { throw .unreachable("nobody listens") }
      opened += 1
      return Link(self)
    }
  }

  private final class Link: TestLink {
    private let peer: Peer
    private var waiting: [[UInt8]] = []
    private var isOpen = true
    private(set) var elapsed: Duration = .zero

    init(_ peer: Peer) { self.peer = peer }

    func send(_ pdu: [UInt8]) async throws(PeerError) {
      guard isOpen else { throw .ended("closed") }
      guard let answers = peer.fault(pdu) else {
        isOpen = false
        throw .ended("the server closed the link")
      }
      waiting += answers
    }

    func receive(within time: Duration) async throws(PeerError) -> [UInt8]? {
      guard waiting.isEmpty else { return waiting.removeFirst() }
      elapsed += time
      return nil
    }

    func wait(_ time: Duration) async throws(PeerError) { elapsed += time }
    func close() async { isOpen = false }
  }

  private static func fuzzer(_ names: String...) -> Fuzzer {
    var fuzzer = Fuzzer()
    fuzzer.count = 0
    fuzzer.attacks = AttackCatalogue.attacks().filter { names.contains($0.name) }
    return fuzzer
  }

  private static func failure(_ report: FuzzReport) throws -> FuzzReport.Failure {
    guard case .failed(let failure) = report.outcome else {
      throw PeerError.unreachable("\(report)")
    }
    return failure
  }

  /// As BTstack does with a request that is too short: it and what follows on its link stay unanswered.
  @Test func aServerThatIgnoresMalformedRequests() async throws {
    var silentLink = 0
    var peer: Peer?
    let ignoring = Peer { pdu in
      let link = peer?.opened ?? 0
      if link == silentLink { return [] }
      switch PDU(pdu.span.bytes) {
      case .malformed:
        silentLink = link
        return []
      default: return Peer.answer(pdu)
      }
    }
    peer = ignoring
    defer { peer = nil }
    let fuzzer = Self.fuzzer("h19", "pipelined")
    let report = try await fuzzer.run(against: ignoring)
    #expect(report.outcome == .survived)
    #expect(report.pdus == fuzzer.attacks.reduce(0) { $0 + $1.pdus.count })
    #expect(report.silenced > 5 && report.silenced == report.unanswered)
    // Each time to see whether it is back, and for the rest of the attack.
    #expect(report.links == 3 + 2 * report.silenced)
  }

  /// The same for a request that is well formed is a failure.
  @Test func aServerThatIgnoresARequest() async throws {
    var silentLink = 0
    var peer: Peer?
    let ignoring = Peer { pdu in
      let link = peer?.opened ?? 0
      if pdu.first == 0x0A { silentLink = link }
      return link == silentLink ? [] : Peer.answer(pdu)
    }
    peer = ignoring
    defer { peer = nil }
    let failure = try Self.failure(try await Self.fuzzer("pipelined").run(against: ignoring))
    #expect(failure.kind == .silent)
  }

  /// A server whose response to the last PDU has not left when the probe comes.
  @Test func aServerThatLosesTheFirstProbe() async throws {
    let probe: [UInt8] = [0x04, 0x01, 0x00, 0x01, 0x00]
    var last = probe
    let peer = Peer { pdu in
      defer { last = pdu }
      return pdu == probe && last != probe ? [] : Peer.answer(pdu)
    }
    let fuzzer = Self.fuzzer("unsolicited")
    let report = try await fuzzer.run(against: peer)
    #expect(report.outcome == .survived)
    // After each eight PDUs, and at the end.
    #expect(report.unanswered == (fuzzer.attacks[0].pdus.count + 7) / 8)
  }

  /// A server that loses what comes after ten PDUs without a response.
  @Test func theProbeAlsoComesAfterEightPDUs() async throws {
    var row = 0
    let peer = Peer { pdu in
      row = pdu.first.map { Opcode($0).kind } == .request ? 0 : row + 1
      return row > 10 ? nil : Peer.answer(pdu)
    }
    let fuzzer = Self.fuzzer("h19", "bad-write-command", "unsolicited")
    let report = try await fuzzer.run(against: peer)
    #expect(report.outcome == .survived)
    #expect(fuzzer.attacks.count == 3)
  }

  @Test func aServerThatSurvives() async throws {
    var fuzzer = Fuzzer()
    fuzzer.count = 300
    var steps: [Fuzzer.Progress] = []
    fuzzer.onProgress = { steps.append($0) }
    let peer = Peer()
    let report = try await fuzzer.run(against: peer)
    let attacks = AttackCatalogue.attacks().filter { !$0.mayWrite }
    #expect(report.outcome == .survived)
    #expect(report.attacks == attacks.count)
    #expect(report.pdus == attacks.reduce(300) { $0 + $1.pdus.count })
    #expect(report.links == peer.opened)
    #expect(steps.last?.total == attacks.count + 300)
    #expect(zip(steps, steps.dropFirst()).allSatisfy { $0.done <= $1.done })
  }

  @Test func writesNeedPermission() async throws {
    var fuzzer = Self.fuzzer("h1")
    var written = 0
    let peer = Peer {
      if Attack.mayWrite($0) { written += 1 }
      return Peer.answer($0)
    }
    #expect(try await fuzzer.run(against: peer).attacks == 0)
    #expect(written == 0)
    fuzzer.allowsWrites = true
    #expect(try await fuzzer.run(against: peer).attacks == 1)
    #expect(written > 40)
  }

  @Test func aServerThatClosesTheLink() async throws {
    let peer = Peer { $0.isEmpty ? nil : Peer.answer($0) }
    let report = try await Self.fuzzer("empty").run(against: peer)
    let failure = try Self.failure(report)
    #expect(failure.kind == .closed)
    #expect(failure.attack == "empty")
    let text = failure.transcript.description
    #expect(
      text == """
        # FUZZ/empty  seed 1: the peer closed the connection, but responds on a new one
        >
        > 04 01 00 01 00
        < ...

        """)
    #expect(try Transcript(text: Array(text.utf8)) == failure.transcript)
  }

  @Test func aServerThatFallsSilent() async throws {
    // For good, or on this link only.
    for (isForGood, kind) in [(true, FuzzReport.Failure.Kind.dead), (false, .silent)] {
      var attacked: Int?
      var peer: Peer?
      let silent = Peer { pdu in
        if pdu.first == 0x0C { attacked = peer?.opened }
        let isProbe = pdu == [0x04, 1, 0, 1, 0]
        let isSilent = isForGood ? attacked != nil : attacked == peer?.opened
        return isProbe && isSilent ? [] : Peer.answer(pdu)
      }
      peer = silent
      defer { peer = nil }
      let report = try await Self.fuzzer("h2").run(against: silent)
      #expect(try Self.failure(report).kind == kind)
      #expect(report.pdus == 3)
    }
  }

  /// What a flood adds to the transcript is limited, and what is left out counted.
  @Test func aFloodIsNotKept() async throws {
    let short = Array(repeating: [UInt8]([0x1B, 3, 0]), count: 5000)
    let long = Array(repeating: [0x1D, 3, 0] + [UInt8](repeating: 7, count: 500), count: 3000)
    for flood in [short, long] {
      var (isFlooding, hasFlooded) = (false, false)
      let peer = Peer { pdu in
        if pdu.isEmpty { isFlooding = true }
        guard isFlooding else { return Peer.answer(pdu) }
        // Once: the second probe has no answer.
        guard pdu == [0x04, 1, 0, 1, 0], !hasFlooded else { return [] }
        hasFlooded = true
        return flood
      }
      let failure = try Self.failure(try await Self.fuzzer("empty").run(against: peer))
      let received = failure.transcript.cases[0].steps.filter {
        if case .server = $0.action { true } else { false }
      }
      // The last line is the response that did not come.
      #expect(received.count - 1 + failure.omitted == flood.count)
      #expect(received.count <= 4097 && failure.transcript.description.utf8.count < 4 << 20)
      #expect(failure.omitted > 0)
    }
  }

  @Test func aServerThatIsGone() async throws {
    let peer = Peer { $0.isEmpty ? nil : Peer.answer($0) }
    // One link for the first probe, one for the attack.
    peer.linkLimit = 2
    let report = try await Self.fuzzer("empty").run(against: peer)
    #expect(try Self.failure(report).kind == .lost)
  }

  @Test func aServerThatNeverAnswers() async throws {
    let report = try await Self.fuzzer("empty").run(against: Peer { _ in [] })
    #expect(report.outcome == .unresponsive("no response within \(Duration.seconds(2))"))
    #expect(report.pdus == 0)
    let closing = try await Self.fuzzer("empty").run(against: Peer { _ in nil })
    #expect(closing.outcome == .unresponsive("the server closed the link"))
    let absent = Peer()
    absent.linkLimit = 0
    do throws(PeerError) {
      _ = try await Self.fuzzer("empty").run(against: absent)
      Issue.record("a link that cannot be opened is no error")
    } catch {
      #expect(error == .unreachable("nobody listens"))
    }
  }

  @Test func theMTUIsExchangedOnEachLink() async throws {
    var fuzzer = Self.fuzzer("h2", "h15")
    fuzzer.mtu = 185
    var exchanges = 0
    let peer = Peer { pdu in
      if pdu == [0x02, 185, 0] { exchanges += 1 }
      return Peer.answer(pdu)
    }
    #expect(try await fuzzer.run(against: peer).outcome == .survived)
    #expect(exchanges == 2)
  }
}
