import AttoGateway
import AttoText

/// Questions of devices that pair.
extension MQTTFrontEnd {
  /// Publishes what a person has to do. Not retained: a question is over soon.
  func tell(_ event: PairingEvent) {
    var members = event.words.map { (name: $0.name, value: JSON.string($0.value)) }
    if case .asked(let question) = event, let hub {
      members.append(("withinSeconds", .integer(hub.timeLeft(for: question))))
    }
    members += [("time", .string(clock.now().text)), ("via", .string(gateway))]
    publisher?.send(
      Outgoing(topic: names.pairing(event.device), payload: JSON.object(members).octets))
  }
}
