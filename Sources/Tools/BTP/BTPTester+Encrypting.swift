import Atto

// Encrypted advertising data. The tester advertises what it was given, as the structure Encrypted Data.
extension BTPTester {
  func handleEncrypting(
    _ command: BTPFrame, _ parameters: inout BTPParameters
  ) throws(BTPStatus) -> [UInt8] {
    if command.opcode == 0x31 {
      gap.keys = AdvertisingKeyMaterial(try parameters.octets(AdvertisingKeyMaterial.length))
      try parameters.end()
      return []
    }
    let data = try parameters.octets(Int(try parameters.number(UInt8.self)))
    try parameters.end()
    guard let keys = gap.keys else { throw .fail }
    let result: [UInt8]
    if command.opcode == 0x32 {
      guard data.count <= AdvertisingKeyMaterial.capacity else { throw .fail }
      result = keys.encrypted(data)
    } else {
      guard let plain = keys.decrypted(data) else { throw .fail }
      result = plain
    }
    return [UInt8(result.count)] + result
  }
}
