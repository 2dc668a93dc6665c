import Links
import Testing

@testable import Radio

@Suite struct AddressRulesTests {
  @Test func theAddressOfANameIsStable() {
    let strap = BluetoothAddress.staticRandom(name: "Strap")
    // Written down, so that a change of the rule is seen: addresses are kept by clients.
    #expect(strap.digits == "D4:13:F6:FB:AC:EF")
    #expect(strap != BluetoothAddress.staticRandom(name: "strap"))
    for index in 0..<1000 {
      #expect(BluetoothAddress.staticRandom(name: "radio \(index)").isStaticRandom)
    }
  }

  @Test func forbiddenStaticAddressesAreAvoided() {
    #expect(BluetoothAddress.staticRandom(0).isStaticRandom)
    #expect(BluetoothAddress.staticRandom(.max).isStaticRandom)
    #expect(!BluetoothAddress(0xC000_0000_0000, kind: .random).isStaticRandom)
    #expect(!BluetoothAddress(0xFFFF_FFFF_FFFF, kind: .random).isStaticRandom)
    #expect(!BluetoothAddress(0x4000_0000_0001, kind: .random).isStaticRandom)
    #expect(!BluetoothAddress(0xC000_0000_0001, kind: .public).isStaticRandom)
  }

  @Test func endpoints() throws {
    #expect(try AirEndpoint("") == .own)
    #expect(try AirEndpoint("Strap") == .name("Strap"))
    #expect(try AirEndpoint("Heart rate/1") == .name("Heart rate/1"))
    let address = BluetoothAddress(0xC011_2233_445F, kind: .random)
    for text in ["C0:11:22:33:44:5f", "C0:11:22:33:44:5F/random", "c0:11:22:33:44:5F/public"] {
      #expect(try AirEndpoint(text) == .address(address), "\(text)")
    }
    #expect(try AirEndpoint("C0:11:22:33:44:5F").description == "C0:11:22:33:44:5F")
    // Not addresses, so names.
    #expect(try AirEndpoint("C0:11:22:33:44") == .name("C0:11:22:33:44"))
    for text in [String(repeating: "x", count: 65), "a\nb", "\u{7F}", "a\u{85}"] {
      #expect(throws: RadioError.invalidEndpoint(text)) { try AirEndpoint(text) }
    }
    #expect(
      RadioError.invalidEndpoint("a\tb").description
        == "\"a\tb\" is no radio: expected air:NAME or air:ADDRESS such as air:C0:11:22:33:44:55")
  }
}
