import TestSupport
import AttoATT
import AttoGATT
import AttoSimulation
import Testing

/// Requests that a peer refuses for want of security, with an owner who can raise the link.
@Suite(.sideBySide) struct InsecureTests {
  typealias Bench = SessionClientTests.Bench

  private func bench(_ configuration: BearerConfiguration = BearerConfiguration()) -> Bench {
    let bench = Bench(configuration)
    bench.session.asksForSecurity = true
    return bench
  }

  private func refused(_ code: ErrorCode, _ handle: AttributeHandle = 3) -> ProcedureError {
    .refused(ErrorResponse(request: .readRequest, handle: handle, code: code))
  }

  @Test func withoutAnOwnerWhoRaisesTheRefusalIsTold() {
    let bench = Bench()
    let operation = bench.read(3)
    #expect(bench.receive("01 0a 03 00 0f") == .none)
    #expect(operation.result == .failure(refused(.insufficientEncryption)))
    #expect(bench.sent == ["0a 03 00"])
  }

  @Test(arguments: [0x05, 0x0C, 0x0F] as [UInt8])
  func raisedTheRequestIsRepeated(_ code: UInt8) {
    let bench = bench()
    let operation = bench.read(3)
    let other = bench.read(7)
    let wanted = SessionAction.securityWanted(ErrorCode(code))
    #expect(bench.receive("01 0a 03 00 " + hexText([code])) == wanted)
    #expect(operation.result == nil && bench.session.insecureCount == 1)
    // Others go on meanwhile.
    #expect(bench.sent == ["0a 03 00", "0a 07 00"])
    bench.receive("0b 01")
    #expect(other.result == .success([1]))
    bench.session.securityRaised(at: .zero)
    #expect(bench.sent == ["0a 03 00"])
    bench.receive("0b 02")
    #expect(operation.result == .success([2]))
    #expect(bench.session.operationCount == 0)
  }

  /// Each rise repeats a request once; what is refused again is asked about again.
  @Test func refusedAgainItIsAskedAgain() {
    let bench = bench()
    let operation = bench.read(3)
    bench.receive("01 0a 03 00 05")
    bench.session.securityRaised(at: .zero)
    #expect(bench.receive("01 0a 03 00 05") == .securityWanted(.insufficientAuthentication))
    #expect(bench.sent == ["0a 03 00", "0a 03 00"])
    bench.session.securityNotRaised(at: .zero)
    #expect(operation.result == .failure(refused(.insufficientAuthentication)))
    #expect(bench.sent.isEmpty)
  }

  @Test func otherRefusalsAreTold() {
    let bench = bench()
    let operation = bench.read(3)
    #expect(bench.receive("01 0a 03 00 08") == .none)
    #expect(operation.result == .failure(refused(.insufficientAuthorization)))
  }

  /// A refusal that was on its way when the link rose says nothing of the link as it is.
  @Test func aRefusalFromBeforeTheRiseIsRepeatedUnasked() {
    let bench = bench()
    let operation = bench.read(3)
    bench.session.securityRaised(at: .zero)
    #expect(bench.receive("01 0a 03 00 05") == .none)
    #expect(bench.sent == ["0a 03 00", "0a 03 00"])
    bench.receive("0b")
    #expect(operation.result == .success([]))
  }

