import AttoATT
import Foundation
import Glibc
import AttoLinks
import TestSupport
import Testing

@testable import AttoRadio
@testable import AttoVirtualRadio

@Suite(.timeLimit(.minutes(5)), .oneByOne) struct AirScanTests {
  let air: Air
  init() throws { air = Air() }

  @Test func anAdvertiserIsFoundAndGone() async throws {
    let strapRadio = try air.adapter("Strap")
    let scanner = try air.adapter()
    var parameters = strap()
    parameters.simulatedRSSI = -61
    let advertisement = try await strapRadio.advertise(parameters)
    var events = scanner.scan().makeAsyncIterator()
    guard case .found(let discovery) = try await events.next() else {
      Issue.record("not found")
      return
    }
    #expect(discovery.address == strapRadio.address)
    #expect(discovery.address == .staticRandom(name: "Strap"))
    #expect(discovery.rssi == -61 && discovery.isConnectable)
    let octets: [UInt8] = [2, 1, 6, 3, 3, 0x0D, 0x18, 6, 9, 0x53, 0x74, 0x72, 0x61, 0x70]
    #expect(discovery.advertisement == octets && discovery.scanResponse == [])
    #expect(discovery.data.serviceUUIDs == [0x180D] && discovery.data.localName == "Strap")
    advertisement.stop()
    #expect(try await events.next() == .gone(strapRadio.address))
    // And again, after the scan has started.
    let second = try await strapRadio.advertise(parameters)
    #expect(try await events.next() == .found(discovery))
    withExtendedLifetime(second) {}
  }

  /// A radio neither finds itself nor connects to itself, with duplicates and by name too.
  @Test func aRadioDoesNotHearItself() async throws {
    let radio = try air.adapter("Strap")
    var parameters = strap()
    parameters.interval = .milliseconds(20)
    let own = try await radio.advertise(parameters)
    var options = ScanOptions()
    options.reportsDuplicates = true
    var events = radio.scan(options).makeAsyncIterator()
    let other = try air.adapter("Belt")
    parameters.interval = .seconds(10)
    let advertisement = try await other.advertise(parameters)
    guard case .found(let discovery) = try await events.next() else {
      Issue.record("not found")
      return
    }
    #expect(discovery.address == other.address)
    own.stop()
    advertisement.stop()
    #expect(try await events.next() == .gone(other.address))
    let again = try await radio.advertise(strap())
    for target in [PeerTarget.address(radio.address), .name("Strap")] {
      await #expect {
        _ = try await radio.connect(to: target, timeout: .milliseconds(50))
      } throws: { error in
        guard case RadioError.notFound(_, _, let onAir) = error else { return false }
        return onAir.isEmpty
      }
    }
    withExtendedLifetime(again) {}
  }

  @Test func releasingAScanAndARadio() async throws {
    let scanner = try air.adapter()
    var events = scanner.scan().makeAsyncIterator()
    let address: BluetoothAddress
    do {
      let radio = try air.adapter("Strap")
      address = radio.address
      let advertisement = try await radio.advertise(strap())
      guard case .found = try await events.next() else {
        Issue.record("not found")
        return
      }
      withExtendedLifetime(advertisement) {}
    }
    #expect(try await events.next() == .gone(address))
    // The adapter is released as well, and with it its files.
    let again = try await claim("Strap")
    #expect(again.address == address)
  }

  /// Opens a radio whose name is being released.
  private func claim(_ name: String) async throws -> Adapter {
    while true {
      do { return try air.adapter(name) } catch RadioError.addressInUse { await Task.yield() }
    }
  }

  /// A radio that does not advertise has no record with its process.
  @Test func theProcessOfARadioInUse() async throws {
    let radio = try air.adapter("Strap")
    #expect(throws: RadioError.addressInUse(radio.address, name: "", process: getpid())) {
      try air.adapter("Strap")
    }
    let address = BluetoothAddress(0xC000_0000_0001, kind: .random)
    // What another process's radio has in the folder.
    mkfifo(air.file("c00000000001.life"), 0o600)
    let foreign = try #require(FileHandle(forUpdatingAtPath: air.file("c00000000001.life")))
    #expect(throws: RadioError.addressInUse(address, name: "", process: nil)) {
      try air.adapter(address: address)
    }
    withExtendedLifetime((radio, foreign)) {}
  }

  @Test func changesAreSeenOnce() async throws {
    let radio = try air.adapter("Strap")
    let advertisement = try await radio.advertise(strap())
    var events = try air.adapter().scan().makeAsyncIterator()
    _ = try await events.next()
    var changed = strap()
    changed.isConnectable = false
    try await advertisement.update(changed)
    try await advertisement.update(changed)
    try await advertisement.update(strap("Belt"))
    // Updates in quick succession may be reported as one, but never out of order or twice.
    var seen: [Discovery] = []
    while seen.last?.data.localName != "Belt" {
      guard case .seen(let discovery) = try await events.next() else {
        Issue.record("not seen")
        return
      }
      seen.append(discovery)
    }
    #expect(seen.last?.isConnectable == true && seen.count <= 2)
    #expect(seen.dropLast().allSatisfy { !$0.isConnectable && $0.data.localName == "Strap" })
  }

  @Test func duplicatesAreReportedAtTheirInterval() async throws {
    let radio = try air.adapter("Strap")
    var parameters = strap()
    parameters.interval = .milliseconds(20)
    let advertisement = try await radio.advertise(parameters)
    var options = ScanOptions()
    options.reportsDuplicates = true
    let start = ContinuousClock.now
    var events = try air.adapter().scan(options).makeAsyncIterator()
    guard case .found(let discovery) = try await events.next() else {
      Issue.record("not found")
      return
    }
    for _ in 0..<5 { #expect(try await events.next() == .seen(discovery)) }
    #expect(ContinuousClock.now - start >= .milliseconds(100))
    advertisement.stop()
    while let event = try await events.next(), event != .gone(radio.address) {}
  }

  @Test func filters() async throws {
    var parameters: [String: AdvertisingParameters] = [:]
    for (index, name) in ["Alpha", "Beta", "Gamma"].enumerated() {
      parameters[name] = AdvertisingParameters(
        AdvertisingData(
          serviceUUIDs: [0x180D, BluetoothUUID(UInt16(0x1800 + index))], localName: name))
      parameters[name]?.simulatedRSSI = Int8(-40 - 10 * index)
    }
    var radios: [String: Adapter] = [:]
    var held: [Advertisement] = []
    for (name, parameters) in parameters {
      let radio = try air.adapter(name)
      radios[name] = radio
      held.append(try await radio.advertise(parameters))
    }
    let scanner = try air.adapter()
    func found(_ change: (inout ScanOptions) -> Void) async throws -> Set<String> {
      var options = ScanOptions()
      // What is on the air already is reported before the timer can fire.
      options.timeout = .milliseconds(1)
      change(&options)
      var names: Set<String> = []
      for try await event in scanner.scan(options) {
        if case .found(let discovery) = event { names.insert(discovery.data.localName ?? "-") }
      }
      return names
    }
    #expect(try await found { _ in } == ["Alpha", "Beta", "Gamma"])
    #expect(try await found { $0.services = [0x180D] } == ["Alpha", "Beta", "Gamma"])
    #expect(try await found { $0.services = [0x1801, 0x1234] } == ["Beta"])
    #expect(try await found { $0.services = [0x1234] } == [])
    #expect(try await found { $0.name = "Gamma" } == ["Gamma"])
    #expect(try await found { $0.name = "gamma" } == [])
    #expect(try await found { $0.minimumRSSI = -50 } == ["Alpha", "Beta"])
    #expect(try await found { $0.addresses = [.staticRandom(name: "Beta")] } == ["Beta"])
    #expect(
      try await found {
        $0.services = [0x180D]
        $0.minimumRSSI = -45
        $0.name = "Beta"
      } == [])
    withExtendedLifetime(held) {}
  }

  @Test func aPassiveScanLacksTheScanResponse() async throws {
    let radio = try air.adapter("Long")
    let advertisement = try await radio.advertise(strap("A name of twenty-nine octets."))
    var options = ScanOptions()
    options.isActive = false
    var events = try air.adapter().scan(options).makeAsyncIterator()
    guard case .found(let discovery) = try await events.next() else {
      Issue.record("not found")
      return
    }
    #expect(discovery.data.localName == nil && discovery.scanResponse == [])
    withExtendedLifetime(advertisement) {}
  }

  @Test func everyAwaitEnds() async throws {
    let scanner = try air.adapter()
    var options = ScanOptions()
    options.timeout = .milliseconds(5)
    var events = scanner.scan(options).makeAsyncIterator()
    #expect(try await events.next() == nil)

    let task = Task { () -> ScanEvent? in
      for try await event in scanner.scan() { return event }
      return nil
    }
    task.cancel()
    #expect(try await task.value == nil)

    var last = scanner.scan().makeAsyncIterator()
    await scanner.close()
    await #expect(throws: RadioError.closed) { try await last.next() }
    #expect(await scanner.state == .gone)
  }

  @Test func aFolderThatVanishesEndsTheScan() async throws {
    let scanner = try air.adapter()
    let radio = try air.adapter("Strap")
    let advertisement = try await radio.advertise(strap())
    var events = scanner.scan().makeAsyncIterator()
    guard case .found = try await events.next() else {
      Issue.record("not found")
      return
    }
    try FileManager.default.removeItem(atPath: air.path)
    #expect(try await events.next() == .gone(radio.address))
    await #expect(throws: RadioError.folder(path: air.path, .vanished)) { try await events.next() }
    withExtendedLifetime(advertisement) {}
  }

  /// Radios beyond the limit are reported when others have left and they change.
  @Test func radiosBeyondTheLimitWait() async throws {
    let folder = try AirFolder(path: air.path)
    let names = ["A", "B", "C"]
    var claims: [AirClaim] = []
    for name in names {
      let claim = try AirClaim(.staticRandom(name: name), in: folder)
      try claim.advertise(AirRecord())
      claims.append(claim)
    }
    #expect(try await air.adapter().countShown(in: folder, limit: 2) == 2)
    #expect(try await air.adapter().countShown(in: folder, limit: 3) == 3)
    withExtendedLifetime(claims) {}
  }

  @Test func droppedEventsAreCounted() async throws {
    var (events, sink): (ScanEvents?, ScanEvents.Sink) = ScanEvents.make {}
    let address = BluetoothAddress(1, kind: .random)
    for _ in 0..<5000 { sink.yield(.gone(address)) }
    var iterator = try #require(events).makeAsyncIterator()
    events = nil
    #expect(try await iterator.next() == .gone(address))
    sink.yield(.gone(address))
    sink.finish(throwing: .closed)
    for _ in 0..<4095 { #expect(try await iterator.next() == .gone(address)) }
    #expect(try await iterator.next() == .missed(904))
    #expect(try await iterator.next() == .gone(address))
    await #expect(throws: RadioError.closed) { try await iterator.next() }
  }

  // MARK: Processes that die

  @Test func aRadioThatIsKilledIsGone() async throws {
    let scanner = try air.adapter()
    var events = scanner.scan().makeAsyncIterator()
    // A shell that makes the files of a radio, and waits for input that never arrives.
    let record = air.file("record")
    var text = AirRecord()
    text.name = "Child"
    try Data(text.text.utf8).write(to: URL(fileURLWithPath: record))
    let child = Process()
    child.executableURL = URL(fileURLWithPath: "/bin/sh")
    child.arguments = [
      "-c",
      """
      cd "$0" && mkfifo x && exec 3<>x && mv x c00000000001.life && mv record c00000000001.adv \
      && read line
      """, air.path,
    ]
    let input = Pipe()
    child.standardInput = input
    try child.run()
    let address = BluetoothAddress(0xC000_0000_0001, kind: .random)
    guard case .found(let discovery) = try await events.next() else {
      Issue.record("not found")
      return
    }
    #expect(discovery.address == address)
    #expect(throws: RadioError.addressInUse(address, name: "Child", process: 0)) {
      try air.adapter(address: address)
    }
    kill(child.processIdentifier, SIGKILL)
    #expect(try await events.next() == .gone(address))
    child.waitUntilExit()
    withExtendedLifetime(input) {}
    // The scanner has removed its files, and the address is free.
    while air.entries.contains("c00000000001.life") { await Task.yield() }
    #expect(air.entries == [])
    _ = try air.adapter(address: address)
  }

  @Test func filesOfDeadRadiosAreRemoved() async throws {
    air.plantDeadRadio("c00000000001")
    air.plantDeadRadio("c00000000002")
    // A record without a FIFO, entries with other names, and a file of a dead process.
    air.plantRecord("c00000000003", named: "Orphan")
    air.plantRecord("C00000000004", named: "Capital")
    air.plantRecord("c0000000000", named: "Short")
    for name in ["x.adv", "c00000000005.adv.adv", ".c00000000006.2147483600.1", "c00000000007.x"] {
      try Data().write(to: URL(fileURLWithPath: air.file(name)))
    }
    mkdir(air.file("c00000000008.adv"), 0o700)
    symlink("/etc/passwd", air.file("c00000000009.adv"))
    mkfifo(air.file("c0000000000a.adv"), 0o600)
    var options = ScanOptions()
    options.timeout = .milliseconds(1)
    for try await event in try air.adapter().scan(options) { Issue.record("\(event)") }
    #expect(
      air.entries == [
        "C00000000004.adv", "c0000000000.adv", "c00000000003.adv", "c00000000005.adv.adv",
        "c00000000007.x", "c00000000008.adv", "c00000000009.adv", "c0000000000a.adv", "x.adv",
      ])
  }

  @Test func aNewRadioGetsTheAddressOfADeadOne() async throws {
    air.plantDeadRadio("d413f6fbacef", named: "Old")
    try Data().write(to: URL(fileURLWithPath: air.file("d413f6fbacef.sock")))
    let radio = try air.adapter("Strap")
    #expect(air.entries == ["d413f6fbacef.life", "d413f6fbacef.sock"])
    let advertisement = try await radio.advertise(strap())
    var events = try air.adapter().scan().makeAsyncIterator()
    guard case .found(let discovery) = try await events.next() else {
      Issue.record("not found")
      return
    }
    #expect(discovery.data.localName == "Strap")
    withExtendedLifetime(advertisement) {}
    await radio.close()
    #expect(air.entries == [])
  }

  @Test func oneOfManyClaimsWins() async throws {
    for round in 0..<20 {
      air.plantDeadRadio("d413f6fbacef")
      let air = air
      let winners = await withTaskGroup(of: Adapter?.self) { group in
        for _ in 0..<8 { group.addTask { try? air.adapter("Strap") } }
        var winners: [Adapter] = []
        for await adapter in group { if let adapter { winners.append(adapter) } }
        return winners
      }
      #expect(winners.count == 1, "round \(round)")
      for winner in winners { await winner.close() }
      #expect(air.entries == [], "round \(round)")
    }
  }

  @Test func sameAddressTwice() async throws {
    let first = try air.adapter("Strap")
    let advertisement = try await first.advertise(strap())
    let error = #expect(throws: RadioError.self) { try air.adapter("Strap") }
    #expect(
      error?.description == """
        the address D4:13:F6:FB:AC:EF is in use by the radio "Strap" of process \
        \(getpid())
        """)
    await #expect(throws: RadioError.alreadyAdvertising) { try await first.advertise(strap()) }
    withExtendedLifetime(advertisement) {}
  }
}
