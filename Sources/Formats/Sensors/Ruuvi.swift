#if canImport(Glibc)
  import Glibc
#else
  import Musl
#endif

/// RuuviTag and Ruuvi Air: data formats 3, 5, 6 and E1.
/// https://docs.ruuvi.com/communication/bluetooth-advertisements
enum Ruuvi {
  static func decode(_ device: SensorDevice) -> SensorAdvertisement? {
    guard let data = device.manufacturerData(0x0499), data.count >= 1,
      let (name, length, fields) = formats[data[0]]
    else { return nil }
    var result = SensorAdvertisement(
      "Ruuvi \(name)", model: data[0] == 6 || data[0] == 0xE1 ? "Ruuvi Air" : "RuuviTag",
      manufacturer: "Ruuvi")
    guard data.count >= length else {
      result.problem = .malformed
      return result
    }
    result.add(fields, of: data)
    switch data[0] {
    case 3:
      // The sign is a bit of its own, and the hundredths are an octet.
      if data[3] < 100 {
        let size = Double(Int(data[2] & 0x7F) * 100 + Int(data[3])) / 100
        result.add("temperature", data[2] & 0x80 == 0 ? size : -size)
      }
      if data[1] <= 200 { result.add("humidity", Double(data[1]) / 2) }
      result.add("pressure", Double(data.unsigned(4, 2, isBig: true) + 50000) / 100)
      addAcceleration(of: data, at: 6, &result)
    case 5:
      addPressure(of: data, &result)
      addAcceleration(of: data, at: 7, &result)
      let power = data.unsigned(13, 2, isBig: true)
      if power >> 5 != 0x7FF { result.add("voltage", Double(power >> 5 + 1600) / 1000) }
      if power & 0x1F != 0x1F { result.add("txPower", Double((power & 0x1F) * 2 - 40)) }
      result.counter = UInt32(data.unsigned(16, 2, isBig: true))
    case 6:
      addPressure(of: data, &result)
      addIndices(of: data, at: 11, flags: data[16], &result)
      // Logarithmic: 254 is 65535 lx.
      if data[13] != 0xFF {
        let light = exp(Double(data[13]) * log(65536) / 254) - 1
        result.add("illuminance", light.rounded())
      }
      result.counter = UInt32(data[15])
    default:
      addPressure(of: data, &result)
      addIndices(of: data, at: 17, flags: data[28], &result)
      result.counter = UInt32(data.unsigned(25, 3, isBig: true))
    }
    return result
  }

  private static func addPressure(of data: Octets, _ result: inout SensorAdvertisement) {
    let pressure = data.unsigned(5, 2, isBig: true)
    if pressure != 0xFFFF { result.add("pressure", Double(pressure + 50000) / 100) }
  }

  /// Three axes in thousandths of the standard gravity, or none.
  private static func addAcceleration(
    of data: Octets, at position: Int, _ result: inout SensorAdvertisement
  ) {
    let axes = (0..<3).map { data.signed(position + 2 * $0, 2, isBig: true) }
    guard !axes.contains(-32768) else { return }
    for (axis, name) in zip(axes, ["X", "Y", "Z"]) {
      result.add("acceleration", name, Double(axis * 980_665) / 100_000_000)
    }
  }

  /// Two numbers of 9 bits, whose last bits are in the flags.
  private static func addIndices(
    of data: Octets, at position: Int, flags: UInt8, _ result: inout SensorAdvertisement
  ) {
    let voc = Int(data[position]) << 1 | Int(flags >> 6 & 1)
    let nox = Int(data[position + 1]) << 1 | Int(flags >> 7)
    if voc != 0x1FF { result.add("vocIndex", Double(voc)) }
    if nox != 0x1FF { result.add("noxIndex", Double(nox)) }
  }

  /// The name, the length, and the fields that need no code.
  private static let formats: [UInt8: (String, Int, [SensorField])] = [
    3: ("3", 14, SensorField.list("voltage@12 >u2/1000")),
    5: (
      "5", 24,
      SensorField.list(
        "temperature@1 >s2*5/1000~8000, humidity@3 >u2/400~FFFF, movements@15 u1")
    ),
    6: (
      "6", 20,
      SensorField.list(
        "temperature@1 >s2*5/1000~8000, humidity@3 >u2/400~FFFF, pm25@7 >u2/10~FFFF, co2@9 >u2~FFFF"
      )
    ),
    0xE1: (
      "E1", 40,
      SensorField.list(
        """
        temperature@1 >s2*5/1000~8000, humidity@3 >u2/400~FFFF, pm1@7 >u2/10~FFFF,
        pm25@9 >u2/10~FFFF, pm4@11 >u2/10~FFFF, pm10@13 >u2/10~FFFF, co2@15 >u2~FFFF,
        illuminance@19 >u3/100~FFFFFF
        """)
    ),
  ]
}