  /// As many wait as may, the one that is kept among them: it is repeated all the same.
  @Test(arguments: [false, true]) func repeatedInAFullQueue(_ risesBefore: Bool) {
    let bench = bench(BearerConfiguration(maximumWaiting: 2))
    let operation = bench.read(3)
    let others = [bench.read(5), bench.read(7)]
    if risesBefore { bench.session.securityRaised(at: .zero) }
    bench.receive("01 0a 03 00 05")
    let last = bench.read(9)
    #expect(last.result == .failure(.misuse(.tooManyProcedures(limit: 2))))
    if !risesBefore { bench.session.securityRaised(at: .zero) }
    for _ in 0..<3 { bench.receive("0b 01") }
    #expect(operation.result == .success([1]))
    for other in others { #expect(other.result == .success([1])) }
    #expect(bench.session.operationCount == 0)
  }

  /// In the middle of a long read.
  @Test func aLongReadGoesOnWhereItWas() throws {
    let bench = bench()
    let operation = RecordedOperation(ReadLongValue(3))
    bench.session.start(operation, at: .zero)
    let full = [UInt8](0..<22)
    bench.receive("0b " + hexText(full))
    #expect(bench.receive("01 0c 03 00 0f") == .securityWanted(.insufficientEncryption))
    bench.session.securityRaised(at: .zero)
    #expect(bench.sent == ["0a 03 00", "0c 03 00 16 00", "0c 03 00 16 00"])
    bench.receive("0d 16")
    #expect(try operation.result?.get() == full + [22])
  }

  /// In the middle of prepared writes, which are not begun anew.
  @Test func preparedWritesGoOnWhereTheyWere() throws {
    let bench = bench()
    let value = [UInt8](0..<20)
    let operation = RecordedOperation(WriteLongValue(3, value: value))
    bench.session.start(operation, at: .zero)
    bench.receive("17 03 00 00 00 " + hexText(Array(value[..<18])))
    #expect(bench.receive("01 16 03 00 05") == .securityWanted(.insufficientAuthentication))
    bench.session.securityRaised(at: .zero)
    #expect(bench.sent.suffix(2) == ["16 03 00 12 00 12 13", "16 03 00 12 00 12 13"])
    bench.receive("17 03 00 12 00 12 13")
    #expect(bench.sent == ["18 01"])
    bench.receive("19")
    guard case .success = operation.result else {
      Issue.record("\(String(describing: operation.result))")
      return
    }
  }

  @Test func preparedWritesThatMayNotGoOnAreCleared() {
    let bench = bench()
    let operation = RecordedOperation(WriteLongValue(3, value: [UInt8](0..<20)))
    bench.session.start(operation, at: .zero)
    bench.receive("01 16 03 00 05")
    bench.session.securityNotRaised(at: .zero)
    #expect(bench.sent.last == "18 00")
    bench.receive("19")
    guard case .failure(.refused(let response)) = operation.result else {
      Issue.record("\(String(describing: operation.result))")
      return
    }
    #expect(response.code == .insufficientAuthentication)
  }

  @Test func cancelledWhileItWaits() {
    let bench = bench()
    let operation = SessionClientTests.ReadOperation(ReadCharacteristicValue(3))
    let id = bench.session.start(operation, at: .zero)
    bench.receive("01 0a 03 00 05")
    bench.session.cancel(id, at: .zero)
    #expect(operation.result == .failure(.cancelled))
    #expect(bench.session.insecureCount == 0)
    bench.session.securityRaised(at: .zero)
    #expect(bench.sent == ["0a 03 00"])
    // One that has filled the queue clears it at once, and not when the link has risen.
    let write = RecordedOperation(WriteLongValue(3, value: [UInt8](0..<20)))
    let writeID = bench.session.start(write, at: .zero)
    bench.receive("01 16 03 00 05")
    _ = bench.sent
    bench.session.cancel(writeID, at: .zero)
    #expect(bench.sent == ["18 00"])
    bench.receive("19")
    guard case .failure(.cancelled) = write.result else {
      Issue.record("\(String(describing: write.result))")
      return
    }
  }

  @Test func theEndOfTheLinkEndsThoseThatWait() {
    let bench = bench()
    let operation = bench.read(3)
    bench.receive("01 0a 03 00 05")
    bench.session.linkEnded()
    #expect(operation.result == .failure(.bearer(.linkEnded)))
    bench.session.securityRaised(at: .zero)
    bench.session.securityNotRaised(at: .zero)
    #expect(bench.sent.isEmpty)
  }

  /// Many at once: all are repeated, in their order.
  @Test func allThatWaitAreRepeated() {
    let bench = bench()
    let operations = (1...20).map { bench.read(AttributeHandle($0)) }
    for number in 1...20 { bench.receive("01 0a \(hexText([UInt8(number)])) 00 05") }
    #expect(bench.session.insecureCount == 20)
    _ = bench.sent
    bench.session.securityRaised(at: .zero)
    for number in 1...20 { bench.receive("0b " + hexText([UInt8(number)])) }
    #expect(bench.sent == (1...20).map { "0a \(hexText([UInt8($0)])) 00" })
    for (index, operation) in operations.enumerated() {
      #expect(operation.result == .success([UInt8(index + 1)]))
    }
  }
}
