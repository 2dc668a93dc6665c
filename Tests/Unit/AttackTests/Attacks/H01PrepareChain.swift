import TestSupport
import AttoATT
import AttoGATT
import Testing

/// A chain of prepared writes past 512 octets.
@Suite(.sideBySide) struct H01PrepareChain {
  @Test("H1 server: never makes a value of more than 512 octets")
  func h01Server() {
    let server = TestSession(service(value([])))
    let part = hexText(0xEE, times: 18)
    for offset in stride(from: 0, through: 520, by: 18) {
      #expect(
        server.send("16 0300 \(hexText(offset)) \(part)") == ["17 03 00 \(hexText(offset)) \(part)"]
      )
    }
    #expect(server.send("18 01") == ["01 18 03 00 0d"])
    #expect(server.value(of: 3) == [])
    // Exactly 512 octets are allowed.
    for offset in stride(from: 0, to: 512, by: 16) {
      server.send("16 0300 \(hexText(offset)) \(hexText(0xEE, times: 16))")
    }
    #expect(server.send("18 01") == ["19"])
    #expect(server.value(of: 3)?.count == 512)
  }

  @Test("H1 client: a write past 512 octets is refused before anything is sent")
  func h01Client() {
    let client = TestSession()
    for write in [
      WriteLongValue(3, value: [UInt8](repeating: 0, count: 513)),
      WriteLongValue(3, offset: 512, value: [0]),
    ] {
      #expect(
        client.start(write).result?.error == .misuse(.valueTooLong(513, limit: 512)))
      #expect(client.sent == [])
    }
    _ = client.start(WriteLongValue(3, value: [UInt8](repeating: 0, count: 512)))
    #expect(client.sent == ["16 03 00 00 00 " + hexText(0, times: 18)])
  }
}
