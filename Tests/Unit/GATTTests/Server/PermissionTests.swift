import TestSupport
import AttoATT
import AttoGATT
import Testing

/// Permissions: every requirement, in each direction, with every request. H3, H24;
/// Vol 3, Part F, 3.2.5 and 4.
@Suite(.sideBySide) struct PermissionTests {
  static let links: [LinkSecurity] = [
    .low, LinkSecurity(level: .medium, keySize: 7), LinkSecurity(level: .medium, keySize: 15),
    LinkSecurity(.medium), LinkSecurity(level: .high, keySize: 7), LinkSecurity(.high),
    LinkSecurity(.fips),
  ]

  static let requirements: [AttributePermissions.Requirement] = SecurityLevel.allCases.flatMap {
    level in
    ([0, 7, 16] as [UInt8]).flatMap { keySize in
      [false, true].map { authorization in
        AttributePermissions.Requirement(
          security: level, keySize: keySize, authorization: authorization)
      }
    }
  }

  /// The expected error, implemented a second time: from the strongest requirement that is not met.
  private func expected(
    _ requirement: AttributePermissions.Requirement, _ link: LinkSecurity, authorized: Bool
  ) -> UInt8? {
    let isEncrypted = link.level > .low
    let isAuthenticated = link.level >= .high
    switch requirement.security {
    case .low: break
    case .medium: if !isEncrypted { return 0x0F }
    case .high: if !isAuthenticated { return 0x05 }
    case .fips: if link.level != .fips { return 0x05 }
    }
    if requirement.keySize > 0 {
      if !isEncrypted { return 0x0F }
      if link.keySize < requirement.keySize { return 0x0C }
    }
    if requirement.authorization && !authorized { return 0x08 }
    return nil
  }

  private func database(_ permissions: AttributePermissions) -> Database {
    Database(
      service(
        0x1800, at: 1, value(0x2A00, .stored([7], ValueLimits(maximumLength: 4)), permissions)))
  }

  private func server(_ permissions: AttributePermissions, authorizes: Bool) -> Server {
    let application = ScriptedApplication()
    application.authorizations[3] = authorizes ? .accepted : .refused(.insufficientAuthorization)
    return Server(database(permissions), application: application)
  }

  private static let reads = [
    ("0a 0300", "0b 07"), ("0c 0300 0000", "0d 07"), ("0e 0300 0300", "0f 07 07"),
    ("20 0300 0300", "21 01 00 07 01 00 07"), ("08 0100 ffff 002a", "09 03 03 00 07"),
  ]

  private static let writes = [("12 0300 09", "13"), ("16 0300 0000 09", "17 03 00 00 00 09")]

  @Test(arguments: requirements) func reading(
    _ requirement: AttributePermissions.Requirement
  ) {
    for link in Self.links {
      for authorized in [false, true] {
        // Only this direction has the requirement.
        let station = TestSession(
          server(
            AttributePermissions(read: .requires(requirement), write: .open),
            authorizes: authorized), security: link)
        let code = expected(requirement, link, authorized: authorized)
        for (request, response) in Self.reads {
          let error = "01 \(request.prefix(2)) 03 00"
          #expect(
            station.send(request) == [code.map { error + " " + hexText([$0]) } ?? response],
            "\(link)")
        }
        // Unreadable attributes are not found by their value either.
        #expect(
          station.send("06 0100 ffff 002a 07")
            == [code == nil ? "07 03 00 03 00" : "01 06 01 00 0a"])
        #expect(station.send("12 0300 07") == ["13"])
      }
    }
  }

  @Test(arguments: requirements) func writing(
    _ requirement: AttributePermissions.Requirement
  ) {
    for link in Self.links {
      for authorized in [false, true] {
        let server = server(
          AttributePermissions(read: .open, write: .requires(requirement)),
          authorizes: authorized)
        let station = TestSession(server, security: link)
        let code = expected(requirement, link, authorized: authorized)
        for (request, response) in Self.writes {
          let error = "01 \(request.prefix(2)) 03 00"
          #expect(
            station.send(request) == [code.map { error + " " + hexText([$0]) } ?? response],
            "\(link)")
        }
        #expect(station.send("18 01") == ["19"])
        #expect(server.database.value(of: 3) == [code == nil ? 9 : 7])
        // A command has the effect of a request, without a response.
        #expect(station.send("52 0300 0a") == [])
        #expect(server.database.value(of: 3) == [code == nil ? 0x0A : 7])
        #expect(station.send("0a 0300").first?.hasPrefix("0b") == true)
      }
    }
  }

  @Test func denied() {
    for link in Self.links {
      let unreadable = TestSession(server(.writeOnly, authorizes: true), security: link)
      for (request, _) in Self.reads {
        #expect(unreadable.send(request) == ["01 \(request.prefix(2)) 03 00 02"])
      }
      let unwritable = TestSession(server(.readOnly, authorizes: true), security: link)
      for (request, _) in Self.writes {
        #expect(unwritable.send(request) == ["01 \(request.prefix(2)) 03 00 03"])
      }
    }
  }

  /// Rule 4: the client may raise the security and try again.
  @Test func raisingTheSecurity() {
    let station = TestSession(
      server(
        AttributePermissions(
          read: .requires(AttributePermissions.Requirement(security: .fips, keySize: 16))),
        authorizes: true))
    #expect(station.send("0a 0300") == ["01 0a 03 00 05"])
    station.client.security = LinkSecurity(.high)
    #expect(station.send("0a 0300") == ["01 0a 03 00 05"])
    station.client.security = LinkSecurity(.fips)
    #expect(station.send("0a 0300") == ["0b 07"])
    #expect(station.failure == nil)
  }
}
