import TestSupport
import AttoATT
import AttoGATT
import Testing

/// Lengths and opcodes that are not used as indices.
@Suite(.sideBySide) struct H16H19ShortAndUnknown {
  @Test("H16 client: values shorter than their handle are none; indications are confirmed")
  func h16Client() {
    let client = TestSession()
    for pdu in ["1b", "1b 03", "23", "23 03", "23 0300 0000 0400 00"] {
      #expect(client.send(pdu) == [])
    }
    for pdu in ["1d", "1d 03"] { #expect(client.send(pdu) == ["1e"]) }
    #expect(client.actions == [] && client.failure == nil)
    #expect(client.send("1b 0300") == [])
    #expect(client.actions == [.notification])
  }

  @Test("H16 server: values of every length are cut where ATT_MTU ends, and no sooner")
  func h16Server() throws {
    for mtu in [23, 64, 517] as [UInt16] {
      let server = TestSession(service(value([7], .readWrite, [.read, .notify, .indicate])))
      server.exchange(mtu)
      for count in 0...520 {
        let long = (0..<count).map { UInt8(truncatingIfNeeded: $0) }
        let kept = long.prefix(Int(mtu) - 3)
        #expect(server.notify(3, long))
        #expect(server.sent == [hexText([0x1B, 3, 0] + kept)])
        _ = try server.session.indicate(3, long, at: .zero)
        #expect(server.sent == [hexText([0x1D, 3, 0] + kept)])
        server.send("1e")
      }
    }
  }

  @Test("H19 server: every opcode, alone and in every small length, is answered once or not at all")
  func h19Server() {
    for number in UInt8.min...UInt8.max {
      let server = TestSession(service(value([7])))
      for count in 0...22 {
        let pdu = [number] + [UInt8](repeating: 0xFF, count: count)
        let received = server.actions.count
        var answers = server.send(pdu)
        // The client in the same session confirms a value.
        if server.actions[received...] == [.indication] {
          server.session.confirm()
          answers += server.sent
        }
        let wanted = [.request, .indication].contains(Opcode(number).kind) ? 1 : 0
        #expect(answers.count == wanted, "\(hexText(pdu)): \(answers)")
        #expect(server.failure == nil)
      }
      #expect(server.send("0a 0300")[0].hasPrefix("0b"))
    }
  }

  @Test(
    "H19 client: every opcode as the answer to a request; only responses end it, one way or another"
  )
  func h19Client() {
    for number in UInt8.min...UInt8.max {
      for rest in ["", "07", "03 00 07", "0a 03 00 02"] {
        let client = TestSession()
        let read = client.start(ReadCharacteristicValue(3))
        _ = client.sent
        client.send([number] + octets(rest))
        let isResponse = Opcode(number).kind == .response
        #expect((read.result != nil) == isResponse, "\(hexText([number])) \(rest)")
        if number == 0x0B { #expect(read.result == .success(octets(rest))) }
        client.session.linkEnded()
        #expect(read.result != nil)
      }
    }
  }
}
