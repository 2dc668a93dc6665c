import ATT
import GATT
import Testing

/// A chain of prepared writes past 512 octets.
@Suite struct H01PrepareChain {
  @Test("H1 server: never makes a value of more than 512 octets")
  func h01Server() {
    let server = Defender(service(value([])))
    let part = text(0xEE, times: 18)
    for offset in stride(from: 0, through: 520, by: 18) {
      #expect(
        server.take("16 0300 \(text(offset)) \(part)") == ["17 03 00 \(text(offset)) \(part)"])
    }
    #expect(server.take("18 01") == ["01 18 03 00 0d"])
    #expect(server.value(of: 3) == [])
    // Exactly 512 is fine.
    for offset in stride(from: 0, to: 512, by: 16) {
      server.take("16 0300 \(text(offset)) \(text(0xEE, times: 16))")
    }
    #expect(server.take("18 01") == ["19"])
    #expect(server.value(of: 3)?.count == 512)
  }

  @Test("H1 client: a write past 512 octets is refused before anything is sent")
  func h01Client() {
    let client = Defender()
    for write in [
      WriteLongValue(3, value: [UInt8](repeating: 0, count: 513)),
      WriteLongValue(3, offset: 512, value: [0]),
    ] {
      #expect(
        client.start(write).result?.error == .misuse(.valueTooLong(513, limit: 512)))
      #expect(client.sent == [])
    }
    _ = client.start(WriteLongValue(3, value: [UInt8](repeating: 0, count: 512)))
    #expect(client.sent == ["16 03 00 00 00 " + text(0, times: 18)])
  }
}
