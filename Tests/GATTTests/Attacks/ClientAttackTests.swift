import ATT
import GATT
import Testing

/// Responses that have broken other clients.
@Suite struct ClientAttackTests {
  private func error<P: Procedure>(_ procedure: P, after response: [UInt8], mtu: Int = 64)
    -> ProcedureError?
  {
    var procedure = procedure
    do throws(ProcedureError) {
      _ = try procedure.request(mtu: mtu)
      _ = try procedure.receive(octets: response, mtu: mtu)
      return nil
    } catch {
      return error
    }
  }

  private func isViolation(_ error: ProcedureError?) -> Bool {
    if case .violation? = error { true } else { false }
  }

  /// H11: handle 0x0000, or a range that ends before it begins, in a response.
  @Test func h11PeerSuppliedHandles() {
    #expect(isViolation(error(DiscoverPrimaryServices(), after: octets("11 06 0000 0500 0018"))))
    #expect(isViolation(error(DiscoverPrimaryServices(), after: octets("11 06 0500 0400 0018"))))
    #expect(
      isViolation(error(DiscoverPrimaryServicesByUUID(0x1800), after: octets("07 0000 0500"))))
    #expect(
      isViolation(error(DiscoverPrimaryServicesByUUID(0x1800), after: octets("07 0500 0400"))))
    #expect(isViolation(error(DiscoverDescriptors(in: .all), after: octets("05 01 0000 0229"))))
    #expect(
      isViolation(
        error(DiscoverCharacteristics(in: .all), after: octets("09 07 0200 02 0000 002a"))))
    // The same with handles that are right is none.
    #expect(error(DiscoverPrimaryServices(), after: octets("11 06 0100 0500 0018")) == nil)
    #expect(error(DiscoverDescriptors(in: .all), after: octets("05 01 0100 0229")) == nil)
  }

  /// H13: the echo of a prepared write with another handle, offset or part, shorter and longer.
  @Test func h13EchoThatDiffers() {
    let write = PrepareWrite(3, offset: 0, part: [1, 2, 3])
    for echo in [
      "17 0400 0000 010203", "17 0300 0100 010203", "17 0300 0000 010204", "17 0300 0000 0102",
      "17 0300 0000 01020304", "17 0300 0000", "17 0300 0000" + String(repeating: "01", count: 59),
    ] {
      #expect(
        error(write, after: octets(echo)) == .violation(.echoMismatch(3, offset: 0)), "\(echo)")
    }
    #expect(error(write, after: octets("17 0300 0000 010203")) == nil)
  }

  /// H22: a whole PDU of the greatest length is one response; its first half is none.
  @Test func h22PrepareWriteResponseInTwo() {
    let part = [UInt8](repeating: 7, count: 512)
    let whole: [UInt8] = [0x17, 3, 0, 0, 0] + part
    let write = PrepareWrite(3, offset: 0, part: part)
    #expect(error(write, after: whole, mtu: 517) == nil)
    #expect(
      error(write, after: [UInt8](whole.prefix(258)), mtu: 517)
        == .violation(.echoMismatch(3, offset: 0)))
  }
}
