import TestSupport
import AttoATT
import AttoConformance
import AttoFormats
import Testing

/// The cases against servers: our own breaks nothing, and what is broken is found.
@Suite(.sideBySide) struct ServerConformanceTests {
  static let profiles = [
    "heart-rate.json", "edges.json", "uart.json", "reference-820.json", "transcripts/bench.json",
    "transcripts/tiny.json", "transcripts/large-1.json", "transcripts/large-2.json",
    "transcripts/large-3.json", "transcripts/formats.json", "transcripts/precedence.json",
  ]

  private static func run(
    _ peer: VirtualServer, profile: Profile? = nil, cases: String = "*", writes: Bool = true
  ) async throws -> [CaseReport] {
    var conformance = ServerConformance()
    conformance.allowsWrites = writes
    conformance.profile = try profile?.layout()
    conformance.isWanted = NamePattern(cases).matches
    var reports: [CaseReport] = []
    try await conformance.run(with: peer) { reports.append($0) }
    return reports
  }

  @Test(arguments: profiles) func ourServerBreaksNothing(_ name: String) async throws {
    let profile = try Fixtures.profile(name)
    let reports = try await Self.run(VirtualServer(profile), profile: profile)
    // Nobody plays the behaviours of values here, so that promised values do not come.
    for report in reports where report.name != "notify/values" {
      #expect(!report.isBroken, "\(report)")
    }
    #expect(reports.count == ServerConformance().cases.count)
    #expect(reports.count { $0.outcome == .passed } > 25)
  }

  @Test func nothingIsWrittenUnlessAllowed() async throws {
    let peer = try VirtualServer(Fixtures.profile("transcripts/bench.json"))
    var writes: [[UInt8]] = []
    peer.fault = { [server = peer.server] pdu, answers in
      guard pdu.count > 3, [0x12, 0x16, 0x52, 0xD2].contains(pdu[0]) else { return answers }
      let handle = AttributeHandle(UInt16(pdu[1]) | UInt16(pdu[2]) << 8)
      // Too short a PDU and a handle of nothing write nothing.
      let isWhole = pdu[0] == 0x16 ? pdu.count >= 5 : pdu[0] == 0xD2 ? pdu.count >= 15 : true
      if isWhole, server.database.type(of: handle) != nil { writes.append(pdu) }
      return answers
    }
    let reports = try await Self.run(peer, writes: false)
    #expect(writes == [])
    #expect(reports.contains { $0.name == "write/same" && $0.word == "skipped" })
  }

  // MARK: Enhanced bearers

  private static func bearers(
    _ profile: String = "transcripts/bench.json", _ prepare: (VirtualServer) -> Void
  ) async throws -> [CaseReport] {
    let peer = try VirtualServer(Fixtures.profile(profile))
    prepare(peer)
    return try await run(peer, cases: "bearers/*").filter { $0.name.hasPrefix("bearers/") }
  }

