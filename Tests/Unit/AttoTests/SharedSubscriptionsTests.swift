import AttoATT
import AttoEventLoop
import AttoGATT
import TestSupport
import Testing

@testable import Atto

/// Users of one link, and a peer that answers when the test says so.
@Suite(.timeLimit(.minutes(5)), .oneByOne) struct SharedSubscriptionsTests {
  typealias Shared = SharedSubscriptions<Int>

  struct Bench {
    let peer: RawPeer
    let connection: Connection
    let shared: Shared

    init() async throws {
      peer = try RawPeer()
      connection = try await peer.connect()
      shared = Shared(on: connection.loop, connection)
    }

    func set(
      _ wanted: ClientCharacteristicConfiguration, _ user: Int, isRepeated: Bool = false
    ) -> Task<Result<Void, AttoError>, Never> {
      Task {
        do throws(AttoError) {
          try await shared.set(wanted, of: 3, at: 4, for: user, isRepeated: isRepeated)
          return .success(())
        } catch {
          return .failure(error)
        }
      }
    }

    /// The write of this configuration, which is not answered.
    func expectWrite(_ value: UInt8, _ location: SourceLocation = #_sourceLocation) async {
      await peer.expect([0x12, 4, 0, value, 0], location)
    }

    func accept() { peer.send([0x13]) }
    func refuse() { peer.send([0x01, 0x12, 4, 0, 0x80]) }

    /// Sets what a user wants, and accepts the write of the union.
    func write(
      _ wanted: ClientCharacteristicConfiguration, _ user: Int, as union: UInt8,
      _ location: SourceLocation = #_sourceLocation
    ) async throws {
      let call = set(wanted, user)
      await expectWrite(union, location)
      accept()
      try await call.value.get()
    }

    /// Nothing is sent before this request and its response.
    func expectNothing(_ location: SourceLocation = #_sourceLocation) async throws {
      let read = Task { try await connection.readOnce(9) }
      await peer.expect([0x0A, 9, 0], location)
      peer.send([0x0B])
      _ = try await read.value
    }

    /// Returns when what this user wants is noted.
    func noted(_ wanted: ClientCharacteristicConfiguration?, _ user: Int) async throws {
      try await until { await shared.wanted(of: 3)[user] == wanted }
    }
  }

  static let refusal = AttoError.refused(
    ErrorResponse(request: .writeRequest, handle: 4, code: ErrorCode(rawValue: 0x80)))

  @Test func union() async throws {
    try await withDeadline {
      let bench = try await Bench()
      try await bench.write(.notification, 1, as: 1)
      // The peer knows.
      try await bench.set(.notification, 2).value.get()
      try await bench.expectNothing()
      try await bench.write(.indication, 3, as: 3)
      try await bench.set([], 1).value.get()
      try await bench.expectNothing()
      try await bench.write([], 2, as: 2)
      let left = await bench.shared.leave(3)
      await bench.expectWrite(0)
      bench.accept()
      await left.value
      #expect(await bench.shared.configuration(of: 3) == nil)
      // One that never came.
      try await bench.set([], 4).value.get()
      try await bench.expectNothing()
    }
  }

  /// Three changes during a write are one write after it.
  @Test func changesDuringAWrite() async throws {
    try await withDeadline {
      let bench = try await Bench()
      let first = bench.set(.notification, 1)
      await bench.expectWrite(1)
      let second = bench.set(.indication, 2)
      try await bench.noted(.indication, 2)
      let end = bench.set([], 1)
      try await bench.noted([], 1)
      bench.accept()
      try await first.value.get()
      await bench.expectWrite(2)
      bench.accept()
      try await second.value.get()
      try await end.value.get()
      #expect(await bench.shared.wanted(of: 3) == [2: .indication])
      try await bench.expectNothing()
    }
  }

  /// One user ends while another begins: the peer keeps sending, whatever the order.
  @Test func lastOneLeavesAsAnotherComes() async throws {
    try await withDeadline {
      let bench = try await Bench()
      try await bench.write(.notification, 1, as: 1)
      let left = await bench.shared.leave(1)
      await bench.expectWrite(0)
      let second = bench.set(.notification, 2)
      try await bench.noted(.notification, 2)
      bench.accept()
      await bench.expectWrite(1)
      bench.accept()
      try await second.value.get()
      await left.value
      try await bench.expectNothing()
    }
  }

  @Test func refusals() async throws {
    try await withDeadline {
      let bench = try await Bench()
      try await bench.write(.notification, 1, as: 1)
      let second = bench.set(.indication, 2)
      await bench.expectWrite(3)
      bench.refuse()
      #expect(await second.value.failure == Self.refusal)
      #expect(await bench.shared.wanted(of: 3) == [1: .notification])
      // The end is refused: the peer goes on.
      let end = bench.set([], 1)
      await bench.expectWrite(0)
      bench.refuse()
      #expect(await end.value.failure == Self.refusal)
      #expect(await bench.shared.wanted(of: 3) == [1: .notification])
      try await bench.expectNothing()
    }
  }

  /// The one that waited for a refused write asks for itself.
  @Test func refusalConcernsWhoAsked() async throws {
    try await withDeadline {
      let bench = try await Bench()
      let first = bench.set(.notification, 1)
      await bench.expectWrite(1)
      let second = bench.set(.notification, 2)
      try await bench.noted(.notification, 2)
      bench.refuse()
      #expect(await first.value.failure == Self.refusal)
      await bench.expectWrite(1)
      bench.accept()
      try await second.value.get()
      #expect(await bench.shared.wanted(of: 3) == [2: .notification])
    }
  }

  /// A user that has left during its write does not come back by the failure of the write.
  @Test func leavingDuringARefusedWrite() async throws {
    try await withDeadline {
      let bench = try await Bench()
      let first = bench.set(.notification, 1)
      await bench.expectWrite(1)
      let left = await bench.shared.leave(1)
      bench.refuse()
      #expect(await first.value.failure == Self.refusal)
      await left.value
      #expect(await bench.shared.configuration(of: 3) == nil)
      try await bench.expectNothing()
    }
  }

  /// From a task of the loop, whose write may end before anybody waits for its end.
  @Test func answeredAtOnce() async throws {
    try await withDeadline {
      let bench = try await Bench()
      let (shared, loop) = (bench.shared, bench.connection.loop)
      try await Task(executorPreference: loop.tasks) {
        for _ in 0..<1000 {
          try await shared.set(.notification, of: 3, at: 4, for: 1) {
            (_, _, _) throws(AttoError) in
          }
          try await shared.set([], of: 3, at: 4, for: 1) { (_, _, _) throws(AttoError) in }
        }
      }.value
    }
  }

  /// It does not wait, and the peer is told in the end.
  @Test func cancellation() async throws {
    try await withDeadline {
      let bench = try await Bench()
      let first = bench.set(.notification, 1)
      await bench.expectWrite(1)
      first.cancel()
      #expect(await first.value.failure == .cancelled)
      #expect(await bench.shared.wanted(of: 3).isEmpty)
      bench.accept()
      await bench.expectWrite(0)
      bench.accept()
      try await until { await bench.shared.configuration(of: 3) == nil }
      try await bench.expectNothing()
    }
  }

  /// A command that is interrupted as it subscribes stays until the peer is told.
  @Test func leavingAfterACancellation() async throws {
    try await withDeadline {
      let bench = try await Bench()
      let first = bench.set(.notification, 1)
      await bench.expectWrite(1)
      first.cancel()
      #expect(await first.value.failure == .cancelled)
      let left = await bench.shared.leave(1)
      let isTold = Task {
        await left.value
        return await bench.shared.configuration(of: 3) == nil
      }
      bench.accept()
      await bench.expectWrite(0)
      bench.accept()
      #expect(await isTold.value)
      try await bench.expectNothing()
    }
  }

  @Test func repeated() async throws {
    try await withDeadline {
      let bench = try await Bench()
      for wanted in [.notification, .notification, [], []] as [ClientCharacteristicConfiguration] {
        let call = bench.set(wanted, 1, isRepeated: true)
        await bench.expectWrite(UInt8(wanted.rawValue))
        bench.accept()
        try await call.value.get()
      }
      #expect(await bench.shared.configuration(of: 3) == nil)
    }
  }

  /// The next link is told again; without a link what users want is only noted.
  @Test func links() async throws {
    try await withDeadline {
      let bench = try await Bench()
      let first = bench.set(.notification, 1)
      await bench.expectWrite(1)
      bench.peer.close()
      guard case .failure = await first.value else {
        Issue.record("the link has ended")
        return
      }
      #expect(await bench.shared.wanted(of: 3).isEmpty)
      await bench.shared.end()
      try await bench.set(.indication, 1).value.get()
      try await bench.shared.set(.notification, of: 7, at: 8, for: 2)
      try await bench.shared.set(.notification, of: 5, at: 6, for: 2)

      let peer = try RawPeer()
      await bench.shared.begin(try await peer.connect(loop: bench.connection.loop))
      let refused = Task {
        await bench.shared.repeatAll().map { "\($0.value) \($0.response.code.rawValue)" }
      }
      await peer.expect([0x12, 4, 0, 2, 0])
      peer.send([0x13])
      await peer.expect([0x12, 6, 0, 1, 0])
      peer.send([0x01, 0x12, 6, 0, 0x01])
      await peer.expect([0x12, 8, 0, 1, 0])
      peer.send([0x13])
      #expect(await refused.value == ["0x0005 1"])
      #expect(await bench.shared.wanted(of: 5).isEmpty)
      await bench.shared.end(forgetting: true)
      #expect(await bench.shared.wanted(of: 3).isEmpty)
    }
  }

  /// Users come, go, change and give up at random, and the peer refuses at random. In the end it has been
  /// told the union of what the users want.
  @Test(arguments: 0..<20) func random(_ number: UInt64) async throws {
    let seed = testSeed() &+ number
    try await withDeadline("seed \(seed)") {
      let bench = try await Bench()
      let told = Log<UInt8>()
      let answering = Task {
        var generator = SplitMix64(seed: seed)
        while case let request = await bench.peer.receive(), request.count == 5 {
          if UInt8.random(in: 0..<4, using: &generator) == 0 {
            bench.refuse()
          } else {
            told.append(request[3])
            bench.accept()
          }
        }
      }
      await withTaskGroup { group in
        for user in 0..<6 {
          group.addTask {
            var generator = SplitMix64(seed: seed &+ UInt64(user + 1) &* 1_000_003)
            for _ in 0..<20 {
              switch UInt8.random(in: 0..<8, using: &generator) {
              case 0: await bench.shared.leave(user)
              case 1:
                let call = bench.set(.notification, user)
                await Task.yield()
                call.cancel()
                _ = await call.value
              case let number:
                let wanted = ClientCharacteristicConfiguration(rawValue: UInt16(number & 3))
                _ = await bench.set(wanted, user).value
              }
            }
          }
        }
      }
      // Nothing is under way behind this: it is written after all others.
      var last: Result<Void, AttoError>
      repeat {
        last = await bench.set(.notification, 99, isRepeated: true).value
      } while last.failure != nil
      let union = await bench.shared.wanted(of: 3).values
        .reduce(into: ClientCharacteristicConfiguration()) { $0.formUnion($1) }
      #expect(told.all.last == UInt8(union.rawValue), "seed \(seed)")
      bench.connection.close()
      await answering.value
    }
  }
}

extension SharedSubscriptions {
  /// On the loop.
  fileprivate func wanted(
    of value: AttributeHandle
  ) -> [User: ClientCharacteristicConfiguration] { users(of: value) }
}

extension Result {
  fileprivate var failure: Failure? {
    if case .failure(let error) = self { error } else { nil }
  }
}
