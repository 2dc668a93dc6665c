import Atto
import AttoTesting
import TestSupport
import Testing

@testable import AttoGateway

@Suite("Questions of devices that pair", .timeLimit(.minutes(5)), .oneByOne) struct PairingTests {
  let clock = TestClock()
  let peer = BluetoothAddress(5, kind: .random)

  @Test func aQuestionEndsAfterItsTime() async throws {
    let gateway = try await TestGateway(TestAir(), loop: clock.loop) { $0.asksPasskeys = true }
    let hub = gateway.hub
    let events = await hub.pairingEvents()
    let asking = Task { await hub.ask(.compare(42), of: peer) }
    guard case .asked(let question)? = await events.next()?.elements.first else {
      Issue.record("no question")
      return
    }
    #expect(question.digits == "000042")
    await clock.advance(by: .seconds(24))
    #expect(await hub.hasQuestion(question.id))
    await clock.advance(by: .seconds(1))
    #expect(await asking.value == nil)
    await #expect(throws: GatewayError.unknownQuestion) { try await hub.answer(question.id, .yes) }
    await gateway.stop()
  }

  @Test func eachQuestionHasOneAnswer() async throws {
    let gateway = try await TestGateway(TestAir()) { $0.asksPasskeys = true }
    let hub = gateway.hub
    let events = await hub.pairingEvents()
    var asking: [(id: String, Task<PairingAnswer?, Never>)] = []
    for _ in 0..<Hub.questionLimit {
      let task = Task { await hub.ask(.enter, of: peer) }
      guard case .asked(let question)? = await events.next()?.elements.first else { return }
      asking.append((question.id, task))
    }
    #expect(Set(asking.map(\.id)).count == Hub.questionLimit)
    #expect(await hub.ask(.enter, of: peer) == nil)
    for (index, (id, task)) in asking.enumerated() {
      await #expect(throws: GatewayError.self) { try await hub.answer(id, .yes) }
      await #expect(throws: GatewayError.unknownQuestion) {
        try await hub.answer(id, of: "another", .passkey(1))
      }
      if index == 0 {
        task.cancel()
        #expect(await task.value == nil)
      } else {
        try await hub.answer(id, .passkey(UInt32(index)))
        #expect(await task.value == .passkey(UInt32(index)))
      }
      await #expect(throws: GatewayError.unknownQuestion) { try await hub.answer(id, .no) }
    }
    await gateway.stop()
  }

  @Test func nobodyIsAskedUnlessConfigured() async throws {
    let gateway = try await TestGateway(TestAir())
    #expect(await gateway.hub.ask(.enter, of: peer) == nil)
    #expect(await gateway.hub.agentCapability == .none)
    await gateway.stop()
  }

  @Test func answersAsText() {
    #expect(PairingAnswer("000001") == .passkey(1))
    #expect(PairingAnswer("999999") == .passkey(999_999))
    for text in ["", "1234567", "-1", "１", "0x1", "Yes", " 1"] {
      #expect(PairingAnswer(text) == nil)
    }
  }
}

extension Hub {
  fileprivate var agentCapability: PairingCapability { GatewayAgent(self).capability }
}
