/// MiBeacon's doors with locks: fingerprints, what the door does, and whether it is armed.
extension Xiaomi {
  /// Adds an object of a door; false if it is none.
  static func addDoors(
    _ type: UInt16, _ data: Octets, _ model: String, to result: inout SensorAdvertisement
  ) -> Bool {
    switch (type, data.count) {
    case (0x0006, 5): addFingerprint(data, to: &result)
    case (0x0007, 1...): addDoor(data[0], to: &result)
    case (0x0008, 1...):
      result.add("armed", .state(data[0] != 1))
      // The handle outside was lifted.
      guard model == "DSL-C08" else { break }
      result.add("lock", .state(data[0] != 1))
      result.add("lockAction", .event("lock_outside_the_door", detail: nil))
      result.add("lockMethod", .text("manual"))
    case (0x000B, 9): addLock(data, model, to: &result)
    case (0x100E, 1) where model == "DSL-C08":
      result.add("lock", .state(data[0] & 0x01 == 0))
      result.add("childLock", .state(data[0] & 0x08 == 0))
    case (0x100F, 1) where model == "loock.safe.v1": result.add("door", .state(data[0] == 1))
    default: return false
    }
    return true
  }

  private static func addFingerprint(_ data: Octets, to result: inout SensorAdvertisement) {
    let key = UInt32(truncatingIfNeeded: data.unsigned(0, 4))
    // These octets are in the order of the text, where a lock's event has them as a number.
    let isInvalid = data.part(0, 4).elementsEqual([0xDE, 0xAD, 0xBE, 0xEF])
    result.add("fingerprint", .state(data[4] == 0))
    let named = key == 0 || key == .max
    result.add(
      "keyID", .text(isInvalid ? "invalid operator" : named ? keyText(key) : "\(key)"))
    if data[4] < fingerprints.count {
      result.add("fingerprintResult", .event(fingerprints[Int(data[4])], detail: nil))
    }
  }

  static let fingerprints = [
    "match_successful", "match_failed", "timeout", "low_quality_too_light_fuzzy",
    "insufficient_area", "skin_is_too_dry", "skin_is_too_wet",
  ]

  /// 0: opened, 1: closed, 2: left open, 3: somebody knocks, 4: broken open, 5: stuck.
  private static func addDoor(_ event: UInt8, to result: inout SensorAdvertisement) {
    guard event < 6 else { return }
    result.add("door", .state([0, 2, 4].contains(event)))
    switch event {
    case 0:
      result.add("doorStuck", .state(false))
      result.add("knockOnTheDoor", .state(false))
    case 1:
      result.add("doorLeftOpen", .state(false))
      result.add("pryTheDoor", .state(false))
    case 2: result.add("doorLeftOpen", .state(true))
    case 3: result.add("knockOnTheDoor", .state(true))
    case 4: result.add("pryTheDoor", .state(true))
    default: result.add("doorStuck", .state(true))
    }
  }
}
