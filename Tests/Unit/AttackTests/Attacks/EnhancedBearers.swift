import AttoATT
import AttoGATT
import AttoSimulation
import TestSupport
import Testing

/// Attacks on one of several bearers, which must not reach the others.
@Suite(.sideBySide) struct EnhancedBearers {
  private let application = ScriptedApplication()
  private let server: Server

  /// 0x0003 and 0x0005 are stored, 0x0007 is the application's.
  init() {
    server = Server(
      Database([
        service(
          value([7], .readWrite, [.read, .write, .notify, .indicate]),
          value([8], .readWrite, [.read, .write, .notify, .indicate]), asked())
      ]), application: application)
    application.reads[handles[2]] = .later
  }

  private var handles: [AttributeHandle] { server.database.handles(of: 0x2A00) }

  private func read(_ handle: AttributeHandle) -> String {
    "0a " + hexText([UInt8(truncatingIfNeeded: handle.rawValue), UInt8(handle.rawValue >> 8)])
  }

  // MARK: N14

  @Test("N14 server: a request on a bearer of a client that has announced nothing is served alone")
  func n14Server() {
    let bench = GroupBench(server)
    // The client has written nothing, and the channel is open.
    bench.add()
    #expect(bench.send(1, read(3)) == ["0b 07"])
    // Without bit 2 of its features it gets no Multiple Handle Value Notifications.
    let values: [(handle: AttributeHandle, value: [UInt8])] = [
      (handles[0], [1]), (handles[1], [2]),
    ]
    #expect(bench.group.session(forValuesOf: values.map(\.handle))?.notify(values) != true)
    #expect(bench.sent == [])
    // What belongs to the unenhanced bearer is refused, and changes none.
    #expect(bench.send(1, "02 1700") == ["01 02 00 00 06"])
    #expect(bench.group.all.map { $0.bearer.mtu } == [23, 64])
  }

  @Test("N14 client: what a peer sends on a bearer first is answered on it")
  func n14Client() {
    let bench = GroupBench(mtus: [64])
    #expect(bench.send(1, "0a 0300") == ["01 0a 03 00 01"])
    #expect(bench.send(1, "0b 01") == [])
    #expect(bench.send(1, "02 0502") == ["01 02 00 00 06"])
    let read = bench.start(ReadCharacteristicValue(3))
    #expect(read.result == nil && bench.sent == ["1: 0a 03 00"])
  }

  // MARK: N15

  @Test("N15 server: of a flooded bearer's requests few are held; the others are served")
  func n15Server() {
    let bench = GroupBench(server, mtus: [64, 64])
    let limit = BearerConfiguration().maximumPipelined
    for _ in 0...limit { #expect(bench.send(1, read(handles[2])) == []) }
    #expect(bench.send(2, read(3)) == ["0b 07"] && bench.send(0, read(3)) == ["0b 07"])
    // One more ends that bearer alone.
    bench.send(1, read(handles[2]))
    #expect(bench.group.enhanced.map(\.number) == [2])
    #expect(bench.send(2, read(3)) == ["0b 07"] && bench.send(0, read(3)) == ["0b 07"])
    // The late answer belongs to nobody.
    #expect(
      bench.group.answer(application.questions[0].id, .value([1]), at: bench.now) == nil)
    #expect(bench.sent == [])
  }

  @Test("N15 client: a bearer whose responses nobody reads holds back its peer alone")
  func n15Client() throws {
    let bench = GroupBench(mtus: [64, 64])
    let operation = bench.start(ReadCharacteristicValue(3))
    _ = bench.sent
    let flooded = bench.session(2)
    let indication = octets("1d 0300 01")
    var count = 0
    while !flooded.bearer.isCongested {
      _ = flooded.receive(indication.span.bytes, at: bench.now)
      flooded.confirm()
      count += 1
      try #require(count < 100_000, "it is never congested")
    }
    let isOtherCongested = bench.session(1).bearer.isCongested
    #expect(!isOtherCongested)
    bench.send(1, "0b 07")
    #expect(operation.result == .success([7]))
  }

  // MARK: N17

  @Test("N17 server: a confirmation on another bearer than its indication confirms nothing")
  func n17Server() throws {
    let bench = GroupBench(server, mtus: [64, 64])
    let session = bench.group.session(forValuesOf: 3)
    _ = try session.indicate(3, [1], at: bench.now)
    _ = try session.indicate(3, [2], at: bench.now)
    #expect(bench.sent == ["1: 1d 03 00 01"])
    #expect(bench.send(2, "1e") == [] && bench.send(0, "1e") == [] && bench.sent == [])
    #expect(bench.send(1, "1e") == ["1d 03 00 02"])
  }

