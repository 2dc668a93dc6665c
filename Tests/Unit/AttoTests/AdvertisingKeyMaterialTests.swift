import Atto
import AttoRadio
import TestSupport
import Testing

@Suite(.sideBySide) struct AdvertisingKeyMaterialTests {
  private static let keys = octets("57A9DA12D12E6E131E20612AD10A6A19 9E7A00EFB17AE746")

  /// The sample data of the Supplement to the Core Specification, v11, Part A, 2.3.
  @Test(arguments: [
    ("18E157CADE", "74E4DCAFDC51C7282810C2217F0E4CEF4343181FBA0069CC"),
    ("8D1C976E7A", "35444076125788C238A58E8BD9CFF0DEFE251A8E7275454C"),
  ])
  func publishedSamples(randomizer: String, sealed: String) throws {
    let keys = try #require(AdvertisingKeyMaterial(Self.keys))
    let structure = AdvertisingStructure(.encryptedData, octets(randomizer + sealed))
    let data = try #require(keys.decrypted(structure))
    #expect(data.localName == "Short Mini-Bus")
    #expect(data.appearance == 0x8C0A)
    // The sample has the name first.
    var others = AdvertisingData()
    others.others = [
      AdvertisingStructure(.completeLocalName, Array("Short Mini-Bus".utf8)),
      AdvertisingStructure(.appearance, [0x0A, 0x8C]),
    ]
    #expect(try keys.encrypted(others, randomizer: octets(randomizer)) == structure)
  }

  @Test func onlyTheRightKeysDecrypt() throws {
    let keys = try #require(AdvertisingKeyMaterial(Self.keys))
    let data = AdvertisingData(flags: .limitedDiscoverable, localName: "Lamp", txPower: 4)
    let structure = try keys.encrypted(data)
    let again = try keys.encrypted(data)
    #expect(structure != again)
    var received = AdvertisingData(flags: .generalDiscoverable, others: [structure])
    let parsed = AdvertisingData(parsing: try received.encoded())
    #expect(parsed.others == [structure])
    for index in 0..<AdvertisingKeyMaterial.length {
      var other = Self.keys
      other[index] ^= 1
      #expect(try #require(AdvertisingKeyMaterial(other)).decrypted(structure) == nil)
    }
    for index in structure.value.indices {
      var changed = structure
      changed.value[index] ^= 0x80
      #expect(keys.decrypted(changed) == nil)
    }
    for count in structure.value.indices {
      #expect(keys.decrypted(.init(.encryptedData, Array(structure.value.prefix(count)))) == nil)
    }
    #expect(keys.decrypted(.init(.manufacturerData, structure.value)) == nil)
    let others = try #require(AdvertisingKeyMaterial([UInt8](repeating: 0, count: 24)))
    let isFoundByOthers = received.decrypt(with: [others])
    #expect(!isFoundByOthers)
    let isFound = received.decrypt(with: [others, keys])
    #expect(isFound)
    #expect(received.localName == "Lamp")
    #expect(received.txPower == 4)
    #expect(received.flags == .generalDiscoverable)
  }

  @Test func lengths() throws {
    for count in 0..<48 where count != AdvertisingKeyMaterial.length {
      #expect(AdvertisingKeyMaterial([UInt8](repeating: 7, count: count)) == nil)
    }
    let keys = try #require(AdvertisingKeyMaterial(Self.keys))
    let empty = try keys.encrypted(AdvertisingData())
    #expect(empty.value.count == 9)
    #expect(keys.decrypted(empty) == AdvertisingData(parsing: []))
    let longest = AdvertisingData(manufacturerData: [
      .init(company: 0x59, [UInt8](repeating: 1, count: 241))
    ])
    #expect(try keys.encrypted(longest).value.count == 254)
    let longer = AdvertisingData(manufacturerData: [
      .init(company: 0x59, [UInt8](repeating: 1, count: 242))
    ])
    #expect(throws: AdvertisingDataError.doesNotFit(.manufacturerData, length: 246, lacking: 1)) {
      try keys.encrypted(longer)
    }
  }
}
