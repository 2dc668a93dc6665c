import Atto
import AttoText

/// Entities for the states of devices and of the gateway itself.
extension HomeAssistant {
  private typealias Fields = [(String, JSON)]

  /// The messages for the state of a device: its connection, its signal strength, and its last error.
  func state(of device: String, _ about: About) -> [Outgoing] {
    let topic = names.status(of: device)
    let entities: [(component: String, object: String, fields: Fields)] = [
      (
        "binary_sensor", "connection",
        [
          ("name", .string("Connection")), ("device_class", .string("connectivity")),
          Self.template("'ON' if value_json.state == 'connected' else 'OFF'"),
        ]
      ),
      (
        "sensor", "rssi",
        [
          ("name", .string("Signal strength")), ("device_class", .string("signal_strength")),
          ("unit_of_measurement", .string("dBm")), ("state_class", .string("measurement")),
          Self.template("value_json.rssi | default(None)"),
        ]
      ),
      (
        "sensor", "error",
        [
          ("name", .string("Last error")), ("icon", .string("mdi:alert-circle-outline")),
          // A state has at most 255 characters.
          Self.template("(value_json.error | default('none'))[:255]"),
        ]
      ),
    ]
    return entities.map { component, object, fields in
      message(
        component, object, of: device, about, Self.diagnostic(topic) + fields,
        availability: isFleet ? [] : [gatewayAvailability])
    }
  }

  /// The messages for the gateway itself, through which its devices are. None in a fleet, whose devices change
  /// gateways.
  var own: [Outgoing] {
    guard !isFleet else { return [] }
    func count(_ name: String, _ key: String, _ icon: String) -> Fields {
      Self.diagnostic(names.state) + [
        ("name", .string(name)), ("state_class", .string("measurement")), ("icon", .string(icon)),
        Self.template("value_json.\(key)"),
      ]
    }
    let connection: Fields = [
      ("name", .string("Connection")), ("device_class", .string("connectivity")),
      Self.template("'ON' if value_json.state == 'online' else 'OFF'"),
    ]
    let started: Fields = [
      ("name", .string("Started")), ("device_class", .string("timestamp")),
      Self.template("value_json.started"),
    ]
    let restart: Fields = [
      ("name", .string("Restart")), ("device_class", .string("restart")),
      ("entity_category", .string("config")), ("command_topic", .string(names.restart)),
      ("payload_press", .string("restart")), ("qos", .integer(1)),
    ]
    let entities: [(component: String, object: String, fields: Fields, isOffline: Bool)] = [
      ("binary_sensor", "connection", Self.diagnostic(names.status) + connection, true),
      ("sensor", "started", Self.diagnostic(names.state) + started, false),
      (
        "sensor", "connections", count("Connections", "connections", "mdi:bluetooth-connect"), false
      ),
      ("sensor", "free", count("Free connections", "free", "mdi:bluetooth"), false),
      ("sensor", "queue", count("Queue", "queue", "mdi:tray-full"), false),
      ("button", "restart", restart, false),
    ]
    let about = About(information: [
      ("manufacturer", "Atto"), ("model", "atto-gateway"), ("sw_version", Version.number),
    ])
    return entities.map { component, object, fields, isOffline in
      message(
        component, object, node: gatewayNode, name: gateway, about, via: nil, fields,
        availability: isOffline ? [] : [gatewayAvailability])
    }
  }

  private static func diagnostic(_ topic: String) -> Fields {
    [("entity_category", .string("diagnostic")), ("state_topic", .string(topic))]
  }

  private static func template(_ expression: String) -> (String, JSON) {
    ("value_template", .string("{{ \(expression) }}"))
  }
}
