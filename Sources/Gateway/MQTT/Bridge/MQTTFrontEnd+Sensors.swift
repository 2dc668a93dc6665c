import Atto
import AttoGateway
import AttoSensors
import AttoText

/// Sensors that only advertise: each reading is a retained value of its own topic, because a device may
/// send its readings one by one.
extension MQTTFrontEnd {
  /// Publishes what a sensor says.
  func heardSensor(_ heard: Heard) {
    let address = heard.discovery.address.value
    guard var session = sensors[address] else { return }
    let problem = session.problem
    let found = session.receive(heard)
    if session.problem != problem, let problem = session.problem {
      log(.warning, "mqtt: \(session.configuration.name): \(problem)")
    }
    if let (advertisement, due) = found {
      for reading in due { publish(reading, of: &session, advertisement, heard) }
    }
    sensors[address] = session
  }

  /// Has all readings published and announced again, after the broker has connected.
  func forgetSensors() {
    for address in Array(sensors.keys) { sensors[address]?.forget() }
  }

  private func publish(
    _ reading: SensorReading, of session: inout SensorSession,
    _ advertisement: SensorAdvertisement, _ heard: Heard
  ) {
    let configuration = session.configuration
    let topic = names.value(reading.key, of: configuration.name)
    if let homeAssistant, session.announced.insert(reading.key).inserted {
      publisher?.send(homeAssistant.reading(reading, on: topic, of: configuration, advertisement))
    }
    var members = reading.value.members
    if let unit = reading.kind.unit { members.append(("unit", .string(unit))) }
    if let rssi = heard.discovery.strength { members.append(("rssi", .integer(Int(rssi)))) }
    members += [("time", .string(clock.now().text)), ("via", .string(gateway))]
    publisher?.send(
      Outgoing(
        topic: topic, payload: JSON.object(members).octets,
        retained: reading.kind.content != .event))
  }
}

extension SensorReading.Value {
  fileprivate var members: [(name: String, value: JSON)] {
    switch self {
    case .number(let number):
      [("value", Int64(exactly: number).map { .number("\($0)") } ?? .number("\(number)"))]
    case .state(let isOn): [("value", .bool(isOn))]
    case .text(let text): [("value", .string(text))]
    case .event(let name, let detail):
      [("event_type", .string(name))] + (detail.map { [("detail", .string($0))] } ?? [])
    }
  }
}
