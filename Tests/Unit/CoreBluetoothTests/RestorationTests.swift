import Atto
import AttoStore
import Foundation
import TestSupport
import Testing

@testable import AttoCoreBluetooth

/// State that a manager with a restore identifier saves, and that the next one restores.
@Suite(.oneByOne) struct RestorationTests {
  let radio: CBRadio
  let identifier: String
  /// Retains the radio, and with it the address, between two managers.
  let anchor: CBCentralManager

  init() {
    radio = Sandbox.radio()
    identifier = "Restored \(Sandbox.number(of: radio))"
    anchor = CBCentralManager(
      delegate: nil, queue: DispatchQueue(label: "anchor"), options: nil, radio: radio)
  }

  private func key(_ kind: SavedState.Kind) -> SavedState.Key {
    SavedState.Key(kind: kind, name: identifier)
  }

  private func saved<Content: Codable>(
    _ type: Content.Type, _ kind: SavedState.Kind
  ) -> Content? {
    SavedState.shared.read(key(kind)).flatMap {
      RestorationRecord(kind, identifier).decode(type, from: $0)
    }
  }

  private func hop() async {
    for _ in 0..<5 { await Task { @RadioLoop in await Task.yield() }.value }
  }

  /// Releases a manager and writes its saved state back, as if it had been killed.
  private func kill(_ kind: SavedState.Kind, _ release: () -> Void) async throws {
    await hop()
    let data = try #require(SavedState.shared.read(key(kind)))
    release()
    while SavedState.shared.read(key(kind)) != nil { await Task.yield() }
    SavedState.shared.write(data, to: key(kind))
  }

