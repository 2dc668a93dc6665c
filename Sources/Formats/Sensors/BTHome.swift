import AttoATT

/// BTHome, versions 1 and 2, encrypted or not. https://bthome.io/format
enum BTHome {
  static func decode(_ device: SensorDevice) -> SensorAdvertisement? {
    if let data = device.serviceData(0xFCD2), data.count >= 1 {
      let information = data[0]
      guard information >> 5 == 2 else { return nil }
      let hasAddress = information & 2 != 0
      let start = hasAddress ? 7 : 1
      let address = hasAddress ? Array(data.part(1, 6).reversed()) : device.addressOctets
      return decode(
        device, data, start: start, isEncrypted: information & 1 != 0,
        prefix: address + [0xD2, 0xFC, information], version: 2)
    }
    if let data = device.serviceData(0x181C) {
      return decode(device, data, start: 0, isEncrypted: false, prefix: [], version: 1)
    }
    guard let data = device.serviceData(0x181E) else { return nil }
    return decode(
      device, data, start: 0, isEncrypted: true, prefix: device.addressOctets + [0x1E, 0x18],
      version: 1)
  }

  private static func decode(
    _ device: SensorDevice, _ data: Octets, start: Int, isEncrypted: Bool, prefix: [UInt8],
    version: Int
  ) -> SensorAdvertisement {
    var result = SensorAdvertisement("BTHome v\(version)")
    result.isEncrypted = isEncrypted
    var payload = Octets(data.part(start))
    if isEncrypted {
      guard let key = device.cipher else {
        result.problem = .keyMissing
        return result
      }
      // The payload, a counter of 4 octets and the code.
      guard payload.count >= 10, data.count >= start + 8 else {
        result.problem = .malformed
        return result
      }
      let counter = payload.part(payload.count - 8, 4)
      let sealed = payload.part(0, payload.count - 8) + payload.part(payload.count - 4)
      guard
        let opened = key.decrypt(
          sealed, nonce: prefix + counter, associatedData: version == 1 ? [0x11] : [])
      else {
        result.problem = .keyWrong
        return result
      }
      result.counter = UInt32(payload.unsigned(payload.count - 8, 4))
      payload = Octets(opened)
    } else if device.key != nil {
      result.problem = .notEncrypted
      return result
    }
    let (objects, isWhole) = version == 2 ? objects(payload) : oldObjects(payload)
    if !isWhole { result.problem = .malformed }
    add(objects, to: &result)
    return result
  }

  /// An object of a payload. The signs and floats of version 1 are in its format.
  private struct Object {
    var type: UInt8
    var data: Octets
    var oldFormat: UInt8?
  }

  /// The objects of version 2, each a type and its data. An unknown type ends them, because its
  /// length is unknown too.
  private static func objects(_ payload: Octets) -> ([Object], Bool) {
    var objects: [Object] = []
    var position = 0
    while position < payload.count {
      let type = payload[position]
      position += 1
      var length = sizes[type] ?? table[type]?.size ?? 0
      if [0x3B, 0x53, 0x54].contains(type) {
        guard position < payload.count else { return (objects, false) }
        length = type == 0x3B ? 1 + Int(payload[position] & 0x1F) : Int(payload[position])
        position += 1
      } else if length == 0 {
        return (objects, false)
      }
      guard position + length <= payload.count else { return (objects, false) }
      if length > 0 {
        objects.append(Object(type: type, data: Octets(payload.part(position, length))))
      }
      position += length
    }
    return (objects, true)
  }

  /// The objects of version 1: an octet with format and length, the type, and its data.
  private static func oldObjects(_ payload: Octets) -> ([Object], Bool) {
    var objects: [Object] = []
    var position = 0
    while position + 2 <= payload.count {
      let length = Int(payload[position] & 0x1F)
      guard length > 0 else {
        position += 1
        continue
      }
      guard position + 1 + length <= payload.count else { return (objects, false) }
      objects.append(
        Object(
          type: payload[position + 1], data: Octets(payload.part(position + 2, length - 1)),
          oldFormat: payload[position] >> 5))
      position += 1 + length
    }
    return (objects, position == payload.count)
  }

  private static func add(_ objects: [Object], to result: inout SensorAdvertisement) {
    var counts: [String: Int] = [:]
    for object in objects { counts[kind(object.type), default: 0] += 1 }
    var indices: [String: Int] = [:]
    for object in objects {
      let kind = kind(object.type)
      guard !kind.isEmpty else {
        if object.type == 0, result.counter == nil { result.counter = UInt32(object.data[0]) }
        continue
      }
      indices[kind, default: 0] += 1
      let label = counts[kind] == 1 ? "" : "\(indices[kind] ?? 1)"
      if let value = value(of: object) { result.add(kind, label, value) }
    }
  }

