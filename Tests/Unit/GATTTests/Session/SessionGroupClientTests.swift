import AttoATT
import AttoGATT
import AttoSimulation
import TestSupport
import Testing

/// Procedures and commands of a client on several bearers.
@Suite(.sideBySide) struct SessionGroupClientTests {
  private func read(_ handle: AttributeHandle) -> ReadCharacteristicValue {
    ReadCharacteristicValue(handle)
  }

  @Test func readsAreSpread() {
    let bench = GroupBench(mtus: [64, 64])
    let reads = (0..<4).map { _ in bench.start(read(3)) }
    #expect(bench.sent == ["0: 0a 03 00", "1: 0a 03 00", "2: 0a 03 00"])
    // The fourth waits on the first bearer, which was as busy as the others.
    #expect(bench.send(1, "0b 01") == ["0a 03 00"])
    bench.send(2, "0b 02")
    bench.send(0, "0b 03")
    bench.send(1, "0b 04")
    #expect(reads.map(\.result) == [[1], [2], [3], [4]].map { .success($0) })
    #expect(bench.group.operationCount == 0)
  }

  @Test func withoutEnhancedBearersEverythingIsOnTheUnenhanced() {
    let bench = GroupBench()
    bench.start(read(3))
    bench.start(WriteValue(3, value: [1]))
    #expect(bench.sent == ["0: 0a 03 00"])
    #expect(bench.send(0, "0b 01") == ["12 03 00 01"])
  }

  /// Writes and reads of one value keep the order of the calls.
  @Test func conflictsStayOnOneBearer() {
    let bench = GroupBench(mtus: [64, 64])
    bench.start(WriteValue(3, value: [1]))
    bench.start(WriteValue(3, value: [2]))
    bench.start(read(3))
    bench.start(read(5))
    #expect(bench.sent == ["1: 12 03 00 01", "2: 0a 05 00"])
    #expect(bench.send(1, "13") == ["12 03 00 02"])
    #expect(bench.send(1, "13") == ["0a 03 00"])
  }

  /// A write that follows reads on several bearers waits until one of them is left, and so does what
  /// follows it.
  @Test func aWriteWaitsForReadsOnSeveralBearers() {
    let bench = GroupBench(mtus: [64, 64])
    bench.start(read(3))
    bench.start(read(3))
    let write = bench.start(WriteValue(3, value: [1]))
    let after = bench.start(read(3))
    bench.start(read(5))
    #expect(bench.sent == ["0: 0a 05 00", "1: 0a 03 00", "2: 0a 03 00"])
    #expect(bench.group.operationCount == 5)
    bench.send(2, "0b 07")
    #expect(bench.send(1, "0b 07") == ["12 03 00 01"])
    #expect(bench.send(1, "13") == ["0a 03 00"])
    #expect(write.result?.error == nil)
    bench.send(1, "0b 01")
    #expect(after.result == .success([1]))
  }

  @Test func oneThatWaitsCanBeCancelled() {
    let bench = GroupBench(mtus: [64])
    bench.start(read(3))
    bench.start(read(3))
    let (write, id) = bench.startWithID(WriteValue(3, value: [1]))
    let (running, other) = bench.startWithID(read(7))
    bench.group.cancel(id, at: bench.now)
    bench.group.cancel(other, at: bench.now)
    #expect(write.result?.error == .cancelled)
    #expect(running.result?.error == .cancelled)
    #expect(bench.group.operationCount == 2)
  }

  @Test func commandsOfOneAttributeStayOnOneBearer() throws {
    let bench = GroupBench(mtus: [64, 64])
    var bearers: [AttributeHandle: Set<UInt8>] = [:]
    for round in 0..<6 {
      for handle in [3, 5] as [AttributeHandle] {
        let session = bench.group.session(forCommandsTo: handle)
        _ = try session.writeWithoutResponse(handle, [UInt8(round)].span.bytes)
        bearers[handle, default: []].insert(session.number)
      }
    }
    #expect(bearers == [3: [1], 5: [2]])
    // A request that follows is not overtaken by them.
    bench.start(WriteValue(5, value: [9]))
    #expect(bench.session(2).bearer.outbox.count == 7)
  }

  @Test func aCommandFollowsARequestToTheSameAttribute() {
    let bench = GroupBench(mtus: [64, 64])
    bench.start(read(9))
    bench.start(WriteValue(3, value: [1]))
    #expect(bench.group.session(forCommandsTo: 3).number == 2)
  }