  @Test func centrals() async throws {
    let strap = Strap(Sandbox.radio(), name: identifier)
    let watch = Watch(radio, for: identifier, restoring: identifier)
    try await watch.getReady()
    try watch.peripheral.setNotifyValue(true, for: watch.characteristic("2A37"))
    try await watch.log.next("notifying 2A37 true well")
    try await strap.log.next("subscribed 2A37")
    // A pending connection, and a scan.
    let nobody = UUID()
    KnownPeers.met(nobody, .init(0xC0_11_22_33_44_77, kind: .random), name: "Nobody")
    var absent = watch.manager.retrievePeripherals(withIdentifiers: [nobody])
    watch.manager.connect(try #require(absent.first))
    watch.manager.scanForPeripherals(
      withServices: [CBUUID(string: "FEED")],
      options: [CBCentralManagerScanOptionAllowDuplicatesKey: true])
    let before = try watch.peripheral.identifier
    try await kill(.central) {
      absent = []
      watch.release()
    }
    try await strap.log.next("unsubscribed 2A37")

    let again = Watch(radio, for: identifier, restoring: identifier)
    try await again.log.next("connected")
    let log = again.log.all
    #expect(log.first == "restore [1, 1] [\"FEED\"] true", "\(log)")
    #expect(log.dropFirst().first == "state poweredOn", "\(log)")
    #expect(!log.contains { $0.hasPrefix("found") })
    #expect(try again.peripheral.identifier == before)
    #expect(again.manager.isScanning)
    // The subscription is active before anything was discovered.
    try await strap.log.next("subscribed 2A37")
    #expect(try again.characteristic("2A37").isNotifying)
    strap.manager.updateValue(Data([5, 6]), for: strap.rate, onSubscribedCentrals: nil)
    try await again.log.next("value 2A37 [5, 6] of 2 well")
    // The connection that nothing answers is still pending.
    let waiting = try #require(again.restored.value.first { $0.identifier == nobody })
    #expect(waiting.state == .connecting)
    again.manager.cancelPeripheralConnection(waiting)
    try await again.log.next("disconnected well")
    // Releasing the manager removes its state.
    again.manager.stopScan()
    again.restored.value = []
    again.release()
    while SavedState.shared.read(key(.central)) != nil { await Task.yield() }
  }

  /// An app that was killed after it had subscribed, however slow the disk was.
  @Test func subscriptionsAreSavedBeforeTheirCallback() async throws {
    let strap = Strap(Sandbox.radio(), name: identifier)
    let watch = Watch(radio, for: identifier, restoring: identifier)
    try await watch.getReady()
    SavedState.shared.write(to: SavedState.Key(kind: .limit, name: identifier)) {
      usleep(200_000)
      return nil
    }
    try watch.peripheral.setNotifyValue(true, for: watch.characteristic("2A37"))
    try await watch.log.next("notifying 2A37 true well")
    // As another process would read it: not after the changes that wait.
    let file = try RecordFile(
      path: SavedState.folder.appendingPathComponent("corebluetooth.sqlite").path)
    let data = Data(try #require(try file.record("central", identifier)))
    let state = try #require(
      RestorationRecord(.central, identifier).decode(SavedCentral.self, from: data))
    let characteristics = state.peers.first?.services?.flatMap { $0.characteristics ?? [] }
    #expect(characteristics?.contains(where: \.isNotifying) == true)
    withExtendedLifetime(strap) {}
  }

  @Test func centralsWithAChangedPeer() async throws {
    let strap = Strap(Sandbox.radio(), name: identifier)
    let watch = Watch(radio, for: identifier, restoring: identifier)
    try await watch.getReady()
    try watch.peripheral.setNotifyValue(true, for: watch.characteristic("2A37"))
    try await watch.log.next("notifying 2A37 true well")
    try await kill(.central) {
      watch.release()
    }
    try await strap.log.next("unsubscribed 2A37")
    strap.manager.remove(strap.service)
    let other = CBMutableService(type: CBUUID(string: "FFFE"), primary: true)
    strap.manager.add(other)
    try await strap.log.next("added FFFE well")

    let again = Watch(radio, for: identifier, restoring: identifier)
    try await again.log.next("connected")
    #expect(again.log.all.first == "restore [1] [] false")
    // The services are unknown: they must be discovered again.
    #expect(try again.peripheral.services == nil)
  }

  @Test func peripherals() async throws {
    var strap: Strap? = Strap(radio, name: identifier, restoring: identifier)
    let watch = Watch(Sandbox.radio(), for: identifier)
    try await watch.getReady()
    try watch.peripheral.setNotifyValue(true, for: watch.characteristic("2A37"))
    try await strap!.log.next("subscribed 2A37")
    let handle = try watch.characteristic("2A37").found?.declarationHandle
    let engine = strap!.manager.engine
    try await kill(.peripheral) {
      strap!.release()
      strap = nil
    }
    // The services and links of a process end with it.
    await Task { @RadioLoop in await engine.changes.last?.value }.value
    try watch.manager.cancelPeripheralConnection(watch.peripheral)
    try await watch.log.next("disconnected")

    let again = Strap(radio, name: "not \(identifier)", restoring: identifier)
    try await again.log.next("state")
    #expect(
      again.log.all.prefix(2) == [
        "restore [\"180F\", \"180D\"] \(identifier) true", "state poweredOn",
      ])
    let service = try #require(again.restored.value.last)
    #expect(service.includedServices?.first === again.restored.value.first)
    try #require(service.characteristics?.count == 8)
    let rate = try #require(service.characteristics?.first as? CBMutableCharacteristic)
    #expect(rate.uuid == CBUUID(string: "2A37"))
    #expect(rate.subscribedCentrals?.isEmpty ?? true)
    #expect(service.characteristics?[4].value == Data([1]))
    #expect(service.characteristics?[3].descriptors?.first?.value as? String == "long one")

    // It advertises again, with the same services.
    watch.manager.scanForPeripherals(withServices: [CBUUID(string: "180D")])
    try await watch.log.next("found")
    try watch.manager.connect(watch.peripheral)
    try await watch.log.next("connected")
    #expect(try await watch.peripheral.discoverAll().map(\.uuid.uuidString) == ["180D"])
    #expect(try watch.characteristic("2A37").found?.declarationHandle == handle)
    try watch.peripheral.setNotifyValue(true, for: watch.characteristic("2A37"))
    try await again.log.next("subscribed 2A37")
    #expect(rate.subscribedCentrals?.count == 1)
    again.manager.updateValue(Data([9]), for: rate, onSubscribedCentrals: nil)
    try await watch.log.next("value 2A37 [9]")
    #expect(!again.log.all.contains { $0.hasPrefix("added") || $0.hasPrefix("advertising") })
    // All of it is saved again.
    let kept = try #require(saved(SavedPublications.self, .peripheral))
    #expect(kept.services.map(\.uuid) == ["180F", "180D"])
    #expect(kept.advertisement?.name == identifier)
  }

