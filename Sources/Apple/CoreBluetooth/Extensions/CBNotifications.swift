internal import Atto
import AttoGATT
import Foundation

/// The values that a peer notifies or indicates, each once, in order. Not in Apple's framework.
///
/// The first `next()` subscribes, if there is no subscription. The last iteration over the value
/// unsubscribes when its loop is left or its task cancelled, unless the app itself has subscribed
/// with `setNotifyValue(_:for:)`. The delegate gets the values too.
///
/// At 1024 queued values the peer is held back.
///
/// Throws `CBError`, `CBATTError`: the failure to subscribe, or the end of the connection.
public struct CBNotifications: AsyncSequence {
  public typealias Element = Data

  let peripheral: CBPeripheral
  let characteristic: CBCharacteristic

  public func makeAsyncIterator() -> Iterator { Iterator(peripheral, characteristic) }

  public struct Iterator: AsyncIteratorProtocol {
    private let subscription: UncheckedBox<NotificationSubscription>

    fileprivate init(_ peripheral: CBPeripheral, _ characteristic: CBCharacteristic) {
      subscription = UncheckedBox(NotificationSubscription(peripheral, characteristic))
    }

    public mutating func next(isolation actor: isolated (any Actor)?) async throws -> Data? {
      let subscription = subscription.content
      try subscription.begin()
      return try await subscription.source.next(isolation: actor)?.value
    }
  }
}

private final class NotificationSubscription {
  let source = AsyncQueue<NotifiedValue>(limit: .max)
  private let peripheral: CBPeripheral
  private let characteristic: CBCharacteristic
  private var hasBegun = false

  init(_ peripheral: CBPeripheral, _ characteristic: CBCharacteristic) {
    self.peripheral = peripheral
    self.characteristic = characteristic
  }

  /// Begins to subscribe. Does not wait for that: values of an existing subscription should not wait
  /// for earlier calls.
  func begin() throws {
    guard !hasBegun else { return }
    let found = try peripheral.reachable(characteristic)
    hasBegun = true
    let source = source
    // Before subscribing, so that no value is lost.
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
  /// Returns the values of a characteristic that are notified or indicated.
  public func notifications(for characteristic: CBCharacteristic) -> CBNotifications {
    CBNotifications(peripheral: self, characteristic: characteristic)
  }

  /// Subscribes without a callback, unless there is a subscription or no sequence is left.
  ///
  /// The operation itself looks for a subscription, when earlier operations have ended: one of them
  /// may subscribe or unsubscribe.
  ///
  /// - Parameter fail: called if subscribing fails. The end of the connection may have ended the
  ///   sequence before.
  fileprivate func subscribe(
    to characteristic: CBCharacteristic, _ found: Characteristic,
    _ fail: @escaping (any Error) -> Void
  ) {
    let handle = found.valueHandle
    let isUnderWay = perform { (connection, remote) async throws(AttoError) -> Bool in
      guard remote.hasListeners(handle) else { return false }
      if remote.isSubscribed(handle) { return true }
      try await Self.subscribe(true, found, connection, remote)
      remote.note(handle, true)
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

  /// Ends the subscription of sequences, unless another sequence or the app itself is subscribed.
  fileprivate func unsubscribe(from characteristic: CBCharacteristic, _ found: Characteristic) {
    let handle = found.valueHandle
    // Retains the peripheral until this is done: the app may release it with the sequence.
    perform { (connection, remote) async throws(AttoError) -> Bool in
      guard remote.isSubscribed(handle), !remote.appSubscriptions.contains(handle),
        !remote.hasListeners(handle)
      else { return false }
      try await Self.subscribe(false, found, connection, remote)
      remote.note(handle, false)
      return true
    } _: { [self] _, result in
      if case .success(true) = result {
        characteristic.state.withLock { $0.isNotifying = false }
      }
      withExtendedLifetime(self) {}
    }
  }
}