  /// So that no read or write overtakes a command to one of its values.
  @Test func proceduresOnSeveralValuesFollowCommands() throws {
    let bench = GroupBench(mtus: [64, 64])
    _ = bench.group.session(forCommandsTo: 9)
    let session = bench.group.session(forCommandsTo: 5)
    #expect(session.number == 2)
    bench.start(ReadMultiple([3, 5]))
    #expect(bench.sent == ["2: 0e 03 00 05 00"])
    bench.start(ReliableWrites([LongWrite(4, value: [1]), LongWrite(7, value: [2])]))
    #expect(bench.send(2, "0f 01 02") == ["16 04 00 00 00 01"])
  }

  /// The server may execute a write although it was cancelled, but not after a later one.
  @Test func aWriteWaitsForACancelledOneInFlight() {
    let bench = GroupBench(mtus: [64, 64])
    let (_, first) = bench.startWithID(WriteValue(3, value: [1]))
    let (_, queued) = bench.startWithID(WriteValue(3, value: [2]))
    bench.group.cancel(queued, at: bench.now)
    bench.group.cancel(first, at: bench.now)
    #expect(bench.sent == ["1: 12 03 00 01"])
    bench.start(WriteValue(3, value: [3]))
    bench.start(read(5))
    #expect(bench.sent == ["2: 0a 05 00"])
    #expect(bench.group.session(forCommandsTo: 3).number == 1)
    #expect(bench.send(1, "13") == ["12 03 00 03"])
  }

  /// Nor does it execute the parts of the next long write with those of a cancelled one.
  @Test func aLongWriteWaitsForACancelledExecuteInFlight() {
    let bench = GroupBench(mtus: [64, 64])
    let (_, id) = bench.startWithID(WriteLongValue(3, value: [1]))
    _ = bench.sent
    #expect(bench.send(1, "17 0300 0000 01") == ["18 01"])
    bench.group.cancel(id, at: bench.now)
    bench.start(WriteLongValue(5, value: [2]))
    #expect(bench.sent == [])
    #expect(bench.send(1, "19") == ["16 05 00 00 00 02"])
  }

  /// Rule 14: values that fit ATT_MTU of the unenhanced bearer fit wherever they are sent.
  @Test func smallBearersCarryNoProcedures() {
    let bench = GroupBench(mtus: [64, 200])
    bench.group.main.startExchangeMTU(
      ProcedureOperation(ExchangeMTU(clientReceiveMTU: 100)), at: bench.now)
    #expect(bench.sent == ["0: 02 64 00"])
    bench.send(0, "03 64 00")
    let writes = (1...3).map {
      bench.start(WriteValue(AttributeHandle($0), value: [UInt8](repeating: 1, count: 97)))
    }
    #expect(bench.group.all.map { $0.bearer.outbox.count } == [1, 0, 1])
    bench.send(2, "13")
    bench.send(0, "13")
    bench.send(2, "13")
    #expect(writes.allSatisfy { if case .success? = $0.result { true } else { false } })
  }

  /// After the exchange a bearer may be too small for what fits the unenhanced one.
  @Test func bearersThatHaveBecomeTooSmall() {
    let bench = GroupBench(mtus: [64, 200])
    bench.start(WriteValue(3, value: [1]))
    #expect(bench.group.session(forCommandsTo: 5).number == 1)
    #expect(bench.group.session(forValuesOf: 7).number == 1)
    bench.group.main.startExchangeMTU(
      ProcedureOperation(ExchangeMTU(clientReceiveMTU: 100)), at: bench.now)
    bench.send(0, "03 64 00")
    _ = bench.sent
    #expect(bench.group.session(forCommandsTo: 5).number == 2)
    #expect(bench.group.session(forValuesOf: 7).number == 2)
    // Behind the first write, but not on its bearer.
    bench.start(WriteValue(3, value: [UInt8](repeating: 1, count: 97)))
    #expect(bench.sent == [])
    bench.send(1, "13")
    #expect(bench.session(0).bearer.outbox.count + bench.session(2).bearer.outbox.count == 1)
  }

  @Test func bearersOfThePeerCarryNoProcedures() {
    let bench = GroupBench(mtus: [64, 64], carriesProcedures: false)
    bench.start(read(3))
    #expect(bench.sent == ["0: 0a 03 00"])
    #expect(bench.group.session(forCommandsTo: 3).number == 0)
  }

  @Test func theExchangeIsRefusedOnEnhancedBearers() {
    let bench = GroupBench(mtus: [64])
    #expect(bench.send(1, "02 05 02") == ["01 02 00 00 06"])
    let exchange = RecordedOperation(ExchangeMTU(clientReceiveMTU: 100))
    #expect(bench.session(1).startExchangeMTU(exchange, at: bench.now) == nil)
    #expect(exchange.result?.error == .misuse(.notOnThisBearer))
  }

  // MARK: The Database Hash. Vol 3, Part G, 2.5.2.1.

