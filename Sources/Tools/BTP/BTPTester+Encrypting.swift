import Atto

// Encrypted advertising data. The tester advertises what it was given, as the structure Encrypted Data.
extension BTPTester {
  func setKeyMaterial(_ parameters: inout BTPParameters) throws(BTPStatus) -> [UInt8] {
    gap.keys = AdvertisingKeyMaterial(try parameters.octets(AdvertisingKeyMaterial.length))
    try parameters.end()
    return []
  }

  func encryptData(_ parameters: inout BTPParameters) throws(BTPStatus) -> [UInt8] {
    let data = try parameters.octets(Int(try parameters.number(UInt8.self)))
    try parameters.end()
    guard let keys = gap.keys, data.count <= AdvertisingKeyMaterial.capacity else { throw .fail }
    let result = keys.encrypted(data)
    return [UInt8(result.count)] + result
  }

  func decryptData(_ parameters: inout BTPParameters) throws(BTPStatus) -> [UInt8] {
    let data = try parameters.octets(Int(try parameters.number(UInt8.self)))
    try parameters.end()
    guard let plain = gap.keys?.decrypted(data) else { throw .fail }
    return [UInt8(plain.count)] + plain
  }
}
