/// Xiaomi's scales: two that advertise the data of standard services, and two with MiBeacon.
enum MiScale {
  static func decode(_ device: SensorDevice) -> SensorAdvertisement? {
    if let data = device.serviceData(0x181D), data.count == 10 {
      return scale(
        "Mi Smart Scale", "XMTZC01HM/XMTZC04HM", data.unsigned(1, 2),
        isInPounds: data[0] & 0x01 != 0, isFinal: data[0] & 0xA0 == 0x20, impedance: nil)
    }
    guard let data = device.serviceData(0x181B), data.count == 13 else { return nil }
    return scale(
      "Mi Body Composition Scale", "XMTZC02HM/XMTZC05HM/NUN4049CN", data.unsigned(11, 2),
      isInPounds: data[0] & 0x01 != 0, isFinal: data[1] & 0xA0 == 0x20,
      impedance: data[1] & 0x02 != 0 ? data.unsigned(9, 2) : nil)
  }

  /// A weight in hundredths of a pound or a catty, which is half a kilogram, or in 1/200 kg.
  /// `isFinal`: somebody stands still.
  private static func scale(
    _ format: String, _ model: String, _ weight: Int, isInPounds: Bool, isFinal: Bool,
    impedance: Int?
  ) -> SensorAdvertisement {
    var result = SensorAdvertisement(format, model: model, manufacturer: "Xiaomi")
    let mass = isInPounds ? Double(weight) * 0.0045359237 : Double(weight) / 200
    let isFinal = isFinal && weight > 0
    result.add("massNonStabilized", mass)
    result.add("stabilized", .state(isFinal))
    if isFinal {
      result.add("mass", mass)
      if let impedance { result.add("impedance", Double(impedance)) }
    }
    return result
  }

  /// MiBeacon's models that say with an advertisement without objects that nobody stands on them.
  static let withIdle: Set = ["MJTZC01YM", "MJTZC02YM", "MJTZC03YM"]

  /// Adds an object of a scale; false if it is none.
  static func add(_ type: UInt16, _ data: Octets, to result: inout SensorAdvertisement) -> Bool {
    switch (type, data.count) {
    case (0x4E16, 9): addSmart(data, to: &result)
    case (0x6E16, 9): addBody(data, to: &result)
    default: return false
    }
    return true
  }

  /// The S200: whose profile, and the weight, which is sent when it is final.
  private static func addSmart(_ data: Octets, to result: inout SensorAdvertisement) {
    guard data.unsigned(1, 4) != 0 else { return }
    result.add("mass", Double(data.unsigned(1, 4)) / 100)
    result.add("stabilized", .state(true))
    result.add("profileID", .text("\(data[0])"))
  }

  /// The S400: 11 bits of weight, 7 of the heart rate, 14 of impedance. The weight comes with the
  /// impedance at 50 kHz, that at 250 kHz follows alone; with socks, there is none.
  private static func addBody(_ data: Octets, to result: inout SensorAdvertisement) {
    let bits = data.unsigned(1, 4)
    // All bits: no weight.
    let mass = bits & 0x7FF == 0x7FF ? 0 : bits & 0x7FF
    let (heart, impedance) = (bits >> 11 & 0x7F, bits >> 18)
    result.add("profileID", .text("\(data[0])"))
    guard mass + heart + impedance > 0 else { return result.add("stabilized", .state(false)) }
    if mass > 0 { result.add("mass", Double(mass) / 10) }
    if 1..<127 ~= heart { result.add("heartRate", Double(heart + 50)) }
    let isLast = mass == 0 && heart == 0
    if isLast || impedance > 0 {
      result.add(isLast ? "impedanceHigh" : "impedanceLow", Double(impedance) / 10)
    }
    result.add("stabilized", .state(isLast || impedance == 0))
  }
}
