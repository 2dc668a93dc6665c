import AttoGATT

/// Govee's sensors of events, H5121 to H5126 and H5130: 2 octets, the time, 16 octets that are encrypted
/// with AES under it, and a CRC of these. The key is in the clear, so anybody can read and send such data.
extension Govee {
  static let eventLength = 24

  /// nil if the CRC is wrong, or the model is not known.
  static func decodeEvent(_ device: SensorDevice, _ data: Octets) -> SensorAdvertisement? {
    guard data.count == eventLength, crc(data.part(6, 16)) == data.unsigned(22, 2, isBig: true)
    else {
      return nil
    }
    // Key and octets are in reverse.
    let key = [UInt8](repeating: 0, count: 12) + data.part(2, 4).reversed()
    let plain = Octets(
      AES128Inverse.decrypt(Array(data.part(6, 16).reversed()), AES128.expand(key)).reversed())
    let model = models.first {
      $0.number == plain[2] || device.isNamed("GV\($0.name.dropFirst())")
    }
    guard let model else { return nil }
    var result = SensorAdvertisement("Govee", model: model.name, manufacturer: "Govee")
    result.counter = UInt32(data.unsigned(2, 4))
    result.add("battery", Double(plain[4]))
    let state = plain[5]
    switch model.name {
    // That something moves is told; that it rests is not.
    case "H5121": if state == 1 { result.add("motionDetected", .event("motion", detail: nil)) }
    case "H5124":
      if state == 1 { result.add("vibrationDetected", .event("vibration", detail: nil)) }
    case "H5123": result.add("window", .state(state == 2))
    case "H5130":
      if state & 0x10 != 0 { result.add("button", "0", .event("press", detail: nil)) }
      if state != 0x10 { result.add("presence", .state(state & 1 != 0)) }
    default: result.add("button", "\(state)", .event("press", detail: nil))
    }
    return result
  }

  private static let models: [(name: String, number: UInt8)] = [
    ("H5121", 3), ("H5122", 8), ("H5123", 2), ("H5124", 9), ("H5125", 10), ("H5126", 11),
    ("H5130", 13),
  ]

  /// CRC-16 with the polynomial 0x1021, from 0x1D0F.
  static func crc(_ octets: some Sequence<UInt8>) -> Int {
    var value: UInt16 = 0x1D0F
    for octet in octets {
      value ^= UInt16(octet) << 8
      for _ in 0..<8 { value = value << 1 ^ (value >> 15 == 1 ? 0x1021 : 0) }
    }
    return Int(value)
  }
}

/// The inverse cipher of AES with a 128-bit key. FIPS 197, 5.3.
enum AES128Inverse {
  /// Decrypts 16 octets with the round keys.
  static func decrypt(_ block: [UInt8], _ schedule: [UInt8]) -> [UInt8] {
    var state = block
    for i in 0..<16 { state[i] ^= schedule[160 + i] }
    for round in (0..<10).reversed() {
      var next = [UInt8](repeating: 0, count: 16)
      // Row r moves back by r columns.
      for column in 0..<4 {
        for row in 0..<4 {
          let place = (column + row) % 4 * 4 + row
          next[place] = substitution[Int(state[column * 4 + row])] ^ schedule[round * 16 + place]
        }
      }
      if round > 0 {
        for column in stride(from: 0, to: 16, by: 4) { mix(&next, column) }
      }
      state = next
    }
    return state
  }

  private static func mix(_ state: inout [UInt8], _ column: Int) {
    let part = Array(state[column..<column + 4])
    for row in 0..<4 {
      state[column + row] =
        product(part[row], 14) ^ product(part[(row + 1) % 4], 11)
        ^ product(part[(row + 2) % 4], 13) ^ product(part[(row + 3) % 4], 9)
    }
  }

  /// The product in the field of 256 elements.
  private static func product(_ a: UInt8, _ b: UInt8) -> UInt8 {
    var (a, b, result) = (a, b, UInt8(0))
    while b > 0 {
      if b & 1 == 1 { result ^= a }
      a = a << 1 ^ (a >> 7 == 1 ? 0x1B : 0)
      b >>= 1
    }
    return result
  }

  /// The inverse S-box. The first octet of the second round key of a key that is zero but for its octet 13 is
  /// that octet's substitute, plus 1.
  private static let substitution: [UInt8] = {
    var table = [UInt8](repeating: 0, count: 256)
    for octet in UInt8.min...UInt8.max {
      var key = [UInt8](repeating: 0, count: 16)
      key[13] = octet
      table[Int(AES128.expand(key)[16] ^ 1)] = octet
    }
    return table
  }()
}