  /// A request that is pending when the server reads the hash could make a client aware that does
  /// not know the database yet.
  @Test func theHashWaitsForAllPendingRequests() {
    let bench = GroupBench(mtus: [64, 64])
    bench.start(read(3))
    let (_, cancelled) = bench.startWithID(read(5))
    let discovery = bench.start(DiscoverDatabase(readsDatabaseHash: true))
    let after = bench.start(read(7))
    #expect(bench.sent == ["1: 0a 03 00", "2: 0a 05 00"])
    #expect(bench.send(1, "0b 01") == [])
    bench.group.cancel(cancelled, at: bench.now)
    #expect(bench.sent == [])
    bench.send(2, "0b 01")
    #expect(bench.sent == ["1: 08 01 00 ff ff 2a 2b"])
    // Others wait for the hash, and then run beside the discovery.
    bench.start(DiscoverPrimaryServices())
    #expect(bench.sent == [])
    #expect(bench.send(1, "01 08 0100 0a") == ["10 01 00 ff ff 00 28"])
    #expect(bench.sent == ["0: 10 01 00 ff ff 00 28", "2: 0a 07 00"])
    #expect(after.result == nil && discovery.result == nil)
  }

  @Test func theHashAloneWaitsTooAndHoldsUpOthers() {
    let bench = GroupBench(mtus: [64])
    bench.start(read(3))
    bench.start(ReadUsingUUID(.databaseHash, extent: .firstResponse))
    _ = bench.sent
    #expect(bench.send(1, "0b 01") == ["08 01 00 ff ff 2a 2b"])
    bench.start(read(5))
    #expect(bench.sent == [])
    #expect(bench.send(1, "09 12 0700 00112233445566778899aabbccddeeff") == ["0a 05 00"])
  }

  /// Without enhanced bearers the procedures take turns as always.
  @Test func oneBearerNeedsNoWait() {
    let bench = GroupBench(mtus: [64])
    bench.group.remove(bench.session(1), at: bench.now)
    bench.start(read(3))
    bench.start(ReadUsingUUID(.databaseHash, extent: .firstResponse))
    bench.start(read(5))
    #expect(bench.sent == ["0: 0a 03 00"])
    #expect(bench.send(0, "0b 01") == ["08 01 00 ff ff 2a 2b"])
  }

  // MARK: The prepare queue

  @Test func longWritesRunOnOneBearerOneAfterAnother() {
    let bench = GroupBench(mtus: [64, 64])
    let value = [UInt8](repeating: 1, count: 60)
    bench.start(read(9))
    bench.start(WriteLongValue(3, value: value))
    bench.start(WriteLongValue(5, value: [2]))
    bench.start(ReliableWrites([LongWrite(7, value: [3])]))
    _ = bench.sent
    let part = hexText(Array(value[..<59]))
    #expect(bench.send(2, "17 0300 0000 \(part)") == ["16 03 00 3b 00 01"])
    #expect(bench.send(2, "17 0300 3b00 01") == ["18 01"])
    #expect(bench.send(2, "19") == ["16 05 00 00 00 02"])
    #expect(bench.send(2, "17 0500 0000 02") == ["18 01"])
    #expect(bench.send(2, "19") == ["16 07 00 00 00 03"])
  }

  /// What a dead bearer has prepared must not be executed by the next long write.
  @Test func whatADeadBearerHasPreparedIsDropped() {
    let bench = GroupBench(mtus: [64])
    let first = bench.start(WriteLongValue(3, value: [1]))
    #expect(bench.sent == ["1: 16 03 00 00 00 01"])
    bench.group.remove(bench.session(1), at: bench.now)
    let next = bench.start(WriteLongValue(5, value: [2]))
    #expect(first.result?.error == .enhancedBearer(.channelEnded))
    #expect(bench.sent == ["0: 18 00"])
    #expect(bench.send(0, "19") == ["16 05 00 00 00 02"])
    #expect(next.result == nil)
  }

