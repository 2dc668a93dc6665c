import TestSupport
import AttoATT
import AttoGATT
import Testing

/// Client Supported Features written with more octets than it has.
@Suite(.sideBySide) struct H26SupportedFeatures {
  @Test("H26 server: of many octets only the first means anything, written whole or in parts")
  func h26Server() {
    let server = TestSession(
      ServiceDefinition(
        .genericAttribute, handle: 1,
        characteristics: [
          CharacteristicDefinition(
            .clientSupportedFeatures, properties: [.read, .write],
            value: .clientSupportedFeatures)
        ]))
    server.exchange(517)
    #expect(server.send([0x12, 3, 0, 1] + [UInt8](repeating: 0xFF, count: 511)) == ["13"])
    #expect(server.send("0a 0300") == ["0b 01"])
    for offset in stride(from: 0, to: 512, by: 64) {
      server.send("16 0300 \(hexText(offset)) \(hexText(0xFF, times: 64))")
    }
    #expect(server.send("18 01") == ["19"])
    #expect(server.send("0a 0300") == ["0b 07"])
    server.send("16 0300 0002 ff")
    #expect(server.send("18 01")[0].hasPrefix("01 18 03 00"))
    #expect(server.send("12 0300") == ["01 12 03 00 0d"])
    #expect(server.send("0a 0300") == ["0b 07"])
  }
}
