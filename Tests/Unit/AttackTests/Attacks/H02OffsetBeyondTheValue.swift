import TestSupport
import AttoATT
import AttoGATT
import Testing

/// An offset beyond a value of one octet.
@Suite(.sideBySide) struct H02OffsetBeyondTheValue {
  @Test("H2 server: offsets around and far beyond the end, by every request that takes one")
  func h02Server() {
    let server = TestSession(service(value([0xAA])))
    for offset in [0, 1, 2, 22, 23, 255, 256, 511, 512, 513, 0x7FFF, 0x8000, 0xFFFF] {
      let expected = offset == 0 ? "0d aa" : offset == 1 ? "0d" : "01 0c 03 00 07"
      #expect(server.send("0c 0300 \(hexText(offset))") == [expected], "\(offset)")
      #expect(
        server.send("16 0300 \(hexText(offset)) bb") == ["17 03 00 \(hexText(offset)) bb"])
      #expect(server.send("18 01") == [offset < 2 ? "19" : "01 18 03 00 07"], "\(offset)")
      #expect(server.send("12 0300 aa") == ["13"])
    }
  }

  @Test("H2 client: a value of one octet is read at once; octets where none can be are refused")
  func h02Client() {
    let client = TestSession()
    let read = client.start(ReadLongValue(3))
    #expect(client.sent == ["0a 03 00"])
    #expect(client.send("0b aa") == [])
    #expect(read.result == .success([0xAA]))
    #expect(
      client.perform(ReadLongValue(3, offset: 2), "01 0c 0300 07")?.error
        == refusal(.readBlobRequest, 3, .invalidOffset))
    #expect(client.perform(ReadBlob(3, offset: 512), "0d") == .success([]))
    #expect(
      client.perform(ReadBlob(3, offset: 512), "0d 01")?.error
        == .violation(.valueTooLong(3, 513)))
    #expect(
      client.perform(ReadBlob(3, offset: 0xFFFF), "0d 01")?.error
        == .violation(.valueTooLong(3, 0x10000)))
  }
}
