import ATT
import GATT
import Testing

/// The echo of a prepared write: mismatched, oversized, or in two halves.
@Suite struct H13H22PrepareWriteResponse {
  @Test("H13 client: an echo that differs in anything is told, and the queue is cleared")
  func h13Client() {
    for echo in [
      "17 0400 0000 010203", "17 0300 0100 010203", "17 0300 0000 010204", "17 0300 0000 0102",
      "17 0300 0000 01020304", "17 0300 0000", "17 0300 0000" + text(1, times: 59),
    ] {
      let client = Defender(BearerConfiguration(channel: .enhanced(mtu: 64)))
      let write = client.start(WriteLongValue(3, value: [1, 2, 3]))
      #expect(client.sent == ["16 03 00 00 00 01 02 03"])
      #expect(client.take(echo) == ["18 00"], "\(echo)")
      #expect(write.result == nil)
      client.take("19")
      #expect(write.result?.error == .violation(.echoMismatch(3, offset: 0)), "\(echo)")
    }
    let client = Defender()
    _ = client.start(WriteLongValue(3, value: [1, 2, 3]))
    _ = client.sent
    #expect(client.take("17 0300 0000 010203") == ["18 01"])
  }

  @Test("H13 server: the echo is exact, whatever the offset and the length")
  func h13Server() {
    let server = Defender(service(value([])))
    for offset in [0, 1, 18, 511, 512, 513, 0xFFFF] {
      for count in [0, 1, 17, 18] {
        let part = text(UInt8(count), times: count)
        let rest = "03 00 \(text(offset))" + (count == 0 ? "" : " " + part)
        #expect(server.take("16 \(rest)") == ["17 \(rest)"])
      }
      #expect(server.take("18 00") == ["19"])
    }
    // One octet too many is no prepared write: nothing of it stays.
    #expect(server.take("16 0300 0000 " + text(1, times: 19)) == ["01 16 00 00 04"])
    #expect(server.server?.preparedByteCount == 0)
  }

  @Test("H22 client: a whole response of the greatest length is one; its first half is none")
  func h22Client() {
    let part = [UInt8](repeating: 7, count: 512)
    func client() -> Defender { Defender(BearerConfiguration(channel: .enhanced(mtu: 517))) }
    let whole = "17 0300 0000 " + text(part)
    #expect(client().perform(PrepareWrite(3, offset: 0, part: part), whole)?.isSuccess == true)
    let halved = client()
    let write = halved.start(PrepareWrite(3, offset: 0, part: part))
    _ = halved.sent
    halved.take([UInt8](octets(whole).prefix(258)))
    #expect(write.result?.error == .violation(.echoMismatch(3, offset: 0)))
    // The second half is a PDU of its own, and begins with an octet that is no response.
    #expect(halved.take([UInt8](octets(whole).dropFirst(258))) == [])
    #expect(halved.failure == nil)
  }

  @Test("H22 server: half a request is a request of what it has, and the other half none at all")
  func h22Server() {
    let server = Defender(service(value([])))
    server.exchange(517)
    let whole = octets("16 0300 0000 " + text(0x53, times: 512))
    #expect(server.take(whole) == ["17 " + text(whole.dropFirst())])
    server.take("18 00")
    #expect(server.take([UInt8](whole.prefix(258))) == ["17 " + text(whole[1..<258])])
    // 0x53: a command that nobody knows.
    #expect(server.take([UInt8](whole.dropFirst(258))) == [])
    #expect(server.take("18 01") == ["19"])
    #expect(server.value(of: 3) == [UInt8](repeating: 0x53, count: 253))
  }
}
