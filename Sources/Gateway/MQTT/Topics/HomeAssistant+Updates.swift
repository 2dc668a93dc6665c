import AttoText

extension HomeAssistant {
  /// The message for the firmware of a device: what it runs, and the image that it can be updated with.
  func firmware(of device: String, file: String, _ about: About) -> Outgoing {
    // Home Assistant refuses what is no text, and other keys.
    let template = """
      {% set now = value_json.state in ['waiting', 'connecting', 'uploading', 'starting'] %}\
      {% set has = {'in_progress': now, 'update_percentage': value_json.percent if now else none} %}\
      {% if value_json.version is defined %}\
      {% set has = dict(has, latest_version=value_json.version) %}{% endif %}\
      {% if value_json.installed is defined %}\
      {% set has = dict(has, installed_version=value_json.installed) %}{% endif %}{{ has | tojson }}
      """
    return message(
      "update", "firmware", of: device, about,
      [
        ("name", .string("Firmware")), ("device_class", .string("firmware")),
        ("state_topic", .string(names.progress(of: device))),
        ("value_template", .string(template)),
        ("command_topic", .string(names.value("update", of: device))),
        ("payload_install", .string(file)), ("qos", .integer(1)),
      ],
      // Not that of the device, which restarts meanwhile.
      availability: [gatewayAvailability])
  }
}
