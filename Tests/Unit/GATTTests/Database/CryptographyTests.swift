import TestSupport
import AttoATT
import Testing

@testable import AttoGATT

/// AES-CMAC against the published examples, and what is made of it.
@Suite(.sideBySide) struct CryptographyTests {
  private func cmac(_ key: String, _ message: String) -> String {
    var mac = AESCMAC(key: octets(key))
    mac.update(octets(message))
    return hexText(mac.finish())
  }

  private static let key = "2b7e1516 28aed2a6 abf71588 09cf4f3c"
  private static let message = """
    6bc1bee2 2e409f96 e93d7e11 7393172a ae2d8a57 1e03ac9c 9eb76fac 45af8e51
    30c81c46 a35ce411 e5fbc119 1a0a52ef f69f2445 df4f9b17 ad2b417b e66c3710
    """

  /// RFC 4493, section 4.
  @Test(arguments: [
    (0, "bb1d6929 e9593728 7fa37d12 9b756746"), (16, "070a16b4 6b4d4144 f79bdd9d d04a287c"),
    (40, "dfa66747 de9ae630 30ca3261 1497c827"), (64, "51f0bebf 7e3b9d92 fc497417 79363cfe"),
  ]) func rfc4493(length: Int, code: String) {
    let message = hexText(Array(octets(Self.message).prefix(length)))
    #expect(cmac(Self.key, message) == hexText(octets(code)))
  }

  /// FIPS 197, appendix B.
  @Test func fips197() {
    var state = octets("3243f6a8 885a308d 313198a2 e0370734")
    AES128.encrypt(&state, AES128.expand(octets(Self.key)))
    #expect(hexText(state) == "39 25 84 1d 02 dc 09 fb dc 11 85 97 19 6a 0b 32")
  }

  /// However the message is cut into pieces, the code is the same.
  @Test func piecesMakeTheSameCode() {
    let whole = octets(Self.message)
    for cut in 0...whole.count {
      var mac = AESCMAC(key: octets(Self.key))
      for octet in whole[..<cut] { mac.update(octet) }
      mac.update(Array(whole[cut...]))
      #expect(hexText(mac.finish()) == "51 f0 be bf 7e 3b 9d 92 fc 49 74 17 79 36 3c fe")
    }
  }

  @Test func signsAWrite() {
    let signature = Signature.compute(
      over: octets("d2 12 00 13 37").span.bytes, counter: 1,
      key: octets("611B64EBFBCD1FD372EC9196DF425E50"))
    #expect(hexText(signature) == "01 00 00 00 f1 87 1e 93 3c 90 0f f2")
  }

  // MARK: The Database Hash

  /// The sample database of Vol 3, Part G, appendix B.
  private var sample: Database {
    Database(
      ServiceDefinition(
        .genericAccess,
        characteristics: [
          CharacteristicDefinition(.deviceName, properties: [.read, .write]),
          CharacteristicDefinition(.appearance, properties: .read),
        ]),
      ServiceDefinition(
        .genericAttribute,
        characteristics: [
          CharacteristicDefinition(.serviceChanged, properties: .indicate),
          CharacteristicDefinition(
            .clientSupportedFeatures, properties: [.read, .write],
            value: .clientSupportedFeatures),
          CharacteristicDefinition(.databaseHash, properties: .read, value: .databaseHash),
        ]),
      ServiceDefinition(
        0x1808,
        includes: [
          IncludeDefinition(
            service: 0x0014,
            target: IncludeDefinition.Target(endHandle: 0x0016, uuid: 0x180F))
        ],
        characteristics: [
          CharacteristicDefinition(
            0x2A18, properties: [.read, .indicate, .extendedProperties],
            descriptors: [
              DescriptorDefinition(.clientCharacteristicConfiguration),
              DescriptorDefinition(
                .characteristicExtendedProperties, value: .constant([0x00, 0x00])),
            ])
        ]),
      ServiceDefinition(
        0x180F, isPrimary: false,
        characteristics: [CharacteristicDefinition(0x2A19, properties: .read)]))
  }

  private static let hash = "f1 ca 2d 48 ec f5 8b ac 8a 88 30 bb b9 fb a9 90"

  /// The specification prints it most significant octet first; it travels the other way.
  @Test func hashOfTheSampleDatabase() {
    var database = sample
    #expect(hexText(database.hash().reversed()) == Self.hash)
    let station = TestSession(sample)
    let reversed = hexText(octets(Self.hash).reversed())
    #expect(station.send("0a 0d 00") == ["0b " + reversed])
    #expect(station.send("08 01 00 ff ff 2a 2b") == ["09 12 0d 00 " + reversed])
  }

  @Test func hashFollowsTheStructureAndNotTheValues() throws {
    var database = sample
    let before = database.hash()
    try database.setValue(of: 0x0003, to: [1, 2, 3])
    #expect(database.hash() == before)
    try database.setValue(of: 0x0013, to: [1, 0])
    #expect(database.hash() != before)
    try database.setValue(of: 0x0013, to: [0, 0])
    #expect(database.hash() == before)
    try database.add(ServiceDefinition(0x1234, handle: 0x0100))
    #expect(database.hash() != before)
    try database.remove(service: 0x0100)
    #expect(database.hash() == before)
  }

  /// Of other descriptors only handle and type count; the value of none but 2900 does.
  @Test func hashOfDescriptors() {
    func hash(_ uuid: BluetoothUUID, _ value: [UInt8], at handle: AttributeHandle) -> [UInt8] {
      var database = Database(
        service(
          0x1234, at: 1,
          CharacteristicDefinition(
            0x5678, properties: .read,
            descriptors: [DescriptorDefinition(uuid, value: .constant(value), handle: handle)])))
      return database.hash()
    }
    for type: UInt16 in 0x2900...0x2905 {
      let uuid = BluetoothUUID(type)
      #expect((hash(uuid, [1], at: 4) == hash(uuid, [2], at: 4)) == (type != 0x2900))
      #expect(hash(uuid, [1], at: 4) != hash(uuid, [1], at: 5))
    }
    #expect(hash(0x2906, [1], at: 4) == hash(0x2907, [2], at: 9))
  }
}
