import TestSupport
import AttoATT
import AttoConformance
import AttoFormats
import Testing

/// Peers that never come to an end: each case does, and so does each run.
@Suite(.sideBySide) struct ConformanceLimitTests {
  private static func run(
    _ peer: VirtualServer, cases: String = "none"
  ) async throws -> [CaseReport] {
    var conformance = ServerConformance()
    conformance.isWanted = NamePattern(cases).matches
    var reports: [CaseReport] = []
    try await conformance.run(with: peer) { reports.append($0) }
    return reports
  }

  private static func run(
    _ peer: VirtualClients, cases: String = "client/plain"
  ) async throws -> [CaseReport] {
    var conformance = ClientConformance()
    conformance.isWanted = NamePattern(cases).matches
    var reports: [CaseReport] = []
    try await conformance.run(with: peer) { reports.append($0) }
    return reports
  }

  private static func bench() throws -> VirtualServer {
    try VirtualServer(Fixtures.profile("transcripts/bench.json"))
  }

  private static func happened(_ report: CaseReport?) -> String {
    if case .broken(let finding) = report?.outcome { finding.happened } else { "" }
  }

  // MARK: Servers

  @Test func linksThatCannotBeOpened() async throws {
    let peer = try Self.bench()
    peer.linkLimit = 1
    let reports = try await Self.run(peer, cases: "*")
    #expect(
      reports.filter { $0.word != "skipped" }.map(\.word)
        == ["passed", "unreachable", "unreachable", "unreachable"])
    #expect(reports.count < ServerConformance().cases.count)
    // One that was never there is told of once.
    let absent = try Self.bench()
    absent.linkLimit = 0
    #expect(try await Self.run(absent, cases: "*").map(\.word) == ["unreachable"])
  }

  /// Its controller or a bridge still opens links.
  @Test(arguments: [false, true]) func aServerThatDies(_ endsLinks: Bool) async throws {
    let peer = try Self.bench()
    var isDead = false
    peer.fault = { pdu, answers in
      if pdu == [0x0A] { isDead = true }
      return isDead ? (endsLinks ? nil : []) : answers
    }
    let reports = try await Self.run(peer, cases: "form/*")
    let names = ServerConformance().cases.map(\.name)
    let next = try #require(names.firstIndex(of: "form/read")) + 1
    #expect(reports.last?.name == names[next])
    #expect(
      reports.last?.outcome == .unreachable("the server has answered nothing since form/read"))
    #expect(reports.filter { $0.word == "broken" }.map(\.name) == ["form/read"])
  }

  @Test func aServerThatDiesInTheSurvey() async throws {
    let peer = try Self.bench()
    peer.fault = { _, _ in [] }
    let reports = try await Self.run(peer, cases: "form/*")
    #expect(reports.map(\.word) == ["broken", "unreachable"])
  }

  @Test func aCaseThatTakesTooLong() async throws {
    let peer = try Self.bench()
    var hasSurveyed = false
    peer.fault = { pdu, answers in
      if pdu == [0x0A] { hasSurveyed = true }
      if hasSurveyed { peer.pace = .seconds(41) }
      return answers
    }
    let reports = try await Self.run(peer, cases: "form/*")
    let slow = reports.filter { Self.happened($0).contains("did not end within 120") }
    #expect(!slow.isEmpty, "\(reports)")
    for report in slow { #expect(report.duration < .seconds(120 + 42)) }
  }

  @Test func aSurveyThatTakesTooLong() async throws {
    let peer = try Self.bench()
    peer.pace = .seconds(100)
    let reports = try await Self.run(peer)
    #expect(reports.map(\.name) == ["survey/database"])
    #expect(Self.happened(reports[0]).contains("did not end within 900"), "\(reports)")
    #expect(reports[0].exchange.count == 18)
  }

  /// A database of one entry for each handle, told one by one.
  @Test func aSearchWithoutEnd() async throws {
    let peer = try Self.bench()
    var searches = 0
    peer.fault = { pdu, answers in
      guard pdu.first == 0x04 else { return answers }
      searches += 1
      return [[0x05, 1, pdu[1], pdu[2], 0x00, 0x28]]
    }
    let reports = try await Self.run(peer)
    #expect(reports.map(\.word) == ["passed"])
    #expect(searches == 65_535)
    // What is kept is less.
    #expect(reports[0].exchange.count == CaseReport.exchangeLimit)
    #expect(reports[0].exchange.first?.octets == [0x04, 1, 0, 0xFF, 0xFF])
  }

  @Test func moreValuesThanAreRead() async throws {
    let peer = try Self.bench()
    peer.fault = { pdu, answers in
      guard pdu.first == 0x08, pdu.suffix(2) == [0x03, 0x28] else { return answers }
      let start = UInt16(pdu[1]) | UInt16(pdu[2]) << 8
      guard start < 1200 else { return [[0x01, 0x08, pdu[1], pdu[2], 0x0A]] }
      return [[0x09, 7, pdu[1], pdu[2], 0x02, pdu[1] | 1, pdu[2], 0x00, 0x2A]]
    }
    let reports = try await Self.run(peer)
    #expect(reports.map(\.word) == ["passed"], "\(reports)")
    #expect(reports[0].exchange.count { !$0.isFromPeer && $0.octets[0] == 0x0A } == 512)
  }

  /// Many values may stand before a response. No rule says how many, so more than are taken break none.
  @Test(arguments: [(20_000, "passed"), (100_000, "skipped")])
  func valuesBeforeAResponse(_ count: Int, _ word: String) async throws {
    let peer = try Self.bench()
    var isFlooding = false
    peer.fault = { pdu, answers in
      if pdu == [0x0A] { isFlooding = true }
      guard isFlooding else { return answers }
      isFlooding = false
      return Array(repeating: [0x1B, 3, 0, 1], count: count) + answers
    }
    let reports = try await Self.run(peer, cases: "form/read")
    let report = try #require(reports.first { $0.name == "form/read" })
    #expect(report.word == word, "\(report.outcome)")
  }

  // MARK: Clients

  @Test func aClientThatGoesInCircles() async throws {
    // A search said eight times may be patience.
    for (times, word) in [(8, "passed"), (9, "broken")] {
      let search: [UInt8] = [0x10, 1, 0, 0xFF, 0xFF, 0, 0x28]
      var said = 1
      let peer = VirtualClients { link in
        link.reply = { _ in
          defer { said += 1 }
          return said < times ? [search] : []
        }
        link.say([search])
      }
      let reports = try await Self.run(peer)
      #expect(reports.map(\.word) == [word], "\(times): \(reports[0].outcome)")
    }
  }

  /// One who reads for ever does nothing wrong; what it has done by then is judged.
  @Test func aClientThatNeverEnds() async throws {
    let peer = VirtualClients { link in
      link.reply = { _ in [[0x0A, 0x16, 0]] }
      link.say([[0x0A, 0x16, 0]])
    }
    let reports = try await Self.run(peer)
    #expect(reports.map(\.word) == ["passed"], "\(reports[0].outcome)")
    #expect(reports[0].duration >= .seconds(120))
    #expect(reports[0].duration < .seconds(121))
  }

  @Test func aClientThatFloods() async throws {
    let peer = VirtualClients { link in
      link.say([[0x0A, 0x16, 0]])
      link.reply = { _ in Array(repeating: [0x52, 0x33, 0, 1], count: 30_000) }
    }
    let reports = try await Self.run(peer)
    #expect(Self.happened(reports[0]).hasPrefix("received 20000 PDUs"), "\(reports[0].outcome)")
    #expect(reports[0].exchange.count == CaseReport.exchangeLimit)
  }

  @Test func octetsThatAreKept() async throws {
    let value = [UInt8](repeating: 7, count: 500)
    let peer = VirtualClients { link in
      link.say([[0x02, 0x05, 0x02]])
      link.reply = { _ in Array(repeating: [0x52, 0x33, 0] + value, count: 4000) }
    }
    let reports = try await Self.run(peer)
    #expect(reports.map(\.word) == ["passed"], "\(reports[0].outcome)")
    let octets = reports[0].exchange.reduce(0) { $0 + $1.octets.count }
    #expect(octets <= CaseReport.octetLimit)
    #expect(octets > CaseReport.octetLimit - 503)
  }
}