  @Test func theQueueIsDroppedHoweverManyWait() {
    let bench = GroupBench(mtus: [64])
    bench.start(WriteLongValue(3, value: [1]))
    for _ in 0...256 { bench.group.main.start(RecordedOperation(read(5)), at: bench.now) }
    bench.group.remove(bench.session(1), at: bench.now)
    for _ in 0..<256 { #expect(bench.send(0, "0b 01").last == "0a 05 00") }
    #expect(bench.send(0, "0b 01") == ["18 00"])
  }

  /// So it is if an operation that ends with its bearer starts another one at once.
  @Test(arguments: [true, false]) func theQueueIsDroppedBeforeWhatFollowsAtOnce(_ isClosed: Bool) {
    final class Repeated: ProcedureOperation<WriteLongValue> {
      var group: SessionGroup?
      override func finish(_ result: Result<Void, ProcedureError>) {
        renew(WriteLongValue(5, value: [2]))
        group?.start(self, at: .zero)
        group = nil
      }
    }
    let bench = GroupBench(mtus: [64, 64])
    let operation = Repeated(WriteLongValue(3, value: [1]))
    operation.group = bench.group
    bench.group.start(operation, at: bench.now)
    #expect(bench.sent == ["1: 16 03 00 00 00 01"])
    if isClosed { bench.group.remove(bench.session(1), at: bench.now) } else { bench.send(1, "13") }
    #expect(bench.sent == ["0: 18 00"])
    #expect(bench.send(0, "19") == ["16 05 00 00 00 02"])
  }

  /// A cancelled Execute Write may have been lost with its bearer.
  @Test func theQueueIsDroppedAfterACancelledExecute() {
    let bench = GroupBench(mtus: [64])
    let (_, id) = bench.startWithID(WriteLongValue(3, value: [1]))
    _ = bench.sent
    bench.send(1, "17 0300 0000 01")
    bench.group.cancel(id, at: bench.now)
    bench.group.remove(bench.session(1), at: bench.now)
    #expect(bench.sent == ["0: 18 00"])
  }

  // MARK: The end of a bearer

  @Test func aTimeoutEndsOneBearer() {
    let bench = GroupBench(mtus: [64, 64])
    let lost = bench.start(read(3))
    bench.now = bench.now + .seconds(20)
    let other = bench.start(read(5))
    bench.now = bench.now + .seconds(11)
    let dead = bench.session(1)
    #expect(dead.advance(to: bench.now) == .failed(.transactionTimeout(.readRequest)))
    bench.group.remove(dead, at: bench.now)
    #expect(lost.result?.error == .enhancedBearer(.transactionTimeout(.readRequest)))
    bench.send(2, "0b 01")
    #expect(other.result == .success([1]))
    bench.start(read(7))
    #expect(bench.sent == ["2: 0a 07 00"])
    #expect(bench.group.enhanced.map(\.number) == [2])
  }

  @Test func aViolationEndsOneBearer() {
    let bench = GroupBench(mtus: [64])
    let broken = bench.start(read(3))
    let other = bench.start(read(5))
    bench.send(1, "13")
    #expect(
      broken.result?.error
        == .enhancedBearer(
          .mismatchedResponse(request: .readRequest, response: .writeResponse)))
    bench.send(0, "0b 01")
    #expect(other.result == .success([1]))
  }

  /// An operation that ends with its bearer may be repeated at once.
  @Test func whatIsStartedWhenABearerFailsRunsOnAnother() {
    final class Repeated: ProcedureOperation<ReadCharacteristicValue> {
      var group: SessionGroup?
      var failures = 0
      override func finish(_ result: Result<[UInt8], ProcedureError>) {
        guard case .failure = result else { return }
        failures += 1
        renew(ReadCharacteristicValue(3))
        group?.start(self, at: .zero)
      }
    }
    let bench = GroupBench(mtus: [64, 64])
    let operation = Repeated(read(3))
    operation.group = bench.group
    bench.group.start(operation, at: bench.now)
    bench.start(read(5))
    bench.start(read(7))
    _ = bench.sent
    bench.send(1, "13")
    #expect(operation.failures == 1)
    operation.group = nil
    #expect(bench.send(2, "0b 01") == ["0a 03 00"])
  }

  /// One that waits for operations on two bearers goes on when one of them ends.
  @Test func theEndOfABearerReleasesOnesThatWait() {
    let bench = GroupBench(mtus: [64])
    bench.start(read(3))
    bench.start(read(3))
    bench.start(WriteValue(3, value: [1]))
    _ = bench.sent
    bench.group.remove(bench.session(1), at: bench.now)
    #expect(bench.send(0, "0b 01") == ["12 03 00 01"])
  }

  @Test func theEndOfTheLinkEndsEverything() {
    let bench = GroupBench(mtus: [64])
    let reads = [bench.start(read(3)), bench.start(read(3))]
    let write = bench.start(WriteValue(3, value: [1]))
    bench.group.linkEnded()
    #expect(reads[0].result?.error == .enhancedBearer(.linkEnded))
    #expect(reads[1].result?.error == .bearer(.linkEnded))
    #expect(write.result?.error == .bearer(.linkEnded))
    #expect(bench.group.enhanced.isEmpty)
  }

  /// Numbers are not used twice, so a peer cannot open bearers without end.
  @Test func bearersOfAConnectionAreLimited() {
    let bench = GroupBench()
    for number in 1...SessionGroup.limit {
      let session = bench.add()
      #expect(session.map { Int($0.number) } == number)
      if let session { bench.group.remove(session, at: bench.now) }
    }
    #expect(bench.add() == nil)
  }
}

extension Result {
  fileprivate var error: Failure? { if case .failure(let error) = self { error } else { nil } }
}