  @Test("N17 client: a response on another bearer than its request is ignored, or ends that bearer")
  func n17Client() {
    let bench = GroupBench(mtus: [64, 64])
    let first = bench.start(ReadCharacteristicValue(3))
    // Nothing is in flight there.
    for number in [0, 2] { #expect(bench.send(number, "0b 99") == []) }
    #expect(bench.group.enhanced.count == 2 && first.result == nil)
    // Another request is.
    let write = bench.start(WriteValue(5, value: [1]))
    #expect(bench.sent == ["1: 0a 03 00", "2: 12 05 00 01"])
    bench.send(2, "0b 99")
    #expect(
      write.result?.error
        == .enhancedBearer(.mismatchedResponse(request: .writeRequest, response: .readResponse)))
    #expect(bench.group.enhanced.map(\.number) == [1])
    bench.send(1, "0b 07")
    #expect(first.result == .success([7]))
  }

  // MARK: N18

  @Test("N18 server: a second confirmation of one indication is ignored")
  func n18Server() throws {
    let bench = GroupBench(server, mtus: [64])
    _ = try bench.group.session(forValuesOf: 3).indicate(3, [1], at: bench.now)
    #expect(bench.sent == ["1: 1d 03 00 01"])
    for _ in 0..<3 { #expect(bench.send(1, "1e") == []) }
    #expect(bench.group.enhanced.count == 1 && bench.send(1, read(3)) == ["0b 07"])
  }

  /// As two channels of one request that are mixed up send it.
  @Test("N18 client: a second response, on the same or on another bearer, is ignored")
  func n18Client() {
    let bench = GroupBench(mtus: [64, 64])
    let first = bench.start(ReadCharacteristicValue(3))
    _ = bench.sent
    bench.send(1, "0b 07")
    for number in [1, 2, 0] { bench.send(number, "0b 99") }
    #expect(first.result == .success([7]) && bench.group.enhanced.count == 2)
    let next = bench.start(ReadCharacteristicValue(3))
    #expect(bench.sent == ["1: 0a 03 00"])
    bench.send(1, "0b 08")
    #expect(next.result == .success([8]))
  }

  // MARK: N19

  @Test("N19 server: a PDU that is too long for its bearer, but not for another, is refused")
  func n19Server() {
    let bench = GroupBench(server, mtus: [64, 100])
    let write = "12 0300 " + hexText(1, times: 62)
    #expect(bench.send(1, write) == ["01 12 00 00 04"])
    #expect(server.database.value(of: 3) == [7])
    #expect(bench.send(2, write) == ["13"])
  }

  @Test("N19 client: a response that is too long for its bearer ends that bearer alone")
  func n19Client() {
    let bench = GroupBench(mtus: [64, 100])
    let (first, second) = (
      bench.start(ReadCharacteristicValue(3)), bench.start(ReadCharacteristicValue(5))
    )
    #expect(bench.sent == ["1: 0a 03 00", "2: 0a 05 00"])
    let response = "0b " + hexText(1, times: 64)
    bench.send(1, response)
    guard case .enhancedBearer(.malformedResponse(let pdu))? = first.result?.error else {
      Issue.record("\(String(describing: first.result))")
      return
    }
    #expect(pdu.fault == .longerThanMTU(65, mtu: 64))
    bench.send(2, response)
    #expect(second.result == .success([UInt8](repeating: 1, count: 64)))
  }

  // MARK: N20

  @Test("N20 server: bearers that end while they prepare writes leave one queue, which is limited")
  func n20Server() throws {
    let bench = GroupBench(server)
    var prepared = 0
    // Each bearer ends after its part.
    for offset in 0..<SessionGroup.limit {
      let session = try #require(bench.add())
      let answer = bench.send(Int(session.number), "16 0300 \(hexText([UInt8(offset), 0])) 01")
      if answer.first?.hasPrefix("17") == true { prepared += 1 }
      bench.group.remove(session, at: bench.now)
    }
    #expect(server.preparedByteCount == prepared && prepared > 0)
    #expect(prepared <= server.limits.preparedWritesPerClient)
    #expect(bench.send(0, "18 00") == ["19"])
    #expect(server.preparedByteCount == 0 && server.database.value(of: 3) == [7])
  }

  @Test("N20 client: nothing that an ended bearer has prepared is executed later")
  func n20Client() {
    let bench = GroupBench(mtus: [64])
    let long = bench.start(WriteLongValue(3, value: [UInt8](repeating: 1, count: 100)))
    _ = bench.sent
    bench.send(1, "17 0300 0000 " + hexText(1, times: 59))
    bench.group.remove(bench.session(1), at: bench.now)
    #expect(long.result?.error == .enhancedBearer(.channelEnded))
    // The queue is dropped before anything else is prepared.
    let next = bench.start(WriteLongValue(5, value: [2]))
    #expect(bench.sent == ["0: 18 00"])
    #expect(bench.send(0, "19") == ["16 05 00 00 00 02"])
    #expect(next.result == nil)
  }
}
