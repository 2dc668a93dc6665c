import AttoATT
import CAttoLinux
import AttoEventLoop
import Foundation
import Glibc
import AttoLinks
import TestSupport
import Testing

@testable import AttoRadio
@testable import AttoVirtualRadio

@Suite(.timeLimit(.minutes(5)), .oneByOne) struct AirLinkTests {
  let air: Air
  init() throws { air = Air() }

  /// A connected pair: the central's end and the peripheral's.
  private func pair(
    central: LinkSecurity = LinkSecurity(.fips), peripheral: LinkSecurity = LinkSecurity(.fips)
  ) async throws -> (central: End, peripheral: End) {
    let radio = try air.adapter("Strap", maximum: peripheral)
    let advertisement = try await radio.advertise(strap())
    let phone = try air.adapter("Phone", maximum: central)
    let connected = try await phone.connect(to: radio.address)
    let links = advertisement.links.makeAsyncIterator()
    let accepted = try #require(await links.next())
    #expect(connected.peer == radio.address && connected.isCentral)
    #expect(accepted.peer == phone.address && !accepted.isCentral)
    #expect(connected.peerIdentity == "Strap" && accepted.peerIdentity == "Phone")
    return (End(connected), End(accepted))
  }

  @Test func pdusArriveWhole() async throws {
    let (central, peripheral) = try await pair()
    for length in [1, 3, 23, 517] {
      let pdu = (0..<length).map { UInt8(truncatingIfNeeded: $0) }
      #expect(try await central.send(pdu) == .sent)
      #expect(try await central.send([0x1E]) == .sent)
      #expect(try await peripheral.receive() == pdu)
      #expect(try await peripheral.receive() == [0x1E])
      #expect(try await peripheral.send(pdu) == .sent)
      #expect(try await central.receive() == pdu)
    }
    #expect(await central.peerName == "air:Strap")
    #expect(await peripheral.peerName == "air:Phone")
  }

  @Test func octetsSentBeforeTheEndAreReceived() async throws {
    let (central, peripheral) = try await pair()
    await peripheral.prepare()
    try await central.send([1, 2, 3])
    try await central.send([4])
    await central.close()
    #expect(try await peripheral.receive() == [1, 2, 3])
    #expect(try await peripheral.receive() == [4])
    #expect(try await peripheral.receive() == nil)
    #expect(await peripheral.reason == .remoteUserTerminated)
    #expect(try await central.receive() == nil)
    await #expect(throws: LinkError.self) { try await central.raise(.medium) }
  }

  @Test func aReleasedLinkEndsTheOtherEnd() async throws {
    let (central, peripheral) = try await pair()
    await peripheral.prepare()
    await central.prepare()
    await central.abandon()
    #expect(try await peripheral.receive() == nil)
    // Without a message, as when a process dies.
    #expect(await peripheral.reason == nil)
  }

  @Test func aLinkThatIsNotAcceptedIsClosed() async throws {
    let radio = try air.adapter("Strap")
    let advertisement = try await radio.advertise(strap())
    let phone = try air.adapter()
    let end = End(try await phone.connect(to: radio.address))
    advertisement.stop()
    #expect(try await end.receive() == nil)
    let links = advertisement.links.makeAsyncIterator()
    #expect(await links.next() == nil)
  }

  // MARK: Security

  @Test(arguments: [SecurityLevel.medium, .high, .fips], [true, false])
  func eitherEndRaisesSecurity(level: SecurityLevel, byCentral: Bool) async throws {
    let (central, peripheral) = try await pair()
    let (asker, other) = byCentral ? (central, peripheral) : (peripheral, central)
    await other.prepare()
    #expect(await asker.security == .low)
    // A PDU that is sent meanwhile would arrive too early.
    #expect(try await asker.raise(level, andSend: [1]) == .wouldBlock)
    await asker.reach(level)
    #expect(await other.security == LinkSecurity(level))
    #expect(await asker.security == LinkSecurity(level))
    #expect(try await asker.send([1]) == .sent)
    #expect(try await other.receive() == [1])
    #expect(await other.told == [.securityChanged])
    #expect(await asker.told == [.securityChanged, .writable])
    // The level is already reached: nothing happens.
    try await asker.raise(.medium)
    try await other.raise(level)
    #expect(try await asker.send([2]) == .sent)
    #expect(try await other.receive() == [2])
  }

  @Test func bothEndsRaiseAtOnceAndAgain() async throws {
    let (central, peripheral) = try await pair()
    try await central.raise(.medium)
    try await central.raise(.high)
    try await peripheral.raise(.fips)
    await central.reach(.fips)
    await peripheral.reach(.fips)
    try await central.raise(.fips)
    #expect(await central.security == LinkSecurity(.fips))
  }

  @Test func theShorterKeySizeIsUsed() async throws {
    let (central, peripheral) = try await pair(
      central: LinkSecurity(level: .high, keySize: 9), peripheral: LinkSecurity(.fips))
    try await peripheral.raise(.high)
    await peripheral.reach(.high)
    #expect(await peripheral.security == LinkSecurity(level: .high, keySize: 9))
    #expect(await central.security == LinkSecurity(level: .high, keySize: 9))
  }

  @Test(arguments: [SecurityLevel.low, .medium, .high])
  func aLevelAboveThePeersMaximumEndsTheLink(maximum: SecurityLevel) async throws {
    let (central, peripheral) = try await pair(peripheral: LinkSecurity(maximum))
    await peripheral.prepare()
    try await central.raise(.fips)
    let error = await #expect(throws: LinkError.self) { try await central.receive() }
    #expect(error?.reason == .system(EACCES) && error?.operation == .raiseSecurity)
    #expect(try await central.receive() == nil)
    #expect(await central.reason == .authenticationFailure)
    #expect(try await peripheral.receive() == nil)
    #expect(await peripheral.reason == .authenticationFailure)
    #expect(await peripheral.security == LinkSecurity(maximum))
  }

  @Test func aLevelAboveTheOwnMaximumEndsTheLink() async throws {
    let (central, peripheral) = try await pair(central: .low)
    await peripheral.prepare()
    try await central.raise(.medium)
    await #expect(throws: LinkError.self) { try await central.receive() }
    #expect(try await peripheral.receive() == nil)
    #expect(await peripheral.reason == .authenticationFailure)
  }

  // MARK: Connecting

  @Test func severalCentralsConnectOneAfterAnotherAndAtOnce() async throws {
    let radio = try air.adapter("Strap")
    let advertisement = try await radio.advertise(strap())
    let server = Task {
      var ends: [End] = []
      for await link in advertisement.links {
        let end = End(link)
        ends.append(end)
        Task { while let pdu = try await end.receive() { try await end.send(pdu + [0xFF]) } }
      }
      return ends.count
    }
    let air = air
    try await withThrowingTaskGroup(of: Void.self) { group in
      for index in 0..<40 {
        group.addTask {
          let end = End(try await air.adapter().connect(to: .name("Strap")))
          try await end.send([UInt8(index)])
          #expect(try await end.receive() == [UInt8(index), 0xFF])
        }
      }
      try await group.waitForAll()
    }
    advertisement.stop()
    #expect(await server.value == 40)
  }

  @Test func oneLinkForEachCentral() async throws {
    let radio = try air.adapter("Strap")
    let advertisement = try await radio.advertise(strap())
    let phone = try air.adapter()
    let first = End(try await phone.connect(to: radio.address))
    await #expect(throws: RadioError.refused(radio.address, .connectionAlreadyExists)) {
      try await phone.connect(to: radio.address)
    }
    let links = advertisement.links.makeAsyncIterator()
    let accepted = End(try #require(await links.next()))
    await first.close()
    // At once, even if the other end has not received the end of the first link.
    let second = End(try await phone.connect(to: radio.address))
    try await second.send([1])
    #expect(try await accepted.receive() == nil)
    let again = End(try #require(await links.next()))
    #expect(try await again.receive() == [1])
  }

  @Test func advertisingStopsWhenConnected() async throws {
    let radio = try air.adapter("Strap")
    var parameters = strap()
    parameters.stopsWhenConnected = true
    let advertisement = try await radio.advertise(parameters)
    var events = try air.adapter().scan().makeAsyncIterator()
    _ = try await events.next()
    let end = End(try await air.adapter().connect(to: radio.address))
    #expect(try await events.next() == .gone(radio.address))
    let links = advertisement.links.makeAsyncIterator()
    let accepted = End(try #require(await links.next()))
    #expect(await links.next() == nil)
    try await end.send([7])
    #expect(try await accepted.receive() == [7])
    // Another one can start.
    let second = try await radio.advertise(strap())
    withExtendedLifetime((advertisement, second)) {}
  }

  @Test func connectingWaitsForTheRadio() async throws {
    let air = air
    let phone = try air.adapter()
    let other = try air.adapter("Other")
    let otherAdvertisement = try await other.advertise(strap("Other"))
    let byName = Task { try await phone.connect(to: .name("Strap"), timeout: nil) }
    let byLocalName = Task {
      try await air.adapter().connect(to: .name("Late"), timeout: .seconds(50))
    }
    let radio = try air.adapter("Strap")
    var parameters = strap("Late")
    parameters.isConnectable = false
    let advertisement = try await radio.advertise(parameters)
    try await advertisement.update(strap("Late"))
    #expect(try await byName.value.peer == radio.address)
    #expect(try await byLocalName.value.peer == radio.address)
    withExtendedLifetime(otherAdvertisement) {}
  }

  @Test func notFoundListsOtherRadios() async throws {
    let phone = try air.adapter()
    let nobody = await #expect(throws: RadioError.self) {
      try await phone.connect(to: .name("Strap"), timeout: .milliseconds(1))
    }
    #expect(
      nobody?.description
        == "no radio \"Strap\" found within 0.001 seconds; no radio is on the air")
    let belt = try air.adapter("Belt", address: BluetoothAddress(0xC000_0000_0001, kind: .random))
    let unnamed = try air.adapter(address: BluetoothAddress(0xC000_0000_0002, kind: .random))
    var beacon = AdvertisingParameters(AdvertisingData())
    beacon.isConnectable = false
    let held = [try await belt.advertise(strap()), try await unnamed.advertise(beacon)]
    let error = await #expect(throws: RadioError.self) {
      try await phone.connect(to: .name("Watch"), timeout: .milliseconds(1))
    }
    #expect(
      error?.description == """
        no radio "Watch" found within 0.001 seconds; on the air: \
        "Belt" (C0:00:00:00:00:01), C0:00:00:00:00:02, not connectable
        """)
    await #expect(throws: RadioError.notConnectable(unnamed.address)) {
      try await phone.connect(to: unnamed.address, timeout: .milliseconds(1))
    }
    withExtendedLifetime(held) {}
  }

  @Test func aLocalNameOfSeveralIsAmbiguous() async throws {
    let first = try air.adapter("First")
    let second = try air.adapter("Second")
    let held = [try await first.advertise(strap()), try await second.advertise(strap())]
    let phone = try air.adapter()
    let error = await #expect(throws: RadioError.self) {
      try await phone.connect(to: .name("Strap"))
    }
    guard case .ambiguous("Strap", let who)? = error else {
      Issue.record("\(String(describing: error))")
      return
    }
    #expect(Set(who.map(\.address)) == [first.address, second.address])
    // The name of a radio takes precedence over local names.
    let third = try air.adapter("Strap")
    let advertisement = try await third.advertise(strap("Something else"))
    #expect(try await phone.connect(to: .name("Strap")).peer == third.address)
    withExtendedLifetime((held, advertisement)) {}
  }

  @Test func everyAwaitEnds() async throws {
    let air = air
    let phone = try air.adapter()
    let attempt = Task { try await phone.connect(to: .name("Strap"), timeout: nil) }
    attempt.cancel()
    await #expect(throws: RadioError.cancelled) { try await attempt.value }
    let pending = Task { try await phone.connect(to: .name("Strap"), timeout: nil) }
    // In progress when the adapter is closed, or started afterwards.
    await phone.close()
    await #expect(throws: RadioError.closed) { try await pending.value }
    await #expect(throws: RadioError.closed) { try await phone.advertise(strap()) }

    let radio = try air.adapter("Strap")
    let advertisement = try await radio.advertise(strap())
    let waiting = Task { () -> Bool in
      let links = advertisement.links.makeAsyncIterator()
      return await links.next() == nil
    }
    waiting.cancel()
    #expect(await waiting.value)
    let last = Task { () -> Bool in
      let links = advertisement.links.makeAsyncIterator()
      return await links.next() == nil
    }
    await radio.close()
    #expect(await last.value)
  }

  @Test func wrongParametersAreRefused() async throws {
    let radio = try air.adapter("Strap")
    var parameters = strap()
    parameters.interval = .milliseconds(19)
    await #expect(throws: RadioError.invalidInterval(.milliseconds(19))) {
      try await radio.advertise(parameters)
    }
    let large = AdvertisingParameters(
      AdvertisingData(manufacturerData: [.init(company: 1, [UInt8](repeating: 0, count: 30))]))
    await #expect(
      throws: RadioError.advertisingData(
        .doesNotFit(.manufacturerData, length: 34, lacking: 3))
    ) { try await radio.advertise(large) }
    // Octets are not checked.
    let octets = try #require(LegacyAdvertisement(advertisement: [9, 9], scanResponse: [0xFF]))
    let advertisement = try await radio.advertise(AdvertisingParameters(octets: octets))
    var events = try air.adapter().scan().makeAsyncIterator()
    guard case .found(let discovery)? = try await events.next() else {
      Issue.record("not found")
      return
    }
    #expect(discovery.advertisement == [9, 9] && discovery.scanResponse == [0xFF])
    #expect(discovery.data.malformation == .overlong(offset: 0, length: 9, available: 1))
    withExtendedLifetime(advertisement) {}
  }
}
