/// MiBeacon's buttons, dimmers and cubes. Which button a number means depends on the model.
extension Xiaomi {
  /// Adds the events of an object; false if it is none of buttons. Data of these objects may be empty.
  static func addButtons(
    _ type: UInt16, _ data: Octets, _ model: String, to result: inout SensorAdvertisement
  ) -> Bool {
    switch type {
    case 0x1001:
      if data.count == 3 { addControl(data, model, to: &result) }
    case 0x4A0C...0x4A0E:
      guard model == "XMWS01XS" else {
        press("", presses[Int(type - 0x4A0C)], &result)
        break
      }
      if data.count > 0, data[0] < 2 {
        press(data[0] == 0 ? "Left" : "Right", presses[Int(type - 0x4A0C)], &result)
      }
    case 0x4A13:
      if data[0] == 1 { press("", "press", &result) }
    case 0x4E0C...0x4E0E: addSwitch(Int(type - 0x4E0C), data, model, to: &result)
    case 0x560C...0x560E:
      let event = presses[Int(type - 0x560C)]
      if ["KS2BB", "AFWXKG220000"].contains(model) { press("", event, &result) }
      guard ["KS1", "KS1BP"].contains(model), data.count > 0 else { break }
      if let name = quad[data[0]] {
        press(name, event, &result)
      } else if type == 0x560C {
        press("", event, &result)
      }
    default: return false
    }
    return true
  }

  private static let presses = ["press", "double_press", "long_press"]
  private static let quad: [UInt8: String] = [
    1: "Left", 2: "MidLeft", 3: "MidRight", 4: "Right",
  ]

  private static func press(
    _ button: String, _ event: String, _ result: inout SensorAdvertisement
  ) { result.add("button", button, .event(event, detail: nil)) }

  /// 0x4E0C to 0x4E0E: pressed once, twice, and for long.
  private static func addSwitch(
    _ way: Int, _ data: Octets, _ model: String, to result: inout SensorAdvertisement
  ) {
    switch model {
    case "XMWXKG01YL":
      guard data.count > 0, 1...3 ~= data[0] else { return }
      if data[0] & 1 != 0 { press("Left", presses[way], &result) }
      if data[0] & 2 != 0 { press("Right", presses[way], &result) }
    case "K9BB-1BTN":
      let events: [UInt8: String] = [1: "press", 8: "long_press", 15: "double_press"]
      if way == 0, let event = events[data[0]] { press("", event, &result) }
    case "XMWXKG01LM": press("", presses[way], &result)
    default: break
    }
  }

  /// 0x1001: a button, a number, and the way of the press.
  private static func addControl(
    _ data: Octets, _ model: String, to result: inout SensorAdvertisement
  ) {
    let (button, way) = (Int(data[0]), data[2])
    // Switches for walls count the ways in another order.
    let switched = [0: "press", 1: "long_press", 2: "double_press"][way]
    let dimmed = dimming(data)
    switch model {
    case "RTCGQ02LM", "YLAI003", "JTYJGD03MI", "SJWS01LM":
      if let dimmed { press("", dimmed.event, &result) }
    case "XMMF01JQD":
      if button < 2 {
        let event = button == 0 ? "rotate_right" : "rotate_left"
        result.add("cube", .event(event, detail: nil))
      }
    case "YLKG07YL/YLKG08YL":
      if let dimmed {
        let amount = dimmed.event == "double_press" ? nil : "\(dimmed.amount)"
        result.add("dimmer", .event(dimmed.event, detail: amount))
      }
    case "K9B-1BTN":
      if button == 0, let switched { press("", switched, &result) }
    case "K9B-2BTN", "K9B-3BTN":
      guard let switched else { return }
      let sets = model == "K9B-2BTN" ? pairs : triples
      for name in sets.indices.contains(button) ? sets[button] : [] {
        press(name, switched, &result)
      }
    default:
      guard let names = remotes[model], names.indices.contains(button) else { return }
      if model == "YLYK01YL", button < 2 { result.add("powerOn", .state(button == 0)) }
      if let dimmed { press(names[button], dimmed.event, &result) }
    }
  }

  private static let pairs = [["Left"], ["Right"], ["Left", "Right"]]
  private static let triples = [
    ["Left"], ["Middle"], ["Right"], ["Left", "Middle"], ["Middle", "Right"], ["Left", "Right"],
    ["Left", "Middle", "Right"],
  ]

  /// The buttons of remote controls by their numbers.
  private static let remotes: [String: [String]] = [
    "YLYK01YL": ["On", "Off", "Brightness", "Plus", "M", "Min"],
    "YLYK01YL-FANCL": ["Fan", "Light", "WindSpeed", "ColorTemperature", "WindMode", "Brightness"],
    "YLYK01YL-VENFAN": [
      "Swing", "Power", "Timer60Minutes", "IncreaseWindSpeed", "Timer30Minutes",
      "DecreaseWindSpeed",
    ],
    "YLYB01YL-BHFRC": [
      "Stop", "AirExchange", "Fan", "IncreaseSpeed", "DecreaseSpeed", "Dry", "Light", "Swing",
      "Heat",
    ],
  ]

  /// What a press or a turn is called, and how often, how long or how far.
  private static func dimming(_ data: Octets) -> (event: String, amount: Int)? {
    let (button, value) = (Int(data[0]), Int(data[1]))
    switch data[2] {
    case 0, 5: return ("press", 0)
    case 1: return ("double_press", 0)
    case 2, 6: return ("long_press", 0)
    case 3: return button < 2 ? (button == 0 ? "press" : "long_press", value) : nil
    case 4 where button == 0:
      return value <= 127 ? ("rotate_right", value) : ("rotate_left", 256 - value)
    case 4:
      return button <= 127
        ? ("rotate_right_pressed", button) : ("rotate_left_pressed", 256 - button)
    default: return nil
    }
  }

  /// The events of a kind that BTHome does not have, Govee's too.
  static func events(of kind: String) -> [String] {
    switch kind {
    case "dimmer":
      ["double_press", "long_press", "press", "rotate_left_pressed", "rotate_right_pressed"]
    case "motionDetected": ["motion", "motion_detected"]
    case "vibrationDetected": ["vibration"]
    case "cube": ["rotate_left", "rotate_right"]
    case "fingerprintResult": fingerprints
    case "lockAction": lockActions.values.map(\.name)
    case "lockError": Array(lockErrors.values)
    default: []
    }
  }
}
