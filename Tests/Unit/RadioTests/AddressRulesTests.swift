import AttoLinks
import TestSupport
import Testing

@testable import AttoRadio
@testable import AttoVirtualRadio

@Suite(.oneByOne) struct AddressRulesTests {
  @Test func theAddressOfANameIsStable() {
    let strap = BluetoothAddress.staticRandom(name: "Strap")
    // Fixed, because clients store addresses.
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
    #expect(try PeerTarget(virtual: "") == nil)
    #expect(try PeerTarget(virtual: "Strap") == .name("Strap"))
    #expect(try PeerTarget(virtual: "Heart rate/1") == .name("Heart rate/1"))
    let address = BluetoothAddress(0xC011_2233_445F, kind: .random)
    for text in ["C0:11:22:33:44:5f", "C0:11:22:33:44:5F/random", "c0:11:22:33:44:5F/public"] {
      #expect(try PeerTarget(virtual: text) == .address(address), "\(text)")
    }
    // Not addresses, so names.
    #expect(try PeerTarget(virtual: "C0:11:22:33:44") == .name("C0:11:22:33:44"))
    for text in [String(repeating: "x", count: 65), "a\nb", "\u{7F}", "a\u{85}"] {
      #expect(throws: RadioError.invalidEndpoint(text)) { try PeerTarget(virtual: text) }
    }
    #expect(
      RadioError.invalidEndpoint("a\tb").description
        == "invalid radio \"a\tb\": expected air:NAME or air:ADDRESS such as air:C0:11:22:33:44:55")
  }
}
