import AttoGateway
import AttoText

extension HomeAssistant {
  /// The level of a device whose presence this gateway publishes, in the topics of its announcement.
  func presenceNode(of device: String) -> String { Self.identifier("atto_\(gateway)_\(device)") }

  /// The message for the presence of a device. Home Assistant 2026.11 takes the state from the topic alone: an
  /// attribute `in_zones` leaves the tracker `unknown`.
  func presence(_ device: PresenceConfiguration) -> Outgoing {
    var about = About()
    if case .address(let address) = device.identity { about.address = address }
    let attributes = """
      {{ {'rssi': value_json.rssi | default(none), 'gateway': value_json.via, \
      'reported': value_json.time} | to_json }}
      """
    return message(
      "device_tracker", "presence", node: presenceNode(of: device.name), name: device.name, about,
      via: isFleet ? nil : gatewayNode,
      [
        ("name", .string("Presence")), ("source_type", .string("bluetooth_le")),
        ("state_topic", .string(names.presence(of: device.name))),
        ("value_template", .string("{{ value_json.state }}")),
        ("json_attributes_topic", .string(names.presence(of: device.name))),
        ("json_attributes_template", .string(attributes)),
      ], availability: [gatewayAvailability])
  }
}
