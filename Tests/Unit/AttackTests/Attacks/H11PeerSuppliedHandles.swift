import TestSupport
import AttoATT
import AttoGATT
import Testing

/// Handle 0x0000 or a reversed range.
@Suite(.sideBySide) struct H11PeerSuppliedHandles {
  private func isRefused<P: Procedure>(_ procedure: P, _ response: String) -> Bool {
    TestSession().perform(procedure, response)?.error?.isViolation == true
  }

  @Test("H11 client: no response makes it take them for handles")
  func h11Client() {
    #expect(isRefused(DiscoverPrimaryServices(), "11 06 0000 0500 0018"))
    #expect(isRefused(DiscoverPrimaryServices(), "11 06 0500 0400 0018"))
    #expect(isRefused(DiscoverPrimaryServicesByUUID(0x1800), "07 0000 0500"))
    #expect(isRefused(DiscoverPrimaryServicesByUUID(0x1800), "07 0500 0400"))
    #expect(isRefused(DiscoverDescriptors(in: .all), "05 01 0000 0229"))
    #expect(isRefused(DiscoverCharacteristics(in: .all), "09 07 0200 02 0000 002a"))
    #expect(isRefused(ReadUsingUUID(0x2A00), "09 03 0000 01"))
    #expect(isRefused(FindIncludedServices(in: .all), "09 08 0200 0500 0400 0018"))
    // The same with valid handles is accepted.
    #expect(!isRefused(DiscoverPrimaryServices(), "11 06 0100 0500 0018"))
    #expect(!isRefused(DiscoverDescriptors(in: .all), "05 01 0100 0229"))
  }

  @Test("H11 server: no request makes it look there")
  func h11Server() {
    let server = TestSession(service(value([7])))
    for (start, end) in [
      ("00 00", "ff ff"), ("00 00", "00 00"), ("05 00", "04 00"), ("ff ff", "01 00"),
    ] {
      for (opcode, rest) in [("04", ""), ("06", "0028 0018"), ("08", "0328"), ("10", "0028")] {
        #expect(server.send("\(opcode) \(start) \(end) \(rest)") == ["01 \(opcode) \(start) 01"])
      }
    }
    for (request, code) in [
      ("0a 0000", "01"), ("0c 0000 0000", "01"), ("12 0000 01", "01"), ("16 0000 0000 01", "01"),
      ("0e 0000 0300", "01"), ("20 0000 0300", "01"),
    ] {
      #expect(server.send(request) == ["01 \(request.prefix(2)) 00 00 \(code)"])
    }
    #expect(server.send("52 0000 01") == [])
    #expect(server.value(of: 3) == [7])
  }
}
