import Testing

@testable import Radio

@Suite struct DeviceAddressTests {
  @Test func textAndOctets() throws {
    let address = try #require(DeviceAddress("C0:11:22:33:44:5f", kind: .random))
    #expect(address.description == "C0:11:22:33:44:5F")
    #expect(address.octets == [0x5F, 0x44, 0x33, 0x22, 0x11, 0xC0])
    #expect(DeviceAddress(octets: address.octets, kind: .random) == address)
    #expect(DeviceAddress("C0:11:22:33:44:5F/public", kind: .random)?.kind == .public)
    #expect(DeviceAddress("C0:11:22:33:44:5F/random", kind: .public)?.kind == .random)
    for text in [
      "", "C0", "C0:11:22:33:44:5", "C0:11:22:33:44:5G", "C0-11-22-33-44-5F",
      "C0:11:22:33:44:5F:", "C0:11:22:33:44:5F/", "C0:11:22:33:44:5F/randoms", "Strap",
      "C0:11:22:33:44:5F/random/random/random",
    ] {
      #expect(DeviceAddress(text, kind: .random) == nil, "\(text)")
    }
    #expect(DeviceAddress(octets: [1, 2, 3, 4, 5], kind: .random) == nil)
  }

  @Test func theAddressOfANameIsStable() {
    #expect(DeviceAddress.staticRandom(name: "Strap") == DeviceAddress.staticRandom(name: "Strap"))
    #expect(DeviceAddress.staticRandom(name: "Strap") != DeviceAddress.staticRandom(name: "strap"))
    // Written down, so that a change of the rule is seen: addresses are kept by clients.
    #expect(DeviceAddress.staticRandom(name: "Strap").description == "D4:13:F6:FB:AC:EF")
    for index in 0..<1000 {
      #expect(DeviceAddress.staticRandom(name: "radio \(index)").isStaticRandom)
    }
  }

  @Test func forbiddenStaticAddressesAreAvoided() {
    #expect(DeviceAddress.staticRandom(0).isStaticRandom)
    #expect(DeviceAddress.staticRandom(.max).isStaticRandom)
    #expect(!DeviceAddress(0xC000_0000_0000, kind: .random).isStaticRandom)
    #expect(!DeviceAddress(0xFFFF_FFFF_FFFF, kind: .random).isStaticRandom)
    #expect(!DeviceAddress(0x4000_0000_0001, kind: .random).isStaticRandom)
    #expect(!DeviceAddress(0xC000_0000_0001, kind: .public).isStaticRandom)
  }
}
