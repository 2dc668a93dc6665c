import Glibc

/// Xiaomi's MiBeacon, versions 2 to 5: measurements, states, buttons, locks and scales. Versions 4 and 5
/// are decrypted; encrypted ones of version 2 and 3 (remote controls) are not.
enum Xiaomi {
  static func decode(_ device: SensorDevice) -> SensorAdvertisement? {
    guard let data = device.serviceData(0xFE95), data.count >= 5 else { return nil }
    let control = data.unsigned(0, 2)
    let version = control >> 12
    // A mesh device, or a version without objects.
    guard control & 0x80 == 0, version >= 2 else { return nil }
    let model = models[UInt16(data.unsigned(2, 2))]
    var result = SensorAdvertisement(
      "MiBeacon v\(version)", model: model, manufacturer: model == nil ? nil : "Xiaomi")
    result.counter = UInt32(data[4])
    var position = 5
    if control & 0x10 != 0 {
      guard data.part(5, 6).elementsEqual(device.addressOctets.reversed()) else { return nil }
      position += 6
    }
    if control & 0x20 != 0 { position += data[position] & 0x20 == 0 ? 1 : 2 }
    guard position <= data.count else {
      result.problem = .malformed
      return result
    }
    guard control & 0x40 != 0 else {
      if MiScale.withIdle.contains(model ?? "") { result.add("stabilized", .state(false)) }
      return result
    }
    var payload = Octets(data.part(position))
    result.isEncrypted = control & 0x08 != 0
    if result.isEncrypted {
      guard let key = device.cipher, version >= 4 else {
        result.problem = .keyMissing
        return result
      }
      guard payload.count >= 9 else {
        result.problem = .malformed
        return result
      }
      // The objects, 3 more octets of the counter, and the code.
      let more = payload.part(payload.count - 7, 3)
      let nonce = Array(device.addressOctets.reversed() + data.part(2, 3) + more)
      let sealed = payload.part(0, payload.count - 7) + payload.part(payload.count - 4)
      guard let opened = key.decrypt(sealed, nonce: nonce, associatedData: [0x11]) else {
        result.problem = .keyWrong
        return result
      }
      result.counter = UInt32(data[4]) | UInt32(payload.unsigned(payload.count - 7, 3)) << 8
      payload = Octets(opened)
    } else if device.key != nil {
      result.problem = .notEncrypted
      return result
    }
    addObjects(of: payload, model ?? "", to: &result)
    return result
  }

  /// Objects: a type of 2 octets, a length, and the data.
  private static func addObjects(
    of payload: Octets, _ model: String, to result: inout SensorAdvertisement
  ) {
    var position = 0
    while position + 3 <= payload.count {
      let type = UInt16(payload.unsigned(position, 2))
      let length = Int(payload[position + 2])
      guard position + 3 + length <= payload.count else {
        result.problem = .malformed
        return
      }
      // What was pressed needs no data.
      if length == 0 {
        _ = addButtons(type, Octets([]), model, to: &result)
      } else {
        add(type, Octets(payload.part(position + 3, length)), model, to: &result)
      }
      position += 3 + length
    }
  }

