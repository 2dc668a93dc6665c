import TestSupport
import AttoATT
import AttoGATT
import Testing

/// A PDU built with the ATT_MTU of another bearer.
@Suite(.sideBySide) struct H08OtherBearersMTU {
  @Test("H8 server: each bearer of a client has responses and values of its own length")
  func h08Server() {
    let first = TestSession(service(value([UInt8](repeating: 0xAA, count: 200))))
    let second = TestSession(
      beside: first, BearerConfiguration(channel: .enhanced(mtu: 64)))
    first.exchange(100)
    for _ in 0..<2 {
      #expect(first.send("0a 0300") == ["0b " + hexText(0xAA, times: 99)])
      #expect(second.send("0a 0300") == ["0b " + hexText(0xAA, times: 63)])
    }
    let long = [UInt8](repeating: 1, count: 200)
    #expect(first.notify(3, long) && second.notify(3, long))
    #expect(octets(first.sent[0]).count == 100)
    #expect(octets(second.sent[0]).count == 64)
  }

  @Test("H8 client: each bearer's requests have its length, and a response may have no other")
  func h08Client() {
    let first = TestSession(BearerConfiguration(channel: .enhanced(mtu: 100)))
    let second = TestSession()
    let write = WriteLongValue(3, value: [UInt8](repeating: 1, count: 200))
    _ = (first.start(write), second.start(write))
    #expect(octets(first.sent[0]).count == 100)
    #expect(octets(second.sent[0]).count == 23)
    // 24 octets, as the first bearer could have them.
    let read = TestSession()
    let operation = read.start(ReadCharacteristicValue(3))
    read.send([0x0B] + [UInt8](repeating: 1, count: 23))
    guard case .failure(.bearer(.malformedResponse(let pdu)))? = operation.result else {
      Issue.record("\(String(describing: operation.result))")
      return
    }
    #expect(pdu.fault == .longerThanMTU(24, mtu: 23))
  }
}