  @Test func ourEnhancedBearersBreakNothing() async throws {
    let reports = try await Self.bearers { $0.bearerLimit = 5 }
    #expect(reports.count == 8)
    for report in reports { #expect(report.outcome == .passed, "\(report)") }
    let two = try await Self.bearers { $0.bearerLimit = 1 }
    let skipped = CaseReport.Outcome.skipped("the peer accepts 1 of 2 enhanced bearers")
    #expect(two.count { $0.outcome == skipped } == 4)
    #expect(two.count { $0.outcome == .passed } == 4)
  }

  @Test func withoutEnhancedBearersTheirCasesDoNotApply() async throws {
    let reports = try await Self.bearers { _ in }
    let reason =
      "the server does not offer enhanced bearers: bit 0 of Server Supported Features is not set"
    for report in reports { #expect(report.outcome == .skipped(reason)) }
  }

  /// What belongs to the client is that of one bearer.
  @Test func aServerOfBearersInsteadOfClientsIsFound() async throws {
    let reports = try await Self.bearers {
      $0.bearerLimit = 5
      $0.hasClientsByBearer = true
    }
    #expect(
      reports.filter(\.isBroken).map(\.name) == [
        "bearers/configuration", "bearers/prepare", "bearers/cancel", "bearers/fallback",
      ])
  }

  @Test func anExchangeOnAnEnhancedBearerIsFound() async throws {
    let reports = try await Self.bearers {
      $0.bearerLimit = 5
      $0.fault = { pdu, answers in pdu == [0x02, 0x40, 0] ? [[0x03, 0x40, 0]] : answers }
    }
    #expect(reports.filter(\.isBroken).map(\.name) == ["bearers/mtu"])
  }

  // MARK: Faults

  struct Fault: Sendable, CustomTestStringConvertible {
    let name: String
    let found: String
    let change: @Sendable ([UInt8], [[UInt8]]) -> [[UInt8]]?
    var testDescription: String { name }
  }

  static let faults: [Fault] = [
    Fault(name: "malformed requests are not answered", found: "form/read") { pdu, answers in
      answers.first?.last == 0x04 && answers.first?.first == 0x01 ? [] : answers
    },
    Fault(name: "unknown requests are not answered", found: "form/unknown-request") {
      pdu, answers in pdu.first == 0x3F ? [] : answers
    },
    Fault(name: "commands are answered", found: "form/unknown-command") { pdu, answers in
      pdu.first == 0x7F ? [[0x01, 0x7F, 0, 0, 6]] : answers
    },
    Fault(name: "permissions are not enforced", found: "permission/read") { pdu, answers in
      pdu.first == 0x0A && answers.first?.first == 0x01 && answers[0][4] == 0x02
        ? [[0x0B, 0x01]] : answers
    },
    Fault(name: "a malformed request ends the link", found: "form/write") { pdu, answers in
      pdu == [0x12, 1] ? nil : answers
    },
    Fault(name: "Read Multiple Variable beyond ATT_MTU", found: "read/multiple-variable-cut") {
      pdu, answers in
      pdu.first == 0x20 && answers.first?.first == 0x21 && pdu.count > 20
        ? [answers[0] + [1, 2, 3, 4]] : answers
    },
    Fault(name: "a second exchange is not answered", found: "mtu/repeated") { pdu, answers in
      pdu == [0x02, 0x17, 0x00] ? [] : answers
    },
    Fault(name: "wrong errors", found: "read/unknown-handle") { pdu, answers in
      pdu.first == 0x0A && answers.first?.last == 0x01
        ? [Array(answers[0].dropLast()) + [0x0A]] : answers
    },
    Fault(name: "handles 0 in errors", found: "range/read-by-type") { pdu, answers in
      pdu.first == 0x08 && answers.first?.starts(with: [0x01]) == true && answers[0][4] == 1
        ? [[0x01, 0x08, 0xFF, 0xFF, 0x01]] : answers
    },
    Fault(name: "groups by anything", found: "search/group-type") { pdu, answers in
      answers.first?.last == 0x10 && answers[0][0] == 1 ? [[0x01, 0x10, 1, 0, 0x0A]] : answers
    },
    Fault(name: "an empty queue cannot be executed", found: "queue/empty") { pdu, answers in
      pdu == [0x18, 0x01] ? [[0x01, 0x18, 0, 0, 0x0E]] : answers
    },
    Fault(name: "echoes differ", found: "queue/echo") { pdu, answers in
      pdu.first == 0x16 && answers.first?.first == 0x17
        ? [Array(answers[0].dropLast()) + [0x99]] : answers
    },
    Fault(name: "offsets are ignored", found: "queue/offset") { pdu, answers in
      pdu.first == 0x18 && answers.first == [0x19] ? [[0x01, 0x18, 0, 0, 0x07]] : answers
    },
    Fault(name: "many matches overflow", found: "search/many-matches") { pdu, answers in
      pdu.first == 0x06 && answers.first?.first == 0x07 ? [answers[0] + [1]] : answers
    },
    Fault(name: "features can be taken back", found: "gatt/features") { pdu, answers in
      answers.first?.first == 0x01 && answers[0][4] == 0x13 ? [[0x13]] : answers
    },
    Fault(name: "two exchanges kill", found: "mtu/twice-at-once") { pdu, answers in
      pdu == [0x02, 0x40, 0x00] ? nil : answers
    },
    Fault(name: "the hash the wrong way round", found: "gatt/database-hash") { pdu, answers in
      guard pdu.first == 0x08, pdu.suffix(2) == [0x2A, 0x2B], let answer = answers.first else {
        return answers
      }
      return [Array(answer.prefix(4)) + answer.dropFirst(4).reversed()]
    },
    Fault(name: "responses are answered", found: "form/unasked") { pdu, answers in
      pdu == [0x1E] ? [[0x0B]] : answers
    },
    Fault(name: "answers out of order", found: "order/pipelined") { pdu, answers in
      // The read is kept back until the search is answered.
      pdu == [0x04, 1, 0, 0xFF, 0xFF] ? answers + [[0x0B, 0x00]] : answers
    },
  ]

  @Test(arguments: faults) func faultsAreFound(_ fault: Fault) async throws {
    let peer = try VirtualServer(Fixtures.profile("transcripts/bench.json"))
    var isSurveying = true
    peer.fault = { pdu, answers in
      if isSurveying { return answers }
      // A slow read shows as one that is missing.
      if fault.found == "order/pipelined", pdu.first == 0x0A { return [] }
      return fault.change(pdu, answers)
    }
    var conformance = ServerConformance()
    conformance.allowsWrites = true
    conformance.isWanted = { $0 == fault.found }
    var reports: [CaseReport] = []
    try await conformance.run(with: peer) {
      isSurveying = false
      reports.append($0)
    }
    let report = try #require(reports.last)
    #expect(report.name == fault.found)
    #expect(report.isBroken, "\(report)")
    #expect(!report.exchange.isEmpty)
    if case .broken(let finding) = report.outcome { #expect(finding.section != nil) }
  }

  /// The specification binds only the client to one exchange.
  @Test(arguments: ["edges.json", "transcripts/bench.json"])
  func aSecondExchangeMayShrink(_ profile: String) async throws {
    let peer = try VirtualServer(Fixtures.profile(profile))
    var hasShrunk = false
    peer.fault = { pdu, answers in
      if pdu.first == 0x02 { hasShrunk = pdu == [0x02, 0x17, 0x00] }
      return hasShrunk ? answers.map { Array($0.prefix(23)) } : answers
    }
    let reports = try await Self.run(peer, cases: "mtu/repeated")
    #expect(reports.last?.outcome == .passed, "\(reports)")
  }

  /// It agrees on 100 octets and goes on with 23. The first values that fill a response at the default
  /// ATT_MTU are no longer than that: they must not be taken for the one that shows it.
  @Test(arguments: ["edges.json", "transcripts/bench.json"])
  func anExchangeThatIsNotUsedIsFound(_ profile: String) async throws {
    let peer = try VirtualServer(Fixtures.profile(profile))
    peer.fault = { _, answers in answers.map { Array($0.prefix(23)) } }
    let reports = try await Self.run(peer, cases: "mtu/used")
    #expect(reports.last?.isBroken == true, "\(reports)")
    peer.fault = { _, answers in answers }
    #expect(try await Self.run(peer, cases: "mtu/used").last?.outcome == .passed)
  }

  /// As BTstack does (Attribute Not Long). The first part is then executed alone, rightly.
  @Test func aPartThatIsRefusedAtOnceBreaksNothing() async throws {
    let peer = try VirtualServer(Fixtures.profile("transcripts/bench.json"))
    peer.fault = { pdu, answers in
      pdu.first == 0x16 && pdu[3...4] == [0xFF, 0x01]
        ? [[0x01, 0x16, pdu[1], pdu[2], 0x0B]] : answers
    }
    let report = try #require(try await Self.run(peer, cases: "queue/all-or-nothing").last)
    guard case .skipped(let reason) = report.outcome else {
      Issue.record("\(report)")
      return
    }
    #expect(reason.contains("when it is prepared"))
  }

  /// The finding names the PDU that is wrong.
  @Test func anExecutionThatIsRefusedIsShown() async throws {
    let peer = try VirtualServer(Fixtures.profile("transcripts/bench.json"))
    peer.fault = { pdu, answers in
      pdu == [0x18, 0x01] ? [[0x01, 0x18, 0, 0, 0x07]] : answers
    }
    let report = try #require(try await Self.run(peer, cases: "queue/offset").last)
    guard case .broken(let finding) = report.outcome else {
      Issue.record("\(report)")
      return
    }
    #expect(finding.got == [0x01, 0x18, 0, 0, 0x07])
    #expect(finding.happened.contains("Execute Write was answered"))
  }

  /// It answers every write, and stores nothing.
  @Test func aServerThatStoresNothingIsFound() async throws {
    let peer = try VirtualServer(Fixtures.profile("transcripts/bench.json"))
    var first: [[UInt8]: [[UInt8]]] = [:]
    peer.fault = { pdu, answers in
      guard pdu.first == 0x0A else { return answers }
      let stored = first[pdu] ?? answers
      first[pdu] = stored
      return stored
    }
    let report = try #require(try await Self.run(peer, cases: "write/stored").last)
    #expect(report.isBroken, "\(report)")
  }

  /// One prepare queue for all clients: each Execute Write writes the parts of all.
  @Test func aSharedQueueIsFound() async throws {
    let peer = try VirtualServer(Fixtures.profile("transcripts/bench.json"))
    var parts: [[UInt8]: [UInt8]] = [:]
    var values: [[UInt8]: [UInt8]] = [:]
    peer.fault = { pdu, answers in
      let handle = Array(pdu.dropFirst().prefix(2))
      switch pdu.first {
      case 0x16: parts[handle] = Array(pdu.dropFirst(5))
      case 0x18: values.merge(parts) { $1 }
      case 0x12: values[handle] = Array(pdu.dropFirst(3))
      case 0x0A: if let value = values[handle] { return [[0x0B] + value] }
      default: break
      }
      return answers
    }
    let report = try #require(try await Self.run(peer, cases: "queue/clients").last)
    guard case .broken(let finding) = report.outcome else {
      Issue.record("\(report)")
      return
    }
    #expect(finding.happened.contains("another client has written"))
  }

  /// A server for one client only is not accused.
  @Test func aServerForOneClientIsNotAccused() async throws {
    let peer = try VirtualServer(Fixtures.profile("transcripts/bench.json"))
    // One for the survey.
    peer.linkLimit = 2
    let report = try #require(try await Self.run(peer, cases: "queue/clients").last)
    #expect(
      report.outcome
        == .skipped(
          "there is one client at a time: the server serves no other, or the kernel has one link to "
            + "it"))
  }

  /// Nothing is known of a server whose survey failed: not even which handles it does not have.
  @Test func afterAFailedSurveyNoHandleCountsAsUnknown() async throws {
    let peer = try VirtualServer(Fixtures.profile("transcripts/bench.json"))
    peer.fault = { pdu, answers in pdu.first == 0x04 ? [[0x01, 0x04, 1, 0, 0x80]] : answers }
    let reports = try await Self.run(peer, cases: "*unknown*")
    #expect(reports.first?.isBroken == true, "\(reports)")
    for report in reports.dropFirst() {
      #expect(!report.isBroken, "\(report)")
      for pdu in report.exchange where !pdu.isFromPeer && [0x12, 0x16].contains(pdu.octets.first) {
        #expect(pdu.octets[1...2] == [0, 0], "\(report)")
      }
    }
  }

  @Test func aServerThatDiesDoesNotEndTheRun() async throws {
    let peer = try VirtualServer(Fixtures.profile("transcripts/bench.json"))
    peer.fault = { pdu, answers in pdu == [0x0A] || pdu == [0x3F] ? nil : answers }
    let reports = try await Self.run(peer)
    let broken = reports.filter(\.isBroken).map(\.name)
    #expect(broken == ["form/read", "form/unknown-request"])
    #expect(reports.count == ServerConformance().cases.count)
  }
}
