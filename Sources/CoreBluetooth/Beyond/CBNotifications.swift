internal import Atto
import Foundation

// Not Apple's: a characteristic's notifications as a sequence.

/// The values that a peer notifies or indicates, each once, in order.
///
/// The subscription is made with the first `next()`, unless it stands. It ends with the last
/// iteration that follows the value, when its loop is left or its task cancelled, which ends the
/// sequence too; but not if the app has subscribed by `setNotifyValue(_:for:)` meanwhile, or had
/// before. The delegate is told of the values as well.
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
  /// Given up while it subscribed: the peer may have had the request.
  private var isUnsure = false

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
    do {
      try await peripheral.subscribe(to: Carried((characteristic, found)))
    } catch is CancellationError {
      isUnsure = true
      source.finish()
    } catch {
      source.finish(error)
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
    if isLast { peripheral.unsubscribe(from: characteristic, found, isUnsure) }
  }
}

extension CBPeripheral {
  /// The values of a characteristic as they are notified or indicated.
  public func notifications(for characteristic: CBCharacteristic) -> CBNotifications {
    CBNotifications(peripheral: self, characteristic: characteristic)
  }

  /// Subscribes, without a word to the delegate, unless that has been done.
  ///
  /// Whether it has been, only its turn on the link shows: the end of another sequence may be
  /// under way, and the app's own subscription.
  fileprivate func subscribe(
    to target: Carried<(CBCharacteristic, Characteristic)>,
    isolation actor: isolated (any Actor)? = #isolation
  ) async throws {
    let (characteristic, found) = target.content
    let kept = KeptSubscription(found, in: characteristic.service)
    try await result { (connection, remote) async throws(AttoError) in
      if remote.isSubscribed(found.valueHandle) { return }
      try await Self.subscribe(true, found, connection, remote)
      if let kept { remote.note(kept, true) }
    } applying: { _, _ in
      target.content.0.state.withLock { $0.isNotifying = true }
    }
  }

  /// Ends what sequences have subscribed to, unless there is another by then, or the app has
  /// subscribed too.
  fileprivate func unsubscribe(
    from characteristic: CBCharacteristic, _ found: Characteristic, _ isUnsure: Bool
  ) {
    let kept = KeptSubscription(found, in: characteristic.service)
    let handle = found.valueHandle
    // Who lets go of the peripheral with the sequence has it until this is done.
    perform { (connection, remote) async throws(AttoError) -> Bool in
      guard remote.isSubscribed(handle) || isUnsure, !remote.isWished(handle),
        remote.object.value.object?.shown.value.listeners[handle] == nil
      else { return false }
      try await Self.subscribe(false, found, connection, remote)
      if let kept { remote.note(kept, false) }
      return true
    } _: { [self] _, result in
      if case .success(true) = result {
        characteristic.state.withLock { $0.isNotifying = false }
      }
      withExtendedLifetime(self) {}
    }
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
