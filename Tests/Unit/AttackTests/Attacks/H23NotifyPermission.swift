import TestSupport
import AttoATT
import AttoGATT
import Testing

/// Permission to notify derived from the declaration instead of the value.
@Suite(.sideBySide) struct H23NotifyPermission {
  @Test("H23 server: who may be sent a value is who may read it, as the link is then")
  func h23Server() {
    let secure = AttributePermissions(
      read: .requires(AttributePermissions.Requirement(security: .high, keySize: 10)))
    let open = [
      DescriptorDefinition(.clientCharacteristicConfiguration, permissions: .readWrite)
    ]
    // Values at 0x0003, 0x0006 and 0x0009, each with its configuration after it.
    let defender = TestSession(
      service(
        value([7], .readWrite, [.read, .notify], descriptors: open),
        value([8], secure, [.read, .notify], descriptors: open),
        value([9], AttributePermissions(), [.notify], descriptors: open)))
    func deliveries() -> [ClientCharacteristicConfiguration] {
      [0x03, 0x06, 0x09].map { defender.server.deliveries(of: $0, to: defender.client) }
    }
    #expect(deliveries() == [[], [], []])
    for handle in ["0400", "0700", "0a00"] { #expect(defender.send("12 \(handle) 0100") == ["13"]) }
    #expect(deliveries() == [.notification, [], .notification])
    defender.client.security = LinkSecurity(level: .high, keySize: 9)
    #expect(deliveries() == [.notification, [], .notification])
    defender.client.security = LinkSecurity(level: .high, keySize: 10)
    #expect(deliveries() == [.notification, .notification, .notification])
    // A declaration cannot be notified, whatever its permissions.
    #expect(defender.server.deliveries(of: 0x02, to: defender.client) == [])
    #expect(defender.server.deliveries(of: 0x99, to: defender.client) == [])
  }
}
