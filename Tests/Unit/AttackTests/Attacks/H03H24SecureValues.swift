import TestSupport
import AttoATT
import AttoGATT
import Testing

/// Permissions that require a more secure link: bypassed, or accepted with a less secure one.
@Suite(.sideBySide) struct H03H24SecureValues {
  /// No request gives access to a value whose requirement is not met.
  private func staysShut(_ wanted: SecurityLevel, on link: SecurityLevel) {
    let condition = AttributePermissions.Access.requires(
      AttributePermissions.Requirement(security: wanted))
    let secure = AttributePermissions(read: condition, write: condition)
    let server = TestSession(
      service(
        value(
          [0xC0], secure, [.read, .write, .notify],
          descriptors: [
            DescriptorDefinition(
              .characteristicUserDescription, value: .stored([0xC1]), permissions: secure)
          ])), security: LinkSecurity(link))
    var random = SplitMix64(seed: UInt64(24 + link.rawValue))
    server.send("12 0400 0100")
    func handle() -> UInt8 { UInt8.random(in: 0...6, using: &random) }
    for _ in 0..<8000 {
      var pdu: [UInt8]
      switch Int.random(in: 0..<10, using: &random) {
      case 0: pdu = [0x0A, handle(), 0]
      case 1: pdu = [0x0C, handle(), 0, UInt8.random(in: 0...1, using: &random), 0]
      case 2: pdu = [0x0E, handle(), 0, handle(), 0]
      case 3: pdu = [0x20, handle(), 0, handle(), 0, handle(), 0]
      case 4: pdu = [0x08, 1, 0, 0xFF, 0xFF, Bool.random(using: &random) ? 0 : 1, 0x2A]
      case 5: pdu = [0x06, 1, 0, 0xFF, 0xFF, 0, 0x2A, 0xC0]
      case 6: pdu = [0x12, handle(), 0, 1]
      case 7: pdu = [0x16, handle(), 0, 0, 0, 1]
      case 8: pdu = [0x18, UInt8.random(in: 0...1, using: &random)]
      default: pdu = [0x52, handle(), 0, 1]
      }
      let answers = server.send(pdu)
      for answer in answers where pdu[0] != 0x06 || !answer.hasPrefix("01") {
        #expect(
          !answer.contains("c0") && !answer.contains("c1") && !answer.hasPrefix("07"),
          "\(hexText(pdu)): \(answer)")
      }
    }
    #expect(server.value(of: 3) == [0xC0])
    #expect(server.value(of: 5) == [0xC1])
    #expect(server.server.deliveries(of: 3, to: server.client) == [])
    server.client.security = LinkSecurity(wanted)
    #expect(server.send("0a 0300") == ["0b c0"])
  }

  @Test("H3 server: no request gets at a value whose link must be encrypted or authenticated")
  func h03Server() {
    staysShut(.medium, on: .low)
    staysShut(.high, on: .low)
    staysShut(.high, on: .medium)
  }

  @Test(
    "H24 server: an authenticated link without Secure Connections opens nothing that wants them")
  func h24Server() {
    staysShut(.fips, on: .low)
    staysShut(.fips, on: .medium)
    staysShut(.fips, on: .high)
  }

  @Test("H3 client: a refusal is told with its code, and nothing is sent again in the clear")
  func h03Client() {
    let client = TestSession()
    for code: ErrorCode in [
      .insufficientAuthentication, .insufficientEncryption, .encryptionKeySizeTooShort,
    ] {
      let read = client.start(ReadCharacteristicValue(3))
      #expect(client.sent == ["0a 03 00"])
      #expect(client.send([0x01, 0x0A, 3, 0, code.rawValue]) == [])
      #expect(read.result == .failure(refusal(.readRequest, 3, code)))
    }
  }

  @Test("H24 client: a request that was refused waits until the link has risen, and only then goes")
  func h24Client() {
    for isRaised in [true, false] {
      let client = TestSession()
      client.session.asksForSecurity = true
      let read = client.start(ReadCharacteristicValue(3))
      _ = client.sent
      #expect(client.send("01 0a 0300 05") == [])
      #expect(client.actions == [.securityWanted(.insufficientAuthentication)])
      #expect(read.result == nil && client.session.insecureCount == 1)
      if isRaised {
        client.session.securityRaised(at: .zero)
        #expect(client.sent == ["0a 03 00"])
        client.send("0b c0")
        #expect(read.result == .success([0xC0]))
      } else {
        client.session.securityNotRaised(at: .zero)
        #expect(client.sent == [])
        #expect(
          read.result == .failure(refusal(.readRequest, 3, .insufficientAuthentication)))
      }
    }
  }
}
