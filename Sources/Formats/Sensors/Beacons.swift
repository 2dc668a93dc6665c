import AttoATT

/// Apple's iBeacon.
enum IBeacon {
  static func decode(_ device: SensorDevice) -> SensorAdvertisement? {
    guard let data = device.manufacturerData(0x004C), data.count == 23, data[0] == 0x02,
      data[1] == 0x15
    else { return nil }
    var result = SensorAdvertisement("iBeacon")
    let uuid = BluetoothUUID(Hex.text(Array(data.part(2, 16))))
    if let uuid { result.add("uuid", .text(uuid.fullDescription)) }
    result.add("major", .text("\(data.unsigned(18, 2, isBig: true))"))
    result.add("minor", .text("\(data.unsigned(20, 2, isBig: true))"))
    result.add("txPower", Double(data.signed(22, 1)))
    return result
  }
}

/// Google's Eddystone: UID, URL, TLM and EID. https://github.com/google/eddystone
enum Eddystone {
  static func decode(_ device: SensorDevice) -> SensorAdvertisement? {
    guard let data = device.serviceData(0xFEAA), data.count >= 2 else { return nil }
    switch (data[0], data.count) {
    case (0x00, 18...): return identifier("UID", data, 16)
    case (0x30, 10...): return identifier("EID", data, 8)
    case (0x10, 3...):
      var result = SensorAdvertisement("Eddystone-URL")
      result.add("txPower", Double(data.signed(1, 1)))
      guard data[2] < schemes.count else {
        result.problem = .malformed
        return result
      }
      var url = schemes[Int(data[2])]
      for octet in data.part(3) {
        switch octet {
        case 0..<14: url += endings[Int(octet) % 7] + (octet < 7 ? "/" : "")
        case 0x21...0x7E: url.unicodeScalars.append(Unicode.Scalar(octet))
        default: result.problem = .malformed
        }
      }
      if result.problem == nil { result.add("url", .text(url)) }
      return result
    case (0x20, 14...) where data[1] == 0:
      var result = SensorAdvertisement("Eddystone-TLM")
      let voltage = data.unsigned(2, 2, isBig: true)
      if voltage != 0 { result.add("voltage", Double(voltage) / 1000) }
      let temperature = data.signed(4, 2, isBig: true)
      if temperature != -32768 { result.add("temperature", Double(temperature) / 256) }
      result.counter = UInt32(data.unsigned(6, 4, isBig: true))
      result.add("uptime", Double(data.unsigned(10, 4, isBig: true)) / 10)
      return result
    default: return nil
    }
  }

  private static func identifier(_ name: String, _ data: Octets, _ length: Int)
    -> SensorAdvertisement
  {
    var result = SensorAdvertisement("Eddystone-\(name)")
    result.add("txPower", Double(data.signed(1, 1)))
    result.add("identifier", .text(Hex.text(Array(data.part(2, length)))))
    return result
  }

  private static let schemes = ["http://www.", "https://www.", "http://", "https://"]
  private static let endings = [".com", ".org", ".edu", ".net", ".info", ".biz", ".gov"]
}