  private static func value(of object: Object) -> SensorReading.Value? {
    let data = object.data
    switch object.type {
    case 0x3A where data.count > 0 && object.oldFormat ?? 0 < 2:
      return buttons[data[0]].map { .event($0, detail: nil) }
    case 0x3B where object.oldFormat == nil:
      let details = Hex.text(Array(data.part(1)))
      return commands[data[0]].map { .event($0, detail: details.isEmpty ? nil : details) }
    case 0x3C where data.count == 2:
      return dimmers[data[0]].map { .event($0, detail: "\(data.unsigned(1, 1))") }
    case 0x53 where 3 == object.oldFormat ?? 3:
      return String(validating: data.all, as: UTF8.self).map { .text($0) }
    case 0x54 where 4 == object.oldFormat ?? 4: return .text(Hex.text(data.all))
    default:
      guard let field = table[object.type] else { return nil }
      guard let format = object.oldFormat else { return field.value(in: data) }
      return oldValue(field, format, data)
    }
  }

  /// A number of version 1, with the type's factor.
  private static func oldValue(
    _ field: SensorField, _ format: UInt8, _ data: Octets
  ) -> SensorReading.Value? {
    let number: Double
    switch (format, data.count) {
    case (0, 1...7): number = Double(data.unsigned(0, data.count))
    case (1, 1...7): number = Double(data.signed(0, data.count))
    case (2, 2): number = Double(Float16(bitPattern: UInt16(data.unsigned(0, 2))))
    case (2, 4): number = Double(data.float(0))
    case (2, 8):
      number = Double(bitPattern: UInt64(data.unsigned(0, 4)) | UInt64(data.unsigned(4, 4)) << 32)
    default: return nil
    }
    guard number.isFinite else { return nil }
    if SensorKind.named(field.kind)?.content == .state { return .state(number.rounded() != 0) }
    return .number(number * field.times / field.over)
  }

  /// The field of a type, for a test.
  static func field(_ type: UInt8) -> SensorField? { table[type] }

  private static func kind(_ type: UInt8) -> String {
    switch type {
    case 0x3A: "button"
    case 0x3B: "command"
    case 0x3C: "dimmer"
    case 0x53: "text"
    case 0x54: "raw"
    default: table[type]?.kind ?? ""
    }
  }

  /// The events of a kind, sorted.
  static func events(of kind: String) -> [String] {
    let events = ["button": buttons, "dimmer": dimmers, "command": commands][kind] ?? [:]
    return events.values.sorted()
  }

  private static let buttons: [UInt8: String] = [
    1: "press", 2: "double_press", 3: "triple_press", 4: "long_press", 5: "long_double_press",
    6: "long_triple_press", 0x80: "hold_press", 0x81: "hold_release",
  ]
  private static let dimmers: [UInt8: String] = [1: "rotate_left", 2: "rotate_right"]
  private static let commands: [UInt8: String] = [
    0: "off", 1: "on", 2: "toggle", 3: "step_up", 4: "step_down",
  ]
  /// Objects without a reading: the packet ID, events, the device type, and the firmware's version.
  private static let sizes: [UInt8: Int] = [0: 1, 0x3A: 1, 0x3C: 2, 0xF0: 2, 0xF1: 4, 0xF2: 3]

  /// The fields by type. Numbers are in hex; a type without one follows the type before it.
  private static let table: [UInt8: SensorField] = {
    var table: [UInt8: SensorField] = [:]
    var type: UInt8 = 0
    for entry in text.split(separator: ",") {
      let words = entry.split { $0 == " " || $0 == "\n" }
      if words.count == 3 { type = UInt8(words[0], radix: 16) ?? 0 }
      table[type] = SensorField(words.suffix(2).joined(separator: " "))
      type += 1
    }
    return table
  }()

  private static let text = """
    01 battery u1, temperature s2/100, humidity u2/100, pressure u3/100, illuminance u3/100,
    mass u2/100, massPounds u2/100, dewPoint s2/100, count u1, energy u3/1000, power u3/100,
    voltage u2/1000, pm25 u2, pm10 u2, generic u1, powerOn u1, opening u1, co2 u2, voc u2,
    moisture u2/100, batteryLow u1, batteryCharging u1, carbonMonoxide u1, cold u1, connectivity u1,
    door u1, garageDoor u1, gas u1, heat u1, light u1, lock u1, wetness u1, motion u1, moving u1,
    occupancy u1, plug u1, presence u1, problem u1, running u1, safety u1, smoke u1, sound u1,
    tamper u1, vibration u1, window u1, humidity u1, moisture u1, 3D count u2, count u4,
    rotation s2/10, distance u2, distanceMetres u2/10, duration u3/1000, current u2/1000,
    speed u2/100, temperature s2/10, uvIndex u1/10, volume u2/10, volumeMillilitres u2,
    volumeFlowRate u2/1000, voltage u2/10, gasVolume u3/1000, gasVolume u4/1000, energy u4/1000,
    volume u4/1000, water u4/1000, timestamp u4, acceleration u2/1000, gyroscope u2/1000,
    55 volumeStorage u4/1000, conductivity u2, temperature s1, temperature s1*35/100, count s1,
    count s2, count s4, power s4/100, current s2/1000, direction u2/100, precipitation u2/10,
    channel u1, rotationalSpeed u2, speed s4/1000000, acceleration s4/1000000, lightLevel u1,
    settingsRevision u1
    """
}
