import AttoText

extension GatewayStatus {
  /// A page of the devices on the air that the configuration does not have, each with the line to add. Browsers do
  /// not reload it by themselves, so that people can copy from it.
  static func page(_ name: String, heard: [HeardDevice]) -> String {
    let rows = heard.map { device in
      Row(
        kind: "heard",
        cells: [
          device.name ?? "-", device.vendor ?? "-", device.format ?? "-",
          device.rssi.map { "\($0)" } ?? "-", device.address.description, "\(device.adapter)",
        ], more: device.hint)
    }
    let left =
      heard.count == Hub.unconfiguredLimit
      ? "<p>The list has the \(heard.count) devices with the strongest signals.</p>" : ""
    return page(
      name, "In range of ", refreshes: false,
      """
      <p>These devices are not in the configuration. To use a device, add its line to the list in the configuration
      file, and reload the gateway.</p>
      \(table(["NAME", "VENDOR", "FORMAT OR SERVICES", "RSSI", "ADDRESS", "ADAPTER"], rows))
      \(left)
      <p><a href="/heard">Reload</a> · <a href="/">Status</a></p>
      """)
  }
}

extension HeardDevice {
  /// What to add to the configuration, as markup.
  fileprivate var hint: String {
    guard let proposal else {
      return isConnectable
        ? "Its address changes, and it has no name that identifies it."
        : "It accepts no connections, and the gateway does not know the format of its data."
    }
    let broker = proposal.key == "sensors" ? ", which needs <b>mqtt</b>" : ""
    let secret = needsKey ? ", with its key as <b>bindKey</b>" : ""
    return "Add to <b>\(proposal.key)</b>\(broker)\(secret):"
      + "<pre>\(proposal.element.escapedForMarkup)</pre>"
  }
}
