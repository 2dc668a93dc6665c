/// Inkbird thermometers and hygrometers that advertise their values.
enum Inkbird {
  static func decode(_ device: SensorDevice) -> SensorAdvertisement? {
    guard let data = device.lastManufacturerData else { return nil }
    if device.isNamed("iBBQ") || device.isNamed("xBBQ") { return probes(data) }
    let name = device.name.lowercased()
    switch (names[name] ?? name, data.count) {
    case ("IBS-TH", 9), ("IBS-TH2", 9): return small(names[name], data)
    case ("ITH-11-B", 18), ("ITH-13-B", 18), ("ITH-21-B", 18), ("IBS-P02B", 18):
      return large(names[name], data)
    case (_, 18)
    where data.unsigned(0, 2) == 0x2449 && device.hasService(0xFFF0)
      && data.part(15).allSatisfy { $0 == 0 }:
      return large(nil, data)
    case ("IAM-T2", 17),
      (_, 17) where data.part(0, 4) == [0x54, 0x32, 0x00, 0x62]:
      return air(data)
    default: return nil
    }
  }

  private static let names = [
    "sps": "IBS-TH", "tps": "IBS-TH2", "ibs-p02b": "IBS-P02B", "ith-11-b": "ITH-11-B",
    "ith-13-b": "ITH-13-B", "ith-21-b": "ITH-21-B", "ink@iam-t2": "IAM-T2",
  ]

  private static func result(_ model: String?) -> SensorAdvertisement {
    SensorAdvertisement("Inkbird", model: model, manufacturer: "Inkbird")
  }

  /// Temperature and humidity in hundredths, where the company would be, and the battery.
  private static func small(_ model: String?, _ data: Octets) -> SensorAdvertisement {
    var result = result(model)
    let humidity = data.unsigned(2, 2)
    // IBS-P01B has the name of IBS-TH2, and no humidity.
    let hasHumidity = model == "IBS-TH" || humidity != 0 && humidity != 0xFFFF
    guard data[7] <= 100, !hasHumidity || humidity <= 10_000 else {
      result.problem = .malformed
      return result
    }
    result.add("temperature", Double(data.signed(0, 2)) / 100)
    if hasHumidity { result.add("humidity", Double(humidity) / 100) }
    result.add("battery", Double(data[7]))
    return result
  }

  /// Temperature and humidity in tenths, and the battery.
  private static func large(_ model: String?, _ data: Octets) -> SensorAdvertisement {
    var result = result(model)
    let humidity = data.unsigned(8, 2)
    guard data[10] <= 100, humidity <= 1000 else {
      result.problem = .malformed
      return result
    }
    result.add("temperature", Double(data.signed(6, 2)) / 10)
    if humidity != 0 { result.add("humidity", Double(humidity) / 10) }
    result.add("battery", Double(data[10]))
    return result
  }

  /// Temperature, in the unit of the display, humidity and carbon dioxide.
  private static func air(_ data: Octets) -> SensorAdvertisement {
    var result = result("IAM-T2")
    let tenths = data.signed(10, 2, isBig: true)
    let humidity = data.unsigned(12, 2, isBig: true)
    guard humidity <= 1000 else {
      result.problem = .malformed
      return result
    }
    let isFahrenheit = data[9] & 2 != 0
    result.add("temperature", isFahrenheit ? Double((tenths - 320) * 5) / 90 : Double(tenths) / 10)
    result.add("humidity", Double(humidity) / 10)
    result.add("co2", Double(data.unsigned(14, 2, isBig: true)))
    return result
  }

  /// One, two, four or six probes; -1 is a probe that is not there.
  private static func probes(_ data: Octets) -> SensorAdvertisement? {
    guard let count = [12: 1, 14: 2, 18: 4, 22: 6][data.count] else { return nil }
    var result = result("iBBQ-\(count)")
    for probe in 0..<count {
      let tenths = data.signed(10 + 2 * probe, 2)
      if tenths != -1 { result.add("temperature", "Probe\(probe + 1)", Double(tenths) / 10) }
    }
    return result
  }
}
