import AttoGateway
import AttoSensors
import AttoText

extension HomeAssistant {
  /// The message for a reading of a sensor that only advertises.
  func reading(
    _ reading: SensorReading, on topic: String, of sensor: SensorConfiguration,
    _ advertisement: SensorAdvertisement
  ) -> Outgoing {
    let kind = reading.kind
    var fields: [(String, JSON)] = [
      ("name", .string(reading.name)), ("state_topic", .string(topic)),
    ]
    if let deviceClass = kind.deviceClass { fields.append(("device_class", .string(deviceClass))) }
    let component: String
    switch kind.content {
    case .event:
      component = "event"
      fields.append(("event_types", .array(kind.eventTypes.map { .string($0) })))
    case .state:
      component = "binary_sensor"
      fields.append(("value_template", .string("{{ 'ON' if value_json.value else 'OFF' }}")))
    case .number, .total, .text:
      component = "sensor"
      let filter = kind.deviceClass == "timestamp" ? " | as_datetime" : ""
      fields.append(("value_template", .string("{{ value_json.value\(filter) }}")))
      if let unit = kind.unit { fields.append(("unit_of_measurement", .string(unit))) }
      if let state = kind.stateClass { fields.append(("state_class", .string(state))) }
      fields.append(("expire_after", .integer(Int(sensor.expiry.components.seconds))))
    }
    var about = About(address: sensor.address)
    if let maker = advertisement.manufacturer { about.information.append(("manufacturer", maker)) }
    about.information.append(("model", advertisement.model ?? advertisement.format))
    return message(
      component, reading.key, of: sensor.name, about, fields,
      availability: isFleet ? [] : [gatewayAvailability])
  }
}
