internal import Atto
import AttoGATT
import Foundation

extension RemotePeripheral {
  func isSubscribed(_ handle: AttributeHandle) -> Bool {
    link?.isSubscribed(self, handle) ?? false
  }

  /// Notes a call of `setNotifyValue`, unless the connection and its subscriptions have ended.
  func setSubscribedByApp(_ handle: AttributeHandle, _ isSubscribed: Bool) {
    if isSubscribed, self.isSubscribed(handle) {
      appSubscriptions.insert(handle)
    } else {
      appSubscriptions.remove(handle)
    }
  }

  func hasListeners(_ handle: AttributeHandle) -> Bool {
    object.value.object?.shown.value.listeners[handle] != nil
  }

  func note(_ subscription: SavedSubscription, _ isActive: Bool) {
    subscriptions.removeAll { $0.valueHandle == subscription.valueHandle }
    if isActive { subscriptions.append(subscription) }
    manager.save()
  }

  /// Repeats the subscriptions of a former run, if the peer still has the characteristics.
  ///
  /// - Returns: whether the peer's services are unchanged.
  func subscribeAgain(_ connection: Connection) async -> Bool {
    for saved in subscriptions {
      guard let range = saved.range, let expected = saved.characteristic,
        let found = try? await connection.perform(DiscoverCharacteristics(in: range)),
        let same = found.first(where: { $0.valueHandle == expected.valueHandle }),
        same.uuid == expected.uuid, same.properties == expected.properties
      else { return false }
      do throws(AttoError) {
        try await Self.secured(connection, self) { (connection, remote) async throws(AttoError) in
          try await CBPeripheral.subscribe(true, same, connection, remote)
        }
      } catch {
        return false
      }
      appSubscriptions.insert(same.valueHandle)
    }
    return true
  }

  /// Holds back the callbacks for a value until the current operation has reported its result.
  /// ``SharedLink`` limits their number, since the values are not delivered yet.
  func bufferValues(of handle: AttributeHandle) { subscribing = (handle, []) }

  func deliverBufferedValues() {
    guard let calls = subscribing?.calls else { return }
    subscribing = nil
    for call in calls { queue.async(execute: call) }
  }
}
