#if canImport(Glibc)
  import Glibc
#else
  import Musl
#endif

/// ThermoPro hygrometers (TP35x, TP39x) and meat probes (TP96x, TP97x).
enum ThermoPro {
  static func decode(_ device: SensorDevice) -> SensorAdvertisement? {
    guard let kind = ["TP35", "TP39", "TP96", "TP97"].first(where: { device.name.hasPrefix($0) }),
      let data = device.lastManufacturerData
    else { return nil }
    var result = SensorAdvertisement(
      "ThermoPro", model: device.name.split(separator: " ").first.map(String.init),
      manufacturer: "ThermoPro")
    let isProbe = kind == "TP96" || kind == "TP97"
    switch data.count {
    case 23 where kind == "TP97":
      let probe = "Probe\(Int(data[0]) + 1)"
      for (place, position) in [("Tip", 5), ("Center", 9), ("End", 13)] {
        result.add("temperature", place + probe, celsius(Double(data.float(position)) - 54))
      }
      let ambient = celsius(Double(data.unsigned(1, 2)) - 54)
      result.add("temperature", "Ambient" + probe, ambient.rounded(.towardZero))
      result.add("battery", probe, charge(data.unsigned(3, 2)).rounded(.toNearestOrEven))
    case 7 where isProbe, 13 where isProbe:
      let probe = "Probe\(Int(data[0]) + 1)"
      result.add("temperature", "Internal" + probe, Double(data.unsigned(1, 2) - 30))
      result.add("temperature", "Ambient" + probe, Double(data.unsigned(5, 2) - 30))
      result.add("battery", probe, charge(data.unsigned(3, 2)).rounded(.toNearestOrEven))
    case 6... where !isProbe:
      // Low, half and full.
      if let level = [0: 1.0, 1: 50, 2: 100][data[4] & 3] { result.add("battery", level) }
      guard data.part(1, 3) != [0xFF, 0xFF, 0xFF] else { break }
      result.add("temperature", Double(data.signed(1, 2)) / 10)
      result.add("humidity", Double(data[3]))
    default: result.problem = .malformed
    }
    return result
  }

  /// Degrees Celsius to a tenth.
  private static func celsius(_ fahrenheit: Double) -> Double {
    ((fahrenheit - 32) * 50 / 9).rounded(.toNearestOrEven) / 10
  }

  /// The charge in percent for a voltage in units of the device. The curve was fitted by the authors of
  /// thermopro-ble.
  private static func charge(_ voltage: Int) -> Double {
    let charge = 52.317286 * tanh(Double(voltage) / 273.624277936 - 8.76485439394) + 51.06925
    return (min(max(charge, 0), 100) * 100).rounded(.toNearestOrEven) / 100
  }
}
