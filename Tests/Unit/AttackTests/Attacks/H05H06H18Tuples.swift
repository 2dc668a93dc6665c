import TestSupport
import AttoATT
import AttoGATT
import Testing

/// Lists with wrong lengths: tuples that exceed or fill the PDU, or leave one octet.
@Suite(.sideBySide) struct H05H06H18Tuples {
  /// The tuples of a Multiple Handle Value Notification, and how many octets are left.
  private func tuples(_ pdu: String) -> String {
    let octets = octets(pdu)
    guard case .multipleHandleValueNotification(let list) = PDU(octets.span.bytes) else {
      return "none"
    }
    var found: [String] = []
    var iterator = list.makeIterator()
    while let next = iterator.next() { found.append("\(next.handle)=\(hexText(next.value.owned))") }
    return (found + ["rest \(iterator.remainder)"]).joined(separator: " ")
  }

  private var strap: TestSession {
    let gatt = ServiceDefinition(
      .genericAttribute, handle: 0x10,
      characteristics: [
        CharacteristicDefinition(
          .clientSupportedFeatures, properties: [.read, .write], value: .clientSupportedFeatures)
      ])
    let strap = TestSession(
      service(value([7], .readWrite, [.read, .notify]), value([8], .readWrite, [.read, .notify])),
      gatt)
    #expect(strap.send("12 1200 04") == ["13"])
    return strap
  }

  @Test("H5 client: a tuple whose length reaches past the PDU is dropped, the whole ones are not")
  func h05Client() {
    for (pdu, told) in [
      ("23 0300 0100 aa 0700 0200 bb", "0x0003=aa rest 5"),
      ("23 0300 ffff aa 0700 0000", "rest 9"),
      ("23 0300 0100 aa 0700 ffff bb", "0x0003=aa rest 5"),
    ] {
      let client = TestSession()
      #expect(client.send(pdu) == [])
      #expect(client.actions == [.notifications])
      #expect(tuples(pdu) == told)
    }
  }

  @Test("H5 server: such a PDU does nothing to it; its own tuples say the length that they have")
  func h05Server() {
    let server = strap
    #expect(server.send("23 0300 ffff aa 0700 0000") == [])
    #expect(server.send("0a 0300") == ["0b 07"])
    for count in 0...13 {
      let isSent = server.session.notify([
        (3, [UInt8](repeating: 1, count: count)), (5, [2]),
      ])
      #expect(isSent)
      #expect(
        tuples(server.sent[0])
          == "0x0003=\(hexText(1, times: count)) 0x0005=02 rest 0")
    }
  }

  @Test("H6 server: tuples that fill the PDU to its last octet go, one octet more does not")
  func h06Server() {
    let server = strap
    func notify(_ first: Int, _ second: Int) -> Bool {
      server.session.notify([
        (3, [UInt8](repeating: 1, count: first)), (5, [UInt8](repeating: 2, count: second)),
      ])
    }
    #expect(notify(7, 7))
    let pdu = server.sent[0]
    #expect(octets(pdu).count == 23)
    #expect(tuples(pdu) == "0x0003=\(hexText(1, times: 7)) 0x0005=\(hexText(2, times: 7)) rest 0")
    #expect(!notify(7, 8) && !notify(15, 0) && !notify(0, 15))
    #expect(server.sent == [])
    #expect(notify(14, 0) && notify(0, 14))
  }

  @Test("H6 client: a PDU that is full to its last octet is taken whole, and one octet more is not")
  func h06Client() {
    let full = "23 0300 0700 \(hexText(1, times: 7)) 0500 0700 \(hexText(2, times: 7))"
    let client = TestSession()
    client.send(full)
    #expect(client.actions == [.notifications])
    #expect(tuples(full) == "0x0003=\(hexText(1, times: 7)) 0x0005=\(hexText(2, times: 7)) rest 0")
    client.send(full + "00")
    #expect(client.actions == [.notifications])
    #expect(client.failure == nil)
  }

  @Test("H18 client: octets after the last tuple are no tuple, and no list is read past its end")
  func h18Client() {
    #expect(tuples("23 0300 0000 0700 0000 01") == "0x0003= 0x0007= rest 1")
    #expect(tuples("23 0300 0000 0700 0000 010203") == "0x0003= 0x0007= rest 3")
    // Responses that are too short for an entry.
    for (procedure, response) in [
      (DiscoverDescriptors(in: .all) as any Procedure, "05 01 0100 0029 02"),
      (DiscoverPrimaryServicesByUUID(0x1800), "07 0100 0500 06"),
      (DiscoverPrimaryServices(), "11 06 0100 0500 0018 0600"),
      (DiscoverCharacteristics(in: .all), "09 07 0200 02 0300 002a 04"),
    ] {
      let client = TestSession()
      let isFailed = fails(client, procedure, response)
      #expect(isFailed, "\(response)")
      guard case .malformedResponse? = client.failure else {
        Issue.record("\(response): \(String(describing: client.failure))")
        continue
      }
    }
  }

  private func fails<P: Procedure>(_ client: TestSession, _ procedure: P, _ response: String)
    -> Bool
  {
    client.perform(procedure, response)?.error != nil
  }

  @Test("H18 server: requests with half a handle, half a type or half an offset are refused")
  func h18Server() {
    let server = strap
    for pdu in [
      "0e 0300 05", "0e 0300 0500 07", "20 0300 05", "20 0300 0500 07", "06 0100 ffff 00",
      "08 0100 ffff 00", "08 0100 ffff 002a00", "10 0100 ffff 00", "0c 0300 00", "16 0300 00",
      "04 0100 ff", "02 17", "0a 03", "12 03",
    ] {
      #expect(server.send(pdu) == ["01 \(pdu.prefix(2)) 00 00 04"])
    }
    #expect(server.send("0a 0300") == ["0b 07"])
  }
}
