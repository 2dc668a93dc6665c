extension Govee {
  /// Where the values are. Positions count from the octet after the company.
  enum Layout: Equatable, Sendable {
    /// Occupancy and motion.
    case presence
    /// Temperature and humidity in one number of 3 octets, then the battery.
    case packed(Int)
    /// Temperature, humidity and battery, least significant first.
    case plain(Int)
    /// `packed`, and which of two probes it is.
    case twoProbes
    /// `packed`, and carbon dioxide.
    case carbonDioxide
    /// `packed`, of the device or its remote sensor.
    case remote
    /// Probes 1 and up: each a temperature and an alarm.
    case probes([Int])
    /// Probes 1 and 2 or 3 and 4, perhaps with a second alarm.
    case pairs([Int], hasLow: Bool)
    /// A probe and the air.
    case ambient
    /// Two of six probes.
    case sixProbes
    /// Temperature, humidity and particles in one number.
    case particles

    func add(_ data: Octets, to result: inout SensorAdvertisement) {
      switch self {
      case .presence:
        result.add("occupancy", .state(data[4] == 1))
        result.add("motion", .state(data[5] == 17))
      case .packed(let position): addPacked(data, position, "", &result)
      case .plain(let position):
        result.add("temperature", Double(data.signed(position, 2)) / 100)
        result.add("humidity", Double(data.unsigned(position + 2, 2)) / 100)
        result.add("battery", Double(data[position + 4]))
      case .twoProbes:
        guard let probe = [0x41: "Probe1", 0x82: "Probe2"][data[7]] else { return }
        addPacked(data, 2, probe, hasHumidity: probe == "Probe1", &result)
      case .carbonDioxide:
        guard data[7] == 0, addClimate(data, 2, "", true, &result) else { return }
        result.add("co2", Double(data.unsigned(5, 2, isBig: true)))
      case .remote: addPacked(data, 3, data[2] == 1 ? "Remote" : "", &result, batteryLabel: true)
      case .probes(let positions):
        for (index, position) in positions.enumerated() {
          addProbe(data, position, index + 1, hasLow: false, &result)
        }
      case .pairs(let positions, let hasLow):
        guard 1...2 ~= data[6] & 0x3F else { return }
        for (index, position) in positions.enumerated() {
          addProbe(data, position, Int(data[6] & 0x3F) * 2 - 1 + index, hasLow: hasLow, &result)
        }
      case .ambient:
        addProbe(data, 8, 1, hasLow: false, &result)
        result.add("temperature", Double(data.signed(14, 2, isBig: true)) / 100)
      case .sixProbes: addSixProbes(data, &result)
      case .particles:
        let number = data.unsigned(2, 4, isBig: true)
        let size = number & 0x7FFF_FFFF
        result.add("temperature", Double(size / 1_000_000) / (number == size ? 10 : -10))
        result.add("humidity", Double(size % 1_000_000 / 1000) / 10)
        result.add("pm25", Double(size % 1000))
      }
    }
  }
}

extension Govee.Layout {
  /// Temperature times 10000 plus humidity times 10, with a bit for the sign; then the battery, with a
  /// bit for a faulty sensor.
  private func addPacked(
    _ data: Octets, _ position: Int, _ label: String, hasHumidity: Bool = true,
    _ result: inout SensorAdvertisement, batteryLabel: Bool = false
  ) {
    if data[position + 3] & 0x80 == 0 {
      _ = addClimate(data, position, label, hasHumidity, &result)
    }
    result.add("battery", batteryLabel ? label : "", Double(data[position + 3] & 0x7F))
  }

  private func addClimate(
    _ data: Octets, _ position: Int, _ label: String, _ hasHumidity: Bool,
    _ result: inout SensorAdvertisement
  ) -> Bool {
    let number = data.unsigned(position, 3, isBig: true)
    let size = number & 0x7FFFFF
    let temperature = Double(size / 1000) / (number == size ? 10 : -10)
    guard -40...100 ~= temperature else { return false }
    result.add("temperature", label, temperature)
    if hasHumidity { result.add("humidity", label, Double(size % 1000) / 10) }
    return true
  }

  /// A temperature, the alarm above it, and perhaps the alarm below it. Negative ones are not set.
  private func addProbe(
    _ data: Octets, _ position: Int, _ probe: Int, hasLow: Bool,
    _ result: inout SensorAdvertisement
  ) {
    for (index, label) in ["Probe", "AlarmProbe", "LowAlarmProbe"].prefix(hasLow ? 3 : 2)
      .enumerated()
    {
      let number = data.signed(position + 2 * index, 2, isBig: true)
      if number >= 0 { result.add("temperature", "\(label)\(probe)", Double(number) / 100) }
    }
  }

  private func addSixProbes(_ data: Octets, _ result: inout SensorAdvertisement) {
    let first = Int(data[3] >> 6) * 2
    guard first < 6 else { return }
    for (index, position) in [5, 12].enumerated() where data[3] >> (first + index) & 1 == 1 {
      let probe = first + index + 1
      result.add("temperature", "Probe\(probe)", Double(data.signed(position, 2)))
      let alarms = [("AlarmProbe", position + 4), ("LowAlarmProbe", position + 2)]
      for (label, position) in alarms where data.signed(position, 2) >= 0 {
        result.add("temperature", "\(label)\(probe)", Double(data.signed(position, 2)))
      }
    }
    result.add("battery", Double(data[2] & 0x7F))
  }
}