  private static func add(
    _ type: UInt16, _ data: Octets, _ model: String, to result: inout SensorAdvertisement
  ) {
    if let (size, fields) = table[type] {
      if size == 0 || size == data.count { result.add(fields, of: data) }
      return
    }
    if addButtons(type, data, model, to: &result) || addDoors(type, data, model, to: &result)
      || MiScale.add(type, data, to: &result)
    {
      return
    }
    switch (type, data.count) {
    case (0x0003, 1...):
      result.add("motionDetected", .event("motion_detected", detail: nil))
    case (0x000A, 2):
      if data.signed(0, 2) != 0 { result.add("temperature", Double(data.signed(0, 2)) / 100) }
    case (0x000F, 3):
      let light = data.unsigned(0, 3)
      result.add("motion", .state(true))
      if ["MJYD02YL", "RTCGQ02LM"].contains(model) { result.add("light", .state(light >= 100)) }
      if model == "CGPR1" { result.add("illuminance", Double(light)) }
    case (0x0010, 1...):
      result.add("toothbrush", .state(data[0] == 0))
      if data.count > 1 { result.add(data[0] == 0 ? "count" : "score", Double(data[1])) }
    case (0x2000, 5): addBodyTemperature(data, to: &result)
    case (0x3003, 1...):
      if data[0] < 2 { result.add("toothbrush", .state(data[0] == 0)) }
      if data.count == 6 { result.add("score", Double(data[5])) }
    case (0x1006, 2):
      // Two models report whole percents in tenths, with jumps between them.
      let tenths = Double(data.unsigned(0, 2)) / 10
      let isWhole = ["LYWSD03MMC", "MHO-C401"].contains(model)
      result.add("humidity", isWhole ? tenths.rounded(.down) : tenths)
    case (0x1007, 3):
      let light = data.unsigned(0, 3)
      if ["MJYD02YL", "MCCGQ02HL"].contains(model) { result.add("light", .state(light == 100)) }
      if ["HHCCJCY01", "GCLS002"].contains(model) { result.add("illuminance", Double(light)) }
    case (0x1017, 4): result.add("motion", .state(data.unsigned(0, 4) <= 30))
    case (0x4818, 2): result.add("motion", .state(data.unsigned(0, 2) <= 30))
    case (0x1019, 1...) where data[0] < 3:
      addOpening(data[0] != 1, leftOpen: [nil, false, true][Int(data[0])], to: &result)
    case (0x4804, 1...) where 1...2 ~= data[0], (0x4A12, 1...) where 1...2 ~= data[0]:
      addOpening(data[0] == 1, leftOpen: data[0] == 2 ? false : nil, to: &result)
      if data[0] == 2 { result.add("forciblyRemoved", .state(false)) }
    case (0x4A0F, 1...) where data[0] == 1:
      result.add("opening", .state(true))
      result.add("forciblyRemoved", .state(true))
    case (0x4A68, 1) where model == "SJWS02LM" && data[0] < 4:
      result.add("wetness", data[0] < 2 ? "Bottom" : "Top", .state(data[0] & 1 == 0))
    case (0x4A1A, 1...) where data[0] == 1: addOpening(true, leftOpen: true, to: &result)
    case (0x480C, 1) where data[0] < 2: result.add("opening", .state(data[0] == 0))
    case (0x101B, 1...): result.add("motion", .state(false))
    case (0x4801, 4), (0x4C01, 4): result.add("temperature", short(data.float(0)))
    case (0x4808, 4), (0x4C08, 4): result.add("humidity", short(data.float(0)))
    case (0x4805, 4): result.add("illuminance", short(data.float(0)))
    case (0x4A08, 4):
      result.add("motion", .state(true))
      result.add("illuminance", short(data.float(0)))
    case (0x4806, 1):
      let isTwoSided = ["SJWS02LM", "zhiee.flood.sj01"].contains(model)
      result.add("wetness", isTwoSided ? "Bottom" : "", .state(data[0] > 0))
    case (0x487B, 1) where model == "SJWS02LM": result.add("wetness", "Top", .state(data[0] > 0))
    case (0x484E, 1...):
      result.add("occupancy", .state(model == "XMOSB01XS" ? data[0] == 1 : data[0] > 0))
    case (0x5413, 1...) where model == "ES5BB":
      result.add("occupancy", "CloseRange", .state(data[0] > 0))
    case (0x5422, 1):
      let states = ["Charging", "Not Charging", "Full"]
      result.add("chargingState", .text(data[0] < 3 ? states[Int(data[0])] : "Unknown"))
    case (0x5810, 1): result.add("asleep", .state(data[0] != 1))
    case (0x6461, 1): result.add("wearing", .state(data[0] != 1))
    default: break
    }
  }

  /// A thermometer on the skin measures at two places; this is the maker's approximation, from 36.5
  /// to 37.8 °C.
  private static func addBodyTemperature(_ data: Octets, to result: inout SensorAdvertisement) {
    let (first, second) = (Double(data.signed(0, 2)) / 100, Double(data.signed(2, 2)) / 100)
    result.add(
      "temperature",
      3.71934e-11 * exp(0.69314 * first) - 1.02801e-8 * exp(0.53871 * second) + 36.413)
    result.add("battery", Double(data[4]))
  }

  /// The number with the digits that 4 octets have: 21.8 rather than 21.799999.
  private static func short(_ number: Float) -> Double { Double("\(number)") ?? Double(number) }

  private static func addOpening(
    _ isOpen: Bool, leftOpen: Bool?, to result: inout SensorAdvertisement
  ) {
    result.add("opening", .state(isOpen))
    if let leftOpen { result.add("doorLeftOpen", .state(leftOpen)) }
  }
}
