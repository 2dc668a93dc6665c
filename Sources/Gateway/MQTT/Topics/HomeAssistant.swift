import Atto
import AttoATT
import AttoGateway
import AttoText

/// Discovery messages of Home Assistant: one retained message for each decoded field that it has a
/// class for, and one for the connection of each device.
///
/// The topics are `homeassistant/sensor/ID/OBJECT/config` and `homeassistant/binary_sensor/...`, where ID
/// is `atto_` and the device's name, with the fleet's or gateway's name before it.
struct HomeAssistant: Sendable {
  let prefix: String
  let names: TopicNames
  /// The fleet's or the gateway's name.
  let owner: String
  let gateway: String
  /// In a fleet a device is available when the device's topic says so, whichever gateway lives.
  let isFleet: Bool
  /// The address of the status page.
  var page: String?

  /// A sensor that Home Assistant knows.
  struct Sensor {
    var uuid: UInt16
    var field: String
    var name: String
    /// `device_class`; nil: none fits.
    var kind: String?
    var unit: String?
    /// The factor and the subtrahend for values in the other unit that the format allows.
    var other: (minus: String, times: String)?

    /// The template for the value.
    var template: String {
      let value = "value_json.decoded.\(field)"
      guard let other, let unit else { return "{{ \(value) }}" }
      return "{{ \(value) if value_json.units.\(field) == '\(unit)' else "
        + "((\(value) - \(other.minus)) * \(other.times)) | round(2) }}"
    }

    init(
      _ uuid: UInt16, _ field: String, _ name: String, _ kind: String? = nil, _ unit: String?,
      other: (minus: String, times: String)? = nil
    ) {
      (self.uuid, self.field, self.name, self.kind) = (uuid, field, name, kind)
      (self.unit, self.other) = (unit, other)
    }
  }

  /// Fields and their classes; the units are those of `formats.txt`.
  static let sensors: [Sensor] = [
    Sensor(0x2A19, "level", "Battery", "battery", "%"),
    Sensor(0x2A37, "heartRate", "Heart rate", nil, "bpm"),
    Sensor(0x2A6D, "pressure", "Pressure", "pressure", "Pa"),
    Sensor(0x2A6E, "temperature", "Temperature", "temperature", "°C"),
    Sensor(0x2A6F, "humidity", "Humidity", "humidity", "%"),
    Sensor(
      0x2A1C, "temperature", "Temperature", "temperature", "°C",
      other: (minus: "32", times: "0.5556")),
    Sensor(0x2A77, "irradiance", "Irradiance", "irradiance", "W/m²"),
    Sensor(0x2AFB, "illuminance", "Illuminance", "illuminance", "lx"),
    Sensor(0x2A9D, "weight", "Weight", "weight", "kg", other: (minus: "0", times: "0.45359237")),
    Sensor(0x2B18, "voltage", "Voltage", "voltage", "V"),
    Sensor(0x2AEE, "current", "Current", "current", "A"),
    Sensor(0x2B8C, "concentration", "CO₂", "carbon_dioxide", "ppm"),
  ]

  /// What is known of a device.
  struct About: Equatable, Sendable {
    var address: BluetoothAddress?
    /// `manufacturer`, `model`, `sw_version` and `hw_version`, of the service Device Information.
    var information: [(name: String, value: String)] = []

    static func == (a: About, b: About) -> Bool {
      a.address == b.address && a.information.elementsEqual(b.information) { $0 == $1 }
    }
  }

  /// The characteristics of Device Information, and what Home Assistant calls them. Not the serial number, which
  /// devices tend to protect.
  static let information: [(uuid: BluetoothUUID, name: String)] = [
    (0x2A29, "manufacturer"), (0x2A24, "model"), (0x2A26, "sw_version"), (0x2A27, "hw_version"),
  ]
  /// Characters of such a text.
  static let informationLimit = 64

  /// A text of Device Information; nil: it is empty.
  static func text(_ octets: [UInt8]) -> String? {
    let text = String(decoding: octets.prefix { $0 != 0 }, as: UTF8.self).printable
    return text.isEmpty ? nil : String(text.prefix(informationLimit))
  }

  /// A hyphen distinguishes it from the nodes of devices.
  var gatewayNode: String { Self.identifier("atto-gateway_\(gateway)") }

  /// Where Home Assistant says that it has started.
  var birthTopic: String { prefix + "/status" }

  /// Whether a message says that Home Assistant has started. A retained one says nothing of now.
  func isBirth(_ message: BrokerMessage) -> Bool {
    message.topic == birthTopic && message.payload.elementsEqual("online".utf8)
      && !message.isRetained
  }

