import AttoATT
import AttoConformance
import AttoGATT
import AttoSimulation
import TestSupport
import Testing

/// The cases against clients: ours breaks nothing, and what is broken is found.
@Suite(.sideBySide) struct ClientConformanceTests {
  private static func run(
    _ peer: VirtualClients, cases: String = "*"
  ) async throws -> [CaseReport] {
    var conformance = ClientConformance()
    conformance.runsSlow = true
    conformance.isWanted = NamePattern(cases).matches
    var reports: [CaseReport] = []
    try await conformance.run(with: peer) { reports.append($0) }
    return reports
  }

  /// Exchanges, discovers everything, reads, and writes in parts.
  private static func busy() -> VirtualClients {
    VirtualClients { link in
      let session = Session()
      link.session = session
      session.startExchangeMTU(
        RecordedOperation(ExchangeMTU(clientReceiveMTU: 100)), at: .zero)
      session.start(RecordedOperation(DiscoverDatabase()), at: .zero)
      session.start(RecordedOperation(ReadLongValue(0x001E)), at: .zero)
      session.start(
        RecordedOperation(ReliableWrites([LongWrite(0x001E, value: [1, 2, 3])])), at: .zero)
      link.collect()
    }
  }

  @Test func ourClientBreaksNothing() async throws {
    let reports = try await Self.run(Self.busy())
    // It looks up no service by its UUID, and writes one part.
    let idle = ["search/repeated-uuid", "search/value-short", "prepare/refused"]
    for report in reports {
      let word = idle.contains(report.name) ? "not exercised" : "passed"
      #expect(report.word == word, "\(report)")
    }
    #expect(reports.count == ClientConformance().cases.count)
  }

  /// Clients that know no better, each with the case that shows it.
  static let faults: [(String, [[UInt8]], @Sendable ([UInt8]) -> [[UInt8]])] = [
    ("client/plain", [[0x0A, 3, 0], [0x0A, 5, 0]], { _ in [] }),
    ("client/plain", [[0x0A, 3]], { _ in [] }),
    ("client/plain", [[0x04, 0, 0, 0xFF, 0xFF]], { _ in [] }),
    ("client/plain", [[0x1E]], { _ in [] }),
    (
      "mtu/23", [[0x02, 100, 0]], { $0[0] == 3 ? [[0x12] + [UInt8](repeating: 0, count: 30)] : [] }
    ),
    ("mtu/refused", [[0x02, 100, 0]], { _ in [[0x02, 100, 0]] }),
    ("indication/unknown", [[0x0A, 3, 0]], { _ in [] }),
    ("request/unknown", [[0x0A, 3, 0]], { _ in [] }),
    (
      "search/standing", [[0x10, 1, 0, 0xFF, 0xFF, 0, 0x28]],
      { _ in [[0x10, 1, 0, 0xFF, 0xFF, 0, 0x28]] }
    ),
    ("client/plain", [[0x3E]], { _ in [] }),
    ("client/plain", [[0x1B, 3, 0, 1]], { _ in [] }),
    ("client/plain", [[0x10, 1, 0, 0xFF, 0xFF, 3, 0x28]], { _ in [] }),
    ("client/plain", [[0x16, 0x1E, 0, 0, 0, 1]], { _ in [] }),
    (
      "client/plain", [[0x16, 0x1E, 0, 0, 0, 1]],
      { $0[0] == 0x17 ? [[0x16, 0x1E, 0, 5, 0, 1]] : [] }
    ),
    // The service at 0x0030 is left out.
    (
      "client/plain", [[0x04, 0x10, 0, 0xFF, 0xFF]],
      { $0[0] == 0x05 ? [[0x04, 0x31, 0, 0xFF, 0xFF]] : [] }
    ),
    ("client/plain", [[0x0A, 0x1E, 0]], { $0[0] == 0x0B ? [[0x0C, 0x1E, 0, 23, 0]] : [] }),
    (
      "prepare/refused", [[0x16, 0x1E, 0, 1, 0, 1]],
      { $0[0] == 0x01 ? [[0x18, 0x01]] : [] }
    ),
    (
      "prepare/echo", [[0x16, 0x18, 0, 0, 0, 1]],
      { $0[0] == 0x17 ? [[0x18, 0x01]] : [] }
    ),
  ]

  @Test(arguments: faults.indices) func faultsAreFound(_ index: Int) async throws {
    let (name, first, reply) = Self.faults[index]
    let peer = VirtualClients { link in
      link.reply = reply
      link.say(first)
    }
    let reports = try await Self.run(peer, cases: name)
    #expect(reports.count == 1)
    #expect(reports[0].isBroken, "\(reports)")
  }

  @Test func aClientThatDoesNothingExercisesNothing() async throws {
    let reports = try await Self.run(VirtualClients { _ in })
    for report in reports { #expect(report.word == "not exercised", "\(report)") }
  }
}
