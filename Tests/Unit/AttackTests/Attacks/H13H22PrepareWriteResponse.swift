import TestSupport
import AttoATT
import AttoGATT
import Testing

/// The echo of a prepared write: wrong, too long, or in two parts.
@Suite(.sideBySide) struct H13H22PrepareWriteResponse {
  @Test("H13 client: an echo that differs in anything is told, and the queue is cleared")
  func h13Client() {
    for echo in [
      "17 0400 0000 010203", "17 0300 0100 010203", "17 0300 0000 010204", "17 0300 0000 0102",
      "17 0300 0000 01020304", "17 0300 0000", "17 0300 0000" + hexText(1, times: 59),
    ] {
      let client = TestSession(BearerConfiguration(channel: .enhanced(mtu: 64)))
      let write = client.start(WriteLongValue(3, value: [1, 2, 3]))
      #expect(client.sent == ["16 03 00 00 00 01 02 03"])
      #expect(client.send(echo) == ["18 00"], "\(echo)")
      #expect(write.result == nil)
      client.send("19")
      #expect(write.result?.error == .violation(.echoMismatch(3, offset: 0)), "\(echo)")
    }
    let client = TestSession()
    _ = client.start(WriteLongValue(3, value: [1, 2, 3]))
    _ = client.sent
    #expect(client.send("17 0300 0000 010203") == ["18 01"])
  }

  @Test("H13 server: the echo is exact, whatever the offset and the length")
  func h13Server() {
    let server = TestSession(service(value([])))
    for offset in [0, 1, 18, 511, 512, 513, 0xFFFF] {
      for count in [0, 1, 17, 18] {
        let part = hexText(UInt8(count), times: count)
        let rest = "03 00 \(hexText(offset))" + (count == 0 ? "" : " " + part)
        #expect(server.send("16 \(rest)") == ["17 \(rest)"])
      }
      #expect(server.send("18 00") == ["19"])
    }
    // A write with one octet too many is not queued.
    #expect(server.send("16 0300 0000 " + hexText(1, times: 19)) == ["01 16 00 00 04"])
    #expect(server.server.preparedByteCount == 0)
  }

  @Test("H22 client: a whole response of the greatest length is one; its first half is none")
  func h22Client() {
    let part = [UInt8](repeating: 7, count: 512)
    func client() -> TestSession { TestSession(BearerConfiguration(channel: .enhanced(mtu: 517))) }
    let whole = "17 0300 0000 " + hexText(part)
    #expect(client().perform(PrepareWrite(3, offset: 0, part: part), whole)?.isSuccess == true)
    let halved = client()
    let write = halved.start(PrepareWrite(3, offset: 0, part: part))
    _ = halved.sent
    halved.send([UInt8](octets(whole).prefix(258)))
    #expect(write.result?.error == .violation(.echoMismatch(3, offset: 0)))
    // The second part is a separate PDU that does not start with the opcode of a response.
    #expect(halved.send([UInt8](octets(whole).dropFirst(258))) == [])
    #expect(halved.failure == nil)
  }

  @Test("H22 server: half a request is a request of what it has, and the other half none at all")
  func h22Server() {
    let server = TestSession(service(value([])))
    server.exchange(517)
    let whole = octets("16 0300 0000 " + hexText(0x53, times: 512))
    #expect(server.send(whole) == ["17 " + hexText(whole.dropFirst())])
    server.send("18 00")
    #expect(server.send([UInt8](whole.prefix(258))) == ["17 " + hexText(whole[1..<258])])
    // 0x53 is an unknown command.
    #expect(server.send([UInt8](whole.dropFirst(258))) == [])
    #expect(server.send("18 01") == ["19"])
    #expect(server.value(of: 3) == [UInt8](repeating: 0x53, count: 253))
  }
}
