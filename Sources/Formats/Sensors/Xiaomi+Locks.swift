/// MiBeacon's locks: what was done, how, and with which key.
extension Xiaomi {
  /// Adds a lock's event (0x000B): an action and a method in one octet, the key, and the time.
  static func addLock(
    _ data: Octets, _ model: String, to result: inout SensorAdvertisement
  ) {
    guard data.count == 9, let action = lockActions[data[0] & 0x0F],
      let method = lockMethods[data[0] >> 4]
    else { return }
    let key = UInt32(truncatingIfNeeded: data.unsigned(1, 4))
    result.add(model == "ZNMS17LM" ? action.kind : "lock", .state(action.isOn))
    // Some numbers are no keys.
    if let error = lockErrors[key] {
      result.add("lockError", .event(error, detail: nil))
    } else {
      result.add("keyID", .text(keyText(key)))
    }
    result.add("lockAction", .event(action.name, detail: nil))
    result.add("lockMethod", .text(method))
  }

  static func keyText(_ key: UInt32) -> String {
    switch key {
    case 0: return "administrator"
    case 0xFFFF_FFFF: return "unknown operator"
    case 0xDEAD_BEEF: return "invalid operator"
    case ...0x7FFF_FFFF: return "Bluetooth key \(key)"
    default:
      let kinds = [
        "Fingerprint", "Password", "Keys", "NFC", "Two-step verification", "Human face",
        "Finger veins", "Palm print",
      ]
      let kind = max(Int(key >> 16) - 0x8001, 0)
      return (kinds.indices.contains(kind) ? kinds[kind] + " " : "") + "key id \(key & 0xFFFF)"
    }
  }

  /// By number: the state and whether it is on (a lock that is open is), and the name.
  static let lockActions: [UInt8: (kind: String, isOn: Bool, name: String)] = [
    0x0: ("lock", true, "unlock_outside_the_door"), 0x1: ("lock", false, "locked"),
    0x2: ("antilock", false, "turn_on_antilock"), 0x3: ("antilock", true, "release_the_antilock"),
    0x4: ("lock", true, "unlock_inside_the_door"), 0x5: ("lock", false, "lock_inside_the_door"),
    0x6: ("childLock", false, "turn_on_child_lock"),
    0x7: ("childLock", true, "turn_off_child_lock"),
    0x8: ("lock", false, "lock_outside_the_door"), 0xF: ("lock", true, "abnormal"),
  ]

  private static let lockMethods: [UInt8: String] = [
    0x0: "bluetooth", 0x1: "password", 0x2: "biometrics", 0x3: "key_method",
    0x4: "turntable_method", 0x5: "nfc_method", 0x6: "one_time_password",
    0x7: "two_step_verification", 0x8: "coercion_method", 0x9: "homekit", 0xA: "manual",
    0xB: "automatic", 0xF: "abnormal",
  ]

  static let lockErrors: [UInt32: String] = [
    0xC0DE_0000: "frequent_unlocking_with_incorrect_password",
    0xC0DE_0001: "frequent_unlocking_with_wrong_fingerprints",
    0xC0DE_0002: "operation_timeout_password_input_timeout", 0xC0DE_0003: "lock_picking",
    0xC0DE_0004: "reset_button_is_pressed", 0xC0DE_0005: "the_wrong_key_is_frequently_unlocked",
    0xC0DE_0006: "foreign_body_in_the_keyhole", 0xC0DE_0007: "the_key_has_not_been_taken_out",
    0xC0DE_0008: "error_nfc_frequently_unlocks",
    0xC0DE_0009: "timeout_is_not_locked_as_required",
    0xC0DE_000A: "failure_to_unlock_frequently_in_multiple_ways",
    0xC0DE_000B: "unlocking_the_face_frequently_fails",
    0xC0DE_000C: "failure_to_unlock_the_vein_frequently", 0xC0DE_000D: "hijacking_alarm",
    0xC0DE_000E: "unlock_inside_the_door_after_arming",
    0xC0DE_000F: "palmprints_frequently_fail_to_unlock", 0xC0DE_0010: "the_safe_was_moved",
    0xC0DE_1000: "the_battery_level_is_less_than_10_percent",
    0xC0DE_1001: "the_battery_level_is_less_than_5_percent",
    0xC0DE_1002: "the_fingerprint_sensor_is_abnormal",
    0xC0DE_1003: "the_accessory_battery_is_low", 0xC0DE_1004: "mechanical_failure",
    0xC0DE_1005: "the_lock_sensor_is_faulty",
  ]
}
