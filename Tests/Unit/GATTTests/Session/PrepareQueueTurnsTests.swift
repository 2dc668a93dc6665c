import AttoATT
import AttoGATT
import AttoSimulation
import TestSupport
import Testing

/// A client has one prepare queue at a server: operations that fill it take turns.
@Suite(.sideBySide) struct PrepareQueueTurnsTests {
  private let server = Server()
  private let first: AttributeHandle
  private let second: AttributeHandle

  init() throws {
    let layout = try server.add(
      ServiceDefinition(
        0x180D,
        characteristics: [
          CharacteristicDefinition(0x2A37, properties: [.read, .write], value: .stored([])),
          CharacteristicDefinition(
            0x2A38, properties: [.read, .write],
            value: .stored([], ValueLimits(maximumLength: 50))),
        ]))
    first = layout.characteristics[0].valueHandle
    second = layout.characteristics[1].valueHandle
  }

  private func start(_ procedure: WriteLongValue, on pair: Pair) -> (
    RecordedOperation<WriteLongValue>, TransactionID
  ) {
    let operation = RecordedOperation(procedure)
    return (operation, pair.left.session.start(operation, at: pair.now))
  }

  @Test func twoLongWritesAtOnceKeepTheirParts() {
    let pair = Pair(server: server, mtu: 23)
    let long = [UInt8](0..<200)
    let short = [UInt8](repeating: 7, count: 40)
    let (one, _) = start(WriteLongValue(first, value: long), on: pair)
    let (other, _) = start(WriteLongValue(second, value: short), on: pair)
    let (third, _) = start(WriteLongValue(first, value: long + short), on: pair)
    pair.run()
    for operation in [one, other, third] {
      guard case .success? = operation.result else {
        Issue.record("\(String(describing: operation.result))")
        return
      }
    }
    #expect(server.database.value(of: first) == long + short)
    #expect(server.database.value(of: second) == short)
  }

  @Test func oneThatFailsCostsTheOtherNothing() {
    let pair = Pair(server: server, mtu: 23)
    let long = [UInt8](0..<200)
    let (failing, _) = start(
      WriteLongValue(second, value: [UInt8](repeating: 1, count: 60)), on: pair)
    let (other, _) = start(WriteLongValue(first, value: long), on: pair)
    pair.run()
    guard case .failure(.refused(let error))? = failing.result else {
      Issue.record("\(String(describing: failing.result))")
      return
    }
    #expect(error.code == .invalidAttributeValueLength)
    guard case .success? = other.result else {
      Issue.record("\(String(describing: other.result))")
      return
    }
    #expect(server.database.value(of: first) == long)
    #expect(server.database.value(of: second) == [])
  }

  @Test func oneThatIsCancelledInTheMiddleClearsTheQueueForTheNext() {
    let pair = Pair(server: server, mtu: 23)
    let (cancelled, id) = start(
      WriteLongValue(first, value: [UInt8](repeating: 1, count: 100)), on: pair)
    let (waiting, waitingID) = start(WriteLongValue(first, value: [9]), on: pair)
    let (next, _) = start(WriteLongValue(second, value: [1, 2, 3]), on: pair)
    for _ in 0..<4 { _ = pair.step() }
    pair.left.session.cancel(id, at: pair.now)
    pair.left.session.cancel(waitingID, at: pair.now)
    pair.run()
    for operation in [cancelled, waiting] {
      guard case .failure(.cancelled)? = operation.result else {
        Issue.record("\(String(describing: operation.result))")
        return
      }
    }
    guard case .success? = next.result else {
      Issue.record("\(String(describing: next.result))")
      return
    }
    #expect(server.database.value(of: first) == [])
    #expect(server.database.value(of: second) == [1, 2, 3])
  }

  @Test func otherOperationsDoNotWait() {
    let pair = Pair(server: server, mtu: 23)
    let (long, _) = start(WriteLongValue(first, value: [UInt8](0..<200)), on: pair)
    let read = RecordedOperation(ReadCharacteristicValue(second))
    pair.left.session.start(read, at: pair.now)
    while read.result == nil, pair.step() {}
    #expect(long.result == nil)
  }

  @Test func theLinksEndTellsThoseThatWait() {
    let pair = Pair(server: server, mtu: 23)
    let (one, _) = start(WriteLongValue(first, value: [UInt8](0..<200)), on: pair)
    let (other, _) = start(WriteLongValue(second, value: [1]), on: pair)
    for _ in 0..<3 { _ = pair.step() }
    pair.disconnect()
    for operation in [one, other] {
      guard case .failure(.bearer(.linkEnded))? = operation.result else {
        Issue.record("\(String(describing: operation.result))")
        return
      }
    }
  }
}