  /// A record that cannot be restored is ignored, and replaced.
  @Test(arguments: [
    "", "no JSON", "{}", "[]", "{\"version\": 1}", "{\"version\": 1, \"content\": 7}",
    "{\"version\": 2, \"content\": {\"peers\": []}}",
    "{\"version\": 99, \"content\": {\"something\": \"new\"}}",
    "{\"version\": \"1\"}", String(repeating: " ", count: RestorationRecord.sizeLimit + 1),
  ])
  func recordsThatCannotBeRestored(_ text: String) async throws {
    SavedState.shared.write(Data(text.utf8), to: key(.central))
    SavedState.shared.write(Data(text.utf8), to: key(.peripheral))
    let watch = Watch(radio, for: "nobody", restoring: identifier)
    let strap = Strap(radio, name: identifier, restoring: identifier)
    try await watch.log.next("state poweredOn")
    try await strap.log.next("advertising begun")
    #expect(watch.log.all.first == "state poweredOn")
    #expect(strap.log.all.first == "state poweredOn")
    watch.manager.scanForPeripherals(withServices: [CBUUID(string: "FEED")])
    await hop()
    let central = saved(SavedCentral.self, .central)
    #expect(central?.scan?.services == ["0000feed-0000-1000-8000-00805f9b34fb"])
    let peripheral = saved(SavedPublications.self, .peripheral)
    #expect(peripheral?.services.count == 2)
  }

