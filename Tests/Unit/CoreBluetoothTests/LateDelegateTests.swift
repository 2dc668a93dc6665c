import Foundation
import TestSupport
import Testing

@testable import AttoCoreBluetooth

/// Delegates that are set after the manager was created, while its queue runs.
@Suite(.oneByOne) struct LateDelegateTests {
  private final class Listener: NSObject, CBCentralManagerDelegate, CBPeripheralManagerDelegate {
    let log = EventLog()
    func centralManagerDidUpdateState(_ central: CBCentralManager) {
      log.add("state \(central.state)")
    }
    func peripheralManagerDidUpdateState(_ peripheral: CBPeripheralManager) {
      log.add("state \(peripheral.state)")
    }
    func centralManager(_ central: CBCentralManager, willRestoreState dict: [String: Any]) {
      let peripherals = dict[CBCentralManagerRestoredStatePeripheralsKey] as? [CBPeripheral]
      log.add("restore \(peripherals?.count ?? 0) \(central.state)")
    }
    func peripheralManager(
      _ peripheral: CBPeripheralManager, willRestoreState dict: [String: Any]
    ) {
      let services = dict[CBPeripheralManagerRestoredStateServicesKey] as? [CBMutableService]
      log.add("restore \(services?.count ?? 0) \(peripheral.state)")
    }
  }

  /// Waits until the state was shown to an app that asks for it.
  private func shown(_ state: CBManagerState, _ manager: CBManager) async {
    while manager.state != state { await Task.yield() }
  }

  @Test func centralsHearTheLatestStateOnce() async throws {
    let manager = CBCentralManager(
      delegate: nil, queue: .global(), options: nil, radio: Sandbox.radio())
    await shown(.poweredOn, manager)
    let radio = try #require(await manager.engine.radio)
    await radio.set(.poweredOff)
    await shown(.poweredOff, manager)
    await radio.set(.poweredOn)
    await shown(.poweredOn, manager)
    let listener = Listener()
    manager.delegate = listener
    try await listener.log.next("state poweredOn", within: 20)
    // A second delegate was not there.
    let other = Listener()
    manager.delegate = other
    await radio.set(.poweredOff)
    try await other.log.next("state poweredOff")
    #expect(listener.log.all == ["state poweredOn"])
    #expect(other.log.all == ["state poweredOff"])
  }

  @Test func publishersHearTheLatestStateOnce() async throws {
    let manager = CBPeripheralManager(
      delegate: nil, queue: .global(), options: nil, radio: Sandbox.radio())
    await shown(.poweredOn, manager)
    let radio = try #require(await manager.engine.radio)
    await radio.set(.poweredOff)
    await shown(.poweredOff, manager)
    let listener = Listener()
    manager.delegate = listener
    try await listener.log.next("state poweredOff", within: 20)
    await radio.set(.poweredOn)
    try await listener.log.next("state poweredOn")
    #expect(listener.log.all == ["state poweredOff", "state poweredOn"])
  }

  /// While a delegate has not been told yet, the state is the one that it knows: an app that asks from
  /// another thread must not see it first.
  @Test func theStateIsThatOfTheDelegate() async throws {
    let queue = DispatchQueue(label: "held")
    let manager = CBCentralManager(
      delegate: nil, queue: queue, options: nil, radio: Sandbox.radio())
    await shown(.poweredOn, manager)
    await queue.suspendFromWithin()
    let listener = Listener()
    manager.delegate = listener
    #expect(manager.state == .unknown)
    queue.resume()
    try await listener.log.next("state poweredOn", within: 20)
    #expect(manager.state == .poweredOn)
  }

  /// Whenever the delegate is set, from any thread, it hears of the first state once.
  @Test func atAnyMoment() async throws {
    let radio = Sandbox.radio()
    let anchor = CBCentralManager(delegate: nil, queue: .global(), options: nil, radio: radio)
    await shown(.poweredOn, anchor)
    for round in 0..<200 {
      let queue = DispatchQueue(label: "round")
      let (central, publisher) = (Listener(), Listener())
      let one = CBCentralManager(delegate: nil, queue: queue, options: nil, radio: radio)
      let two = CBPeripheralManager(delegate: nil, queue: queue, options: nil, radio: radio)
      let objects = UncheckedBox((one, two, central, publisher))
      for _ in 0..<round % 20 { await Task.yield() }
      DispatchQueue.global().async {
        objects.content.0.delegate = objects.content.2
        objects.content.1.delegate = objects.content.3
      }
      try await central.log.next("state poweredOn", within: 20)
      try await publisher.log.next("state poweredOn", within: 20)
      await withCheckedContinuation { next in queue.async { next.resume() } }
      #expect(central.log.all == ["state poweredOn"])
      #expect(publisher.log.all == ["state poweredOn"])
    }
  }

  /// As with Apple's framework: libraries go on to prepare, on several threads, what the callback needs.
  @Test func theFirstStateLeavesTime() async throws {
    let radio = Sandbox.radio()
    let anchor = CBCentralManager(delegate: nil, queue: .global(), options: nil, radio: radio)
    await shown(.poweredOn, anchor)
    let listener = Listener()
    let clock = ContinuousClock()
    let began = clock.now
    let central = CBCentralManager(
      delegate: listener, queue: .global(), options: nil, radio: radio)
    try await listener.log.next("state poweredOn", within: 20)
    #expect(clock.now - began >= .milliseconds(10))
    #expect(central.state == .poweredOn)
  }

  /// A restored state waits for the delegate too, and comes first.
  @Test func restoredStateComesFirst() async throws {
    let radio = Sandbox.radio()
    let identifier = "Late \(Sandbox.number(of: radio))"
    let central = """
      {"version": 1, "content": {"peers": [
        {"identifier": "\(UUID())", "address": "C0:11:22:33:44:99", "reconnects": false}]}}
      """
    let publisher = """
      {"version": 1, "content": {"services": [
        {"uuid": "180D", "isPrimary": true, "includes": [], "characteristics": []}]}}
      """
    for (kind, text) in [(SavedState.Kind.central, central), (.peripheral, publisher)] {
      SavedState.shared.write(Data(text.utf8), to: SavedState.Key(kind: kind, name: identifier))
    }
    let one = CBCentralManager(
      delegate: nil, queue: .global(),
      options: [CBCentralManagerOptionRestoreIdentifierKey: identifier], radio: radio)
    let two = CBPeripheralManager(
      delegate: nil, queue: .global(),
      options: [CBPeripheralManagerOptionRestoreIdentifierKey: identifier], radio: radio)
    await shown(.poweredOn, one)
    await shown(.poweredOn, two)
    let listener = Listener()
    one.delegate = listener
    try await listener.log.next("state poweredOn", within: 20)
    #expect(listener.log.all == ["restore 1 unknown", "state poweredOn"])
    let other = Listener()
    two.delegate = other
    try await other.log.next("state poweredOn", within: 20)
    #expect(other.log.all == ["restore 1 unknown", "state poweredOn"])
  }
}
