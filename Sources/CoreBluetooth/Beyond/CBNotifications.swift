internal import Atto
import Foundation

// Not Apple's: a characteristic's notifications as a sequence.

/// The values that a peer notifies or indicates, each once, in order.
///
/// The subscription is made with the first `next()`, unless it stands, and one that was made so
/// ends with the iteration: when the loop is left or its task cancelled, which ends the sequence
/// too. The delegate is told of the values as well.
///
/// Values that nobody takes wait; when there are 1024 the peer is held back.
///
/// Throws `CBError`, `CBATTError`: why there is no subscription, or why the connection has ended.
public struct CBNotifications: AsyncSequence {
  public typealias Element = Data

  let peripheral: CBPeripheral
  let characteristic: CBCharacteristic

  public func makeAsyncIterator() -> Iterator { Iterator(peripheral, characteristic) }

  public struct Iterator: AsyncIteratorProtocol {
    private let subscription: Carried<NotificationSubscription>

    fileprivate init(_ peripheral: CBPeripheral, _ characteristic: CBCharacteristic) {
      subscription = Carried(NotificationSubscription(peripheral, characteristic))
    }

    public mutating func next() async throws -> Data? {
      try await next(isolation: nil)
    }

    public mutating func next(isolation actor: isolated (any Actor)?) async throws -> Data? {
      let subscription = subscription.content
      try await subscription.begin(isolation: actor)
      return try await subscription.source.next(isolation: actor)?.value
    }
  }
}

/// A value that a sequence has not given yet: the peer is held back while too many of them live.
struct NotifiedValue {
  let value: Data
  let delivery: Lease
}

/// A sequence's place among those that are told of a value.
private final class NotificationSubscription {
  let source = Handover<NotifiedValue>(limit: .max)
  private let peripheral: CBPeripheral
  private let characteristic: CBCharacteristic
  private var hasBegun = false
  private var isOwner = false

  init(_ peripheral: CBPeripheral, _ characteristic: CBCharacteristic) {
    self.peripheral = peripheral
    self.characteristic = characteristic
  }

  func begin(isolation actor: isolated (any Actor)?) async throws {
    guard !hasBegun else { return }
    hasBegun = true
    let found = try peripheral.inReach(characteristic)
    let handle = found.valueHandle
    // First, so that no value is lost in between.
    let source = source
    peripheral.shown.withLock { $0.listeners[handle, default: []].append(source) }
    guard !characteristic.isNotifying else { return }
    isOwner = true
    do {
      try await peripheral.subscribe(true, to: Carried((characteristic, found)))
    } catch {
      source.finish(error is CancellationError ? nil : error)
    }
  }

  deinit {
    source.finish()
    guard hasBegun, let found = characteristic.found else { return }
    let isLast = peripheral.shown.withLock { shown in
      shown.listeners[found.valueHandle]?.removeAll { $0 === source }
      guard shown.listeners[found.valueHandle]?.isEmpty ?? true else { return false }
      shown.listeners[found.valueHandle] = nil
      return shown.state == .connected
    }
    guard isOwner, isLast else { return }
    let held = Carried((peripheral, characteristic, found))
    Task {
      let (peripheral, characteristic, found) = held.content
      try? await peripheral.subscribe(false, to: Carried((characteristic, found)))
    }
  }
}

extension CBPeripheral {
  /// The values of a characteristic as they are notified or indicated.
  public func notifications(for characteristic: CBCharacteristic) -> CBNotifications {
    CBNotifications(peripheral: self, characteristic: characteristic)
  }

  /// Subscribes without a word to the delegate.
  fileprivate func subscribe(
    _ enabled: Bool, to target: Carried<(CBCharacteristic, Characteristic)>,
    isolation actor: isolated (any Actor)? = #isolation
  ) async throws {
    let (characteristic, found) = target.content
    let kept = KeptSubscription(found, in: characteristic.service)
    try await result { (connection, remote) async throws(AttoError) in
      try await Self.subscribe(enabled, found, connection, remote)
      if let kept { remote.note(kept, enabled) }
    }
    characteristic.state.withLock { $0.isNotifying = enabled }
  }

  /// Gives a value to the sequences that are about it.
  func hear(_ handle: AttributeHandle, _ value: Data, _ delivery: Lease) {
    for listener in shown.value.listeners[handle] ?? [] {
      listener.add(NotifiedValue(value: value, delivery: delivery))
    }
  }

  /// The app has ended the subscription.
  func finishListeners(_ handle: AttributeHandle) {
    let listeners = shown.withLock { $0.listeners.removeValue(forKey: handle) }
    for listener in listeners ?? [] { listener.finish() }
  }
}
