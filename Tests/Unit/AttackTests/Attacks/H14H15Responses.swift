import TestSupport
import AttoATT
import AttoGATT
import Testing

/// Overflow and underflow of lengths in responses of a server and in a client.
@Suite(.sideBySide) struct H14H15Responses {
  @Test("H14 client: a stated length is taken for no more than there is")
  func h14Client() throws {
    let client = TestSession()
    let values = try #require(
      client.perform(ReadMultipleVariable([3, 5]), "21 0200 aabb ffff 01")
    ).get()
    #expect(values.map(\.octets) == [[0xAA, 0xBB], [1]])
    #expect(values.map(\.isCut) == [false, true])
    for response in ["21", "21 00", "21 ff", "21 ffff ff ffff"] {
      let client = TestSession()
      _ = client.perform(ReadMultipleVariable([3, 5]), response)
      client.session.linkEnded()
    }
    #expect(TestSession().perform(ReadMultiple([3, 5]), "0f")?.isSuccess == true)
  }

  @Test(
    "H14 server: for values of any length and every ATT_MTU, the lengths are those of the values")
  func h14Server() {
    for mtu in UInt16(23)...64 {
      for count in [0, 1, 16, 17, 18, 19, 20, Int(mtu) - 4, Int(mtu) - 3, Int(mtu), 512] {
        let server = TestSession(
          service(value([UInt8](repeating: 9, count: count)), value([1, 2]), value([])))
        server.exchange(mtu)
        let response = octets(server.send("20 0300 0500 0700")[0])
        #expect(response.count <= Int(mtu))
        var rest = response.dropFirst()
        for value in [[UInt8](repeating: 9, count: count), [1, 2], []] {
          guard rest.count >= 2 else {
            #expect(rest.isEmpty, "half a length at ATT_MTU \(mtu)")
            break
          }
          let stated = Int(rest.removeFirst()) | Int(rest.removeFirst()) << 8
          #expect(stated == value.count)
          #expect([UInt8](rest.prefix(stated)) == [UInt8](value.prefix(rest.count)))
          rest = rest.dropFirst(stated)
        }
        #expect(rest.isEmpty)
      }
    }
  }

  @Test("H15 server: responses of equal entries fill the PDU and no more, at every ATT_MTU")
  func h15Server() {
    let long = [UInt8](repeating: 0xAA, count: 300)
    for mtu in [23, 24, 64, 257, 258, 259, 517] as [UInt16] {
      for count in [0, 1, 19, 20, 251, 252, 253, 254, 300] {
        let values = [UInt8](long.prefix(count))
        let server = TestSession(service(value(values), value(values), value(values)))
        server.exchange(mtu)
        let kept = min(count, Int(mtu) - 4, 253)
        let entries = min(3, max(1, (Int(mtu) - 2) / (kept + 2)))
        let isCut = kept < count
        var expected = "09 " + hexText([UInt8(kept + 2)])
        // A value that is cut stands alone, if not equally long ones fit beside it.
        for entry in 0..<entries {
          expected += " " + hexText([UInt8(3 + 2 * entry), 0] + [UInt8](long.prefix(kept)))
        }
        let response = server.send("08 0100 ffff 002a")[0]
        #expect(octets(response).count <= Int(mtu))
        if !isCut { #expect(response == expected, "\(count) at \(mtu)") }
        #expect(octets(response)[1] == UInt8(kept + 2))
      }
    }
  }

  @Test("H15 client: entries of every stated length, whether they divide the list or not")
  func h15Client() {
    for opcode: UInt8 in [0x09, 0x11] {
      for stated in UInt8.min...UInt8.max {
        for count in [0, 1, 2, 6, 7, 20, 21] {
          let pdu = [opcode, stated] + [UInt8](repeating: 1, count: count)
          let client = TestSession()
          func end<P: Procedure>(_ procedure: P) -> ProcedureError? {
            let operation = client.start(procedure)
            _ = client.sent
            client.send(pdu)
            client.session.linkEnded()
            return operation.result?.error
          }
          let error = opcode == 0x09 ? end(ReadUsingUUID(0x2A00)) : end(DiscoverPrimaryServices())
          let least = opcode == 0x09 ? 2 : 6
          let divides = Int(stated) >= least && count > 0 && count % Int(stated) == 0
          if divides { continue }
          switch error {
          case .bearer(.malformedResponse)?, .violation?: break
          default: Issue.record("\(hexText(pdu)): \(String(describing: error))")
          }
        }
      }
    }
  }
}
