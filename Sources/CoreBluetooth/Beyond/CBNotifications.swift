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
      try subscription.begin()
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

  init(_ peripheral: CBPeripheral, _ characteristic: CBCharacteristic) {
    self.peripheral = peripheral
    self.characteristic = characteristic
  }

  /// Does not wait until it is subscribed: what comes of a subscription that stands shall not wait
  /// for the calls before it.
  func begin() throws {
    guard !hasBegun else { return }
    let found = try peripheral.inReach(characteristic)
    hasBegun = true
    let source = source
    // First, so that no value is lost in between.
    peripheral.shown.withLock { $0.listeners[found.valueHandle, default: []].append(source) }
    peripheral.subscribe(to: characteristic, found) { source.finish($0) }
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
    if isLast { peripheral.unsubscribe(from: characteristic, found) }
  }
}

extension CBPeripheral {
  /// The values of a characteristic as they are notified or indicated.
  public func notifications(for characteristic: CBCharacteristic) -> CBNotifications {
    CBNotifications(peripheral: self, characteristic: characteristic)
  }

  /// Subscribes, without a word to the delegate, unless that has been done or nobody listens.
  ///
  /// Whether it has been, only its turn on the link shows: the end of another sequence may be
  /// under way, and the app's own subscription.
  ///
  /// - Parameter fail: called if there is no subscription; the connection's end may have ended the
  ///   sequence before.
  fileprivate func subscribe(
    to characteristic: CBCharacteristic, _ found: Characteristic,
    _ fail: @escaping (any Error) -> Void
  ) {
    let kept = KeptSubscription(found, in: characteristic.service)
    let handle = found.valueHandle
    let isUnderWay = perform { (connection, remote) async throws(AttoError) -> Bool in
      guard remote.isListened(handle) else { return false }
      if remote.isSubscribed(handle) { return true }
      try await Self.subscribe(true, found, connection, remote)
      if let kept { remote.note(kept, true) }
      return true
    } _: { _, result in
      switch result {
      case .success(true): characteristic.state.withLock { $0.isNotifying = true }
      case .success(false): break
      case .failure(let error): fail(error)
      }
    }
    if !isUnderWay { fail(CBError(.notConnected)) }
  }

  /// Ends what sequences have subscribed to, unless there is another by then, or the app has
  /// subscribed too.
  fileprivate func unsubscribe(from characteristic: CBCharacteristic, _ found: Characteristic) {
    let kept = KeptSubscription(found, in: characteristic.service)
    let handle = found.valueHandle
    // Who lets go of the peripheral with the sequence has it until this is done.
    perform { (connection, remote) async throws(AttoError) -> Bool in
      guard remote.isSubscribed(handle), !remote.isWished(handle), !remote.isListened(handle)
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