  /// Invalid values in a record are left out.
  @Test func recordsWithInvalidValues() async throws {
    let central = """
      {"version": 1, "content": {"peers": [
        {"identifier": "\(UUID())", "address": "nonsense", "reconnects": false},
        {"identifier": "\(UUID())", "address": "C0:11:22:33:44:88", "reconnects": true,
          "services": [
            {"uuid": "zzz", "isPrimary": true, "isListed": true, "start": 1, "end": 2},
            {"uuid": "180D", "isPrimary": true, "isListed": true, "start": 9, "end": 2},
            {"uuid": "180D", "isPrimary": true, "isListed": true, "start": 1, "end": 9,
              "includes": [7, -1, 2, 0], "characteristics": [
                {"uuid": "", "properties": 0, "handle": 0, "valueHandle": 0, "endHandle": 0,
                  "isNotifying": true},
                {"uuid": "2A37", "properties": 255, "handle": 2, "valueHandle": 3, "endHandle": 5,
                  "isNotifying": true, "descriptors": [
                    {"uuid": "2902", "handle": 4}, {"uuid": "?", "handle": 5},
                    {"uuid": "2901", "handle": 0}]}]}]}],
        "scan": {"services": ["FEED", "no UUID"], "solicited": [], "allowsDuplicates": false}}}
      """
    let peripheral = """
      {"version": 1, "content": {"services": [
        {"uuid": "no UUID", "isPrimary": true, "includes": [], "characteristics": []},
        {"uuid": "180D", "isPrimary": true, "includes": [7, -1, 1], "characteristics": [
          {"uuid": "nothing", "properties": 0, "permissions": 0, "descriptors": []},
          {"uuid": "2A38", "properties": 2, "permissions": 1, "value": "AQ==",
            "descriptors": [{"uuid": "2902"}, {"uuid": "2904", "octets": "AA=="},
              {"uuid": "2901", "octets": "/w=="}]},
          {"uuid": "2A39", "properties": 8, "permissions": 2, "value": "AQ==",
            "descriptors": []}]}],
        "advertisement": {"name": "Odd", "services": ["?", "180D"]}}}
      """
    SavedState.shared.write(Data(central.utf8), to: key(.central))
    SavedState.shared.write(Data(peripheral.utf8), to: key(.peripheral))
    let watch = Watch(radio, for: "nobody", restoring: identifier)
    let strap = Strap(radio, name: identifier, restoring: identifier)
    try await watch.log.next("state poweredOn")
    try await strap.log.next("state poweredOn")
    #expect(watch.log.all.first == "restore [1] [\"FEED\"] false")
    #expect(strap.log.all.first == "restore [\"180D\"] Odd true")
    let services = try #require(watch.restored.value.first?.services)
    try #require(services.map(\.uuid.uuidString) == ["180D"])
    #expect(services[0].includedServices == services)
    #expect(services[0].characteristics?.map(\.uuid.uuidString) == ["2A37"])
    #expect(
      services[0].characteristics?.first?.descriptors?.map(\.uuid.uuidString) == ["2902"])
    watch.restored.value = []
  }

  /// All that was discovered is restored, with the subscriptions, and nothing else.
  @Test func allDiscoveredServices() async throws {
    let strap = Strap(Sandbox.radio(), name: identifier)
    let watch = Watch(radio, for: identifier, restoring: identifier)
    try await watch.getReady()
    let service = try #require(try watch.peripheral.services?.first)
    try watch.peripheral.discoverIncludedServices(nil, for: service)
    try await watch.log.next("included [\"180F\"] well")
    try watch.peripheral.discoverDescriptors(for: watch.characteristic("FF02"))
    try await watch.log.next("descriptors [\"2901\"] well")
    try watch.peripheral.setNotifyValue(true, for: watch.characteristic("2A37"))
    try await watch.log.next("notifying 2A37 true well")
    let handles = try #require(service.characteristics).map(\.found)
    try await kill(.central) {
      watch.release()
    }
    try await strap.log.next("unsubscribed 2A37")

    let again = Watch(radio, for: identifier, restoring: identifier)
    try await again.log.next("restore [1]")
    let restored = try #require(again.peripheral.services)
    try #require(restored.map(\.uuid.uuidString) == ["180D"])
    #expect(restored[0].characteristics?.map(\.found) == handles)
    #expect(
      restored[0].characteristics?.map(\.isNotifying) == [true] + Array(repeating: false, count: 7))
    #expect(restored[0].includedServices?.map(\.uuid.uuidString) == ["180F"])
    #expect(restored[0].includedServices?.first?.isPrimary == false)
    #expect(restored[0].includedServices?.first?.characteristics == nil)
    #expect(try again.characteristic("FF02").descriptors?.map(\.uuid.uuidString) == ["2901"])
    #expect(try again.characteristic("2A37").descriptors == nil)
    #expect(try again.characteristic("FF02").service === restored[0])
    try await again.log.next("connected")
    // The objects stay, and all of them work without discovery.
    #expect(try again.peripheral.services?.first === restored[0])
    try again.peripheral.readValue(for: again.characteristic("2A38"))
    try await again.log.next("value 2A38 [1] of 1 well")
    try again.peripheral.readValue(
      for: try #require(try again.characteristic("FF02").descriptors?.first))
    try await again.log.next("descriptor long one well")
    let known = again.manager.retrieveConnectedPeripherals(withServices: [CBUUID(string: "180D")])
    #expect(try known.first === again.peripheral)
  }

  /// Without a subscription too, the peer may have changed meanwhile: another service at the same
  /// handles, or another characteristic.
  @Test(arguments: [true, false]) func changedPeersWithoutSubscriptions(
    _ isSameService: Bool
  ) async throws {
    let strap = Strap(Sandbox.radio(), name: identifier)
    let watch = Watch(radio, for: identifier, restoring: identifier)
    try await watch.getReady()
    try await kill(.central) {
      watch.release()
    }
    strap.manager.remove(strap.service)
    let other = CBMutableService(
      type: CBUUID(string: isSameService ? "180D" : "FFFE"), primary: true)
    other.characteristics = [strap.rate, strap.cached]
    strap.manager.add(other)
    try await strap.log.next("added \(other.uuid.uuidString) well")
    let again = Watch(radio, for: identifier, restoring: identifier)
    try await again.log.next("restore [1]")
    #expect(again.restoredServices.value == 1)
    try await again.log.next("connected")
    #expect(try again.peripheral.services == nil)
  }
}
