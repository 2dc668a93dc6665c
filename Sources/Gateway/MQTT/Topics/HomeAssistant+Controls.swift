import AttoGateway
import AttoText

extension HomeAssistant {
  /// The components of controls. A device has no other announcements of these.
  static let controlComponents = ControlConfiguration.Component.allCases.map(\.rawValue)

  /// The message for a control.
  ///
  /// - Parameter isHeld: whether the device has a link all the time. Another one is connected for each command.
  func control(
    _ control: ControlConfiguration, of device: String, isHeld: Bool, _ about: About
  ) -> Outgoing {
    let topic = names.value(control.name, of: device)
    var fields: [(String, JSON)] = [
      ("name", .string(control.friendlyName ?? control.name)),
      ("command_topic", .string(topic + "/set")), ("qos", .integer(1)),
    ]
    if control.hasState {
      fields += [
        ("state_topic", .string(topic)), ("value_template", .string("{{ value_json.value }}")),
      ]
      if control.state == nil { fields.append(("optimistic", .bool(true))) }
    }
    switch control.content {
    case .choices(let choices):
      if control.component == .select {
        fields.append(("options", .array(choices.map { .string($0.name) })))
      }
    case .number(let number):
      fields += [
        ("min", .number(ControlConfiguration.text(number.range.lowerBound))),
        ("max", .number(ControlConfiguration.text(number.range.upperBound))),
        ("step", .number(ControlConfiguration.text(number.step))),
      ]
      if let unit = number.unit { fields.append(("unit_of_measurement", .string(unit))) }
      if let mode = number.mode { fields.append(("mode", .string(mode))) }
    case .text(let range):
      fields += [
        ("min", .integer(range.lowerBound)), ("max", .integer(range.upperBound)),
        // A text may look like an object, or be empty.
        ("command_template", .string("{{ {'value': value} | to_json }}")),
      ]
    }
    let more = [
      ("device_class", control.deviceClass), ("entity_category", control.entityCategory),
      ("icon", control.icon),
    ]
    for case (let name, let value?) in more { fields.append((name, .string(value))) }
    return message(
      control.component.rawValue, control.name, of: device, about, fields,
      availability: (isFleet ? [] : [gatewayAvailability])
        + (isHeld ? [availability(of: device)] : []))
  }
}
