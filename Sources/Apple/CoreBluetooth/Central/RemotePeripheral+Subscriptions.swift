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

  func note(_ handle: AttributeHandle, _ isActive: Bool) {
    if isActive { subscriptions.insert(handle) } else { subscriptions.remove(handle) }
    manager.save()
  }

  /// Compares the services of a former run with the peer's, and repeats the subscriptions.
  ///
  /// - Returns: whether the peer still has the services and their characteristics.
  func resume(_ services: [SavedRemoteService], _ connection: Connection) async -> Bool {
    guard let listed = try? await connection.perform(DiscoverPrimaryServices()) else {
      return false
    }
    for service in services {
      guard let range = service.range, let uuid = BluetoothUUID(service.uuid),
        !service.isListed || listed.contains(where: { $0.range == range && $0.uuid == uuid })
      else { return false }
      guard let characteristics = service.characteristics, !characteristics.isEmpty else {
        continue
      }
      guard let present = try? await connection.perform(DiscoverCharacteristics(in: range)) else {
        return false
      }
      for saved in characteristics {
        guard let same = present.first(where: { $0.valueHandle.rawValue == saved.valueHandle }),
          same == saved.found
        else { return false }
        if saved.isNotifying, await !subscribeAgain(same, connection) { return false }
      }
    }
    return true
  }

  private func subscribeAgain(
    _ characteristic: Characteristic, _ connection: Connection
  ) async -> Bool {
    do throws(AttoError) {
      try await Self.secured(connection, self) { (connection, remote) async throws(AttoError) in
        try await CBPeripheral.subscribe(true, characteristic, connection, remote)
      }
    } catch {
      return false
    }
    appSubscriptions.insert(characteristic.valueHandle)
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
