import AttoGateway

/// Questions of devices that pair. The protocol's pairing has no passkeys, so a question is an event of Home
/// Assistant, and an action answers it.
extension ESPHomeClient {
  /// Home Assistant takes events with names that begin with `esphome.`.
  static let pairingEvent = "esphome.atto_pairing"
  static let answerAction = ActionReport.action(
    name: "answer_pairing", key: answerKey, arguments: ["question", "answer"],
    description: "Answers a device that pairs: with the digits that it shows, yes or no")
  private static let answerKey: UInt32 = 1

  func carryOut(_ request: ActionRequest) {
    switch request {
    case .subscribe:
      wantsEvents = true
      let open = server.here { $0.hub }?.here { $0.openQuestions } ?? []
      for question in open { tell(.asked(question)) }
    case .execute(let key, let arguments, let call):
      let error = answer(key, arguments)
      if !error.isEmpty { server.log(.warning, "\(label): \(error)") }
      // Others do not wait for a result.
      if call != 0 { send(ActionReport.result(call: call, error: error)) }
    }
  }

  /// - Returns: the error, or an empty text.
  private func answer(_ key: UInt32, _ arguments: [String]) -> String {
    guard key == Self.answerKey, arguments.count == 2 else { return "no such action" }
    guard let answer = PairingAnswer(arguments[1]) else {
      return "answer: expected one to six digits, yes or no"
    }
    guard let hub = server.here({ $0.hub }) else { return "the gateway stops" }
    return hub.here { hub in
      do throws(GatewayError) {
        try hub.answer(arguments[0], answer)
        return ""
      } catch { return "\(error)" }
    }
  }

  func tell(_ event: PairingEvent) {
    guard wantsEvents else { return }
    send(
      ActionReport.event(
        name: Self.pairingEvent, data: [("device", event.device)] + event.words))
  }
}