  /// The level of a device in the topics of its announcements.
  func node(of device: String) -> String { Self.identifier("atto_\(owner)_\(device)") }

  /// The component, the node and the object of an announcement's topic; nil: it is no such topic.
  func parts(ofTopic topic: String) -> (component: Substring, node: Substring, object: Substring)? {
    guard topic.hasPrefix(prefix + "/"), topic.hasSuffix("/config") else { return nil }
    let levels = topic.dropFirst(prefix.count + 1).split(separator: "/")
    return levels.count == 4 ? (levels[0], levels[1], levels[2]) : nil
  }

  /// The level of a device in the topic of an announcement; nil: it is no such topic.
  func node(inTopic topic: String) -> Substring? { parts(ofTopic: topic)?.node }

  /// The messages for a characteristic: as many as it has fields that Home Assistant knows.
  ///
  /// - Parameter period: the time between two reads; after three of them, and at least a minute, without a value
  ///   the sensor is unavailable. Nil: the value is only published when it changes.
  func values(
    _ uuid: BluetoothUUID, _ characteristic: String, of device: String, _ about: About,
    every period: Duration? = nil
  ) -> [Outgoing] {
    Self.sensors.filter { $0.uuid == uuid.short }.map { sensor in
      var fields: [(String, JSON)] = [
        ("name", .string(sensor.name)),
        ("state_topic", .string(names.value(characteristic, of: device))),
        ("value_template", .string(sensor.template)),
        ("state_class", .string("measurement")),
      ]
      if let kind = sensor.kind { fields.append(("device_class", .string(kind))) }
      if let unit = sensor.unit { fields.append(("unit_of_measurement", .string(unit))) }
      if let period {
        let seconds = max(60, 3 * Int(period.components.seconds))
        fields.append(("expire_after", .integer(seconds)))
      }
      let availability = (isFleet ? [] : [gatewayAvailability]) + [availability(of: device)]
      return message(
        "sensor", "\(characteristic)_\(sensor.field)", of: device, about, fields,
        availability: availability)
    }
  }

  var gatewayAvailability: JSON {
    availability(names.status, "{{ value_json.state }}")
  }

  func availability(of device: String) -> JSON {
    availability(
      names.status(of: device),
      "{{ 'online' if value_json.state == 'connected' else 'offline' }}")
  }

  private func availability(_ topic: String, _ template: String) -> JSON {
    .object([("topic", .string(topic)), ("value_template", .string(template))])
  }

  func message(
    _ component: String, _ object: String, of device: String, _ about: About,
    _ fields: [(String, JSON)], availability: [JSON]
  ) -> Outgoing {
    message(
      component, object, node: node(of: device), name: device, about,
      via: isFleet ? nil : gatewayNode, fields, availability: availability)
  }

  func message(
    _ component: String, _ object: String, node: String, name: String, _ about: About,
    via: String?, _ fields: [(String, JSON)], availability: [JSON]
  ) -> Outgoing {
    let id = "\(node)_\(Self.identifier(object))"
    var described: [(name: String, value: JSON)] = [
      ("identifiers", .array([.string(node)])), ("name", .string(name)),
    ]
    described += about.information.map { ($0.name, .string($0.value)) }
    if let page { described.append(("configuration_url", .string(page))) }
    if let via { described.append(("via_device", .string(via))) }
    if let address = about.address {
      described.append(
        ("connections", .array([.array([.string("bluetooth"), .string(address.digits)])])))
    }
    var members: [(name: String, value: JSON)] = [
      ("unique_id", .string(id)),
      // Home Assistant before 2026.11, and from then on.
      ("object_id", .string(id)),
      ("default_entity_id", .string("\(component).\(id.lowercased())")),
    ]
    members += fields.map { (name: $0.0, value: $0.1) }
    if !availability.isEmpty {
      members += [("availability_mode", .string("all")), ("availability", .array(availability))]
    }
    members += [
      ("device", .object(described)),
      ("origin", .object([("name", .string("Atto"))])),
    ]
    return Outgoing(
      topic: "\(prefix)/\(component)/\(node)/\(Self.identifier(object))/config",
      payload: JSON.object(members).octets, retained: true)
  }

  /// Home Assistant allows letters, digits, `_` and `-` in identifiers.
  static func identifier(_ text: String) -> String {
    String(
      text.unicodeScalars.map { scalar -> Character in
        switch scalar {
        case "a"..."z", "A"..."Z", "0"..."9", "_", "-": Character(scalar)
        default: "_"
        }
      })
  }
}
