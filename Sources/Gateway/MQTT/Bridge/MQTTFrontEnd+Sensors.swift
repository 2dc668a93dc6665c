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
    guard let configuration = sensors[address]?.configuration else { return }
    let found = sensors[address]?.receive(heard)
    // Once each, because anybody can send what does not decode.
    if let problem = sensors[address]?.problem,
      sensors[address]?.logged.insert(problem).inserted ?? false
    {
      log(.warning, "mqtt: \(configuration.name): \(problem)")
    }
    guard let (advertisement, due) = found else { return }
    for reading in due { publish(reading, of: configuration, advertisement, heard) }
  }

  /// Has all readings published and announced again, after the broker has connected.
  func forgetSensors() {
    for address in Array(sensors.keys) { sensors[address]?.forget() }
  }

  private func publish(
    _ reading: SensorReading, of configuration: SensorConfiguration,
    _ advertisement: SensorAdvertisement, _ heard: Heard
  ) {
    let topic = names.value(reading.key, of: configuration.name)
    let address = configuration.address.value
    if let homeAssistant, sensors[address]?.announced.insert(reading.key).inserted ?? false {
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
