import TestSupport
import AttoATT
import AttoGATT
import Testing

/// Values of more than 512 octets, which fit into an ATT_MTU of 517.
@Suite(.sideBySide) struct H12LongestValue {
  @Test("H12 server: never sends more of a value, even if the application says more")
  func h12Server() {
    let application = ScriptedApplication(acceptsWrites: true)
    application.reads[3] = .value([UInt8](repeating: 1, count: 600))
    let server = TestSession(
      Server(Database([service(asked())]), application: application),
      BearerConfiguration(receiveMTU: 700))
    server.exchange(700)
    #expect(server.send("0a 0300") == ["0b " + hexText(1, times: 512)])
    #expect(server.send("0c 0300 fe01") == ["0d 01 01"])
    #expect(server.send("0c 0300 0002") == ["0d"])
    #expect(server.send("0c 0300 0102") == ["01 0c 03 00 07"])
    #expect(server.send([0x12, 3, 0] + [UInt8](repeating: 1, count: 513)) == ["01 12 03 00 0d"])
  }

  @Test("H12 client: takes no more of a value, by a read or by many")
  func h12Client() {
    func client() -> TestSession { TestSession(BearerConfiguration(channel: .enhanced(mtu: 517))) }
    #expect(
      client().perform(ReadCharacteristicValue(3), "0b " + hexText(1, times: 512))
        == .success([UInt8](repeating: 1, count: 512)))
    #expect(
      client().perform(ReadCharacteristicValue(3), "0b " + hexText(1, times: 513))?.error
        == .violation(.valueTooLong(3, 513)))
    #expect(
      client().perform(ReadLongValue(3), "0b " + hexText(1, times: 516))?.error
        == .violation(.valueTooLong(3, 516)))
    let long = TestSession()
    let read = long.start(ReadLongValue(3))
    var requests = 0
    long.send("0b " + hexText(1, times: 22))
    while read.result == nil {
      requests += 1
      long.send("0d " + hexText(1, times: 22))
    }
    #expect(read.result?.error == .violation(.valueTooLong(3, 528)))
    #expect(requests == 23)
  }
}
