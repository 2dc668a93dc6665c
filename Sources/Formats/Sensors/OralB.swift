/// Oral-B toothbrushes.
enum OralB {
  static func decode(_ device: SensorDevice) -> SensorAdvertisement? {
    guard let data = device.manufacturerData(0x00DC), [9, 11].contains(data.count) else {
      return nil
    }
    // Which family of modes a brush has follows from its model.
    let isIO = [48, 49, 50, 52, 53, 54].contains(data[1])
    var result = SensorAdvertisement(
      "Oral-B", model: isIO ? "iO Series" : nil, manufacturer: "Oral-B")
    result.add("brushing", .state(data[3] == 3))
    result.add("brushingState", .text(states[data[3]] ?? "unknown state \(data[3])"))
    result.add("brushingTime", Double(Int(data[5]) * 60 + Int(data[6])))
    let modes = isIO ? modesOfIO : modes
    result.add("brushingMode", .text(modes[data[7]] ?? "unknown mode \(data[7])"))
    result.add("brushingPressure", .text(pressure(data[4])))
    result.add("sector", .text(sector(data)))
    if data.count == 11 {
      result.add("sectorTimer", Double(data[9]))
      result.add("sectors", Double(data[10]))
    }
    return result
  }

  private static func pressure(_ bits: UInt8) -> String {
    if bits & 0x08 != 0 { return "power button pressed" }
    if bits & 0x04 != 0 { return "button pressed" }
    return bits & 0x80 != 0 ? "high" : "normal"
  }

  /// The quarter of the mouth, while brushing; 7 is the last.
  private static func sector(_ data: Octets) -> String {
    let sector = data[8] & 7
    guard data[3] == 3, sector != 0 else { return "no sector" }
    guard sector == 7 else { return "sector \(sector)" }
    return "sector \(data[10] & 7 == 0 ? 4 : data[10] & 7)"
  }

  private static let states: [UInt8: String] = [
    0: "unknown", 1: "initializing", 2: "idle", 3: "running", 4: "charging", 5: "setup",
    6: "flight menu", 8: "selection menu", 9: "off", 10: "post brushing statistics",
    113: "final test", 114: "pcb test", 115: "sleeping", 116: "transport",
  ]
  private static let modes: [UInt8: String] = [
    0: "off", 1: "daily clean", 2: "sensitive", 3: "massage", 4: "whitening", 5: "deep clean",
    6: "tongue cleaning", 7: "turbo", 255: "unknown",
  ]
  private static let modesOfIO: [UInt8: String] = [
    0: "daily clean", 1: "sensitive", 2: "gum care", 3: "whiten", 4: "intense",
    5: "super sensitive", 6: "tongue cleaning", 8: "settings", 9: "off", 11: "smart adapt",
  ]
}
