import Atto
import AttoATT
import AttoEventLoop
import AttoGATT

/// A value that is read for a subscribed user.
struct Refresh: Hashable {
  let user: UInt64
  let handle: AttributeHandle
}

extension Device {
  /// The user that is the gateway itself, which wants Service Changed.
  static let gatewayUser: UInt64 = 0

  /// Has a user receive the values of a characteristic.
  ///
  /// - Parameter kind: nil: notifications if there are any, otherwise indications.
  func subscribe(
    _ handle: AttributeHandle, _ kind: ClientCharacteristicConfiguration?, for id: UInt64
  ) async throws(GatewayError) {
    let characteristic = try await characteristic(.handle(handle), for: id)
    guard let cccd = characteristic.cccd?.handle else {
      throw .device(.misuse(.cannotSubscribe(handle)))
    }
    let offered: ClientCharacteristicConfiguration =
      characteristic.properties.contains(.notify) ? .notification : .indication
    defer {
      // Released meanwhile.
      if users[id] == nil, id != Self.gatewayUser { subscriptions.here { _ = $0.leave(id) } }
    }
    do throws(AttoError) {
      try await subscriptions.set(kind ?? offered, of: handle, at: cccd, for: id)
    } catch {
      throw GatewayError(error)
    }
  }

  func unsubscribe(_ handle: AttributeHandle, for id: UInt64) async throws(GatewayError) {
    guard let cccd = subscriptions.here({ $0.configuration(of: handle) }) else { return }
    do throws(AttoError) {
      try await subscriptions.set([], of: handle, at: cccd, for: id)
    } catch {
      throw GatewayError(error)
    }
  }

  /// Reads a value that a user is subscribed to, and delivers it as an event. If the device sends the value
  /// meanwhile, that event is enough, and the older value does not follow it.
  func refresh(_ handle: AttributeHandle, for id: UInt64) async throws(GatewayError) {
    let refresh = Refresh(user: id, handle: handle)
    guard refreshes.insert(refresh).inserted else { return }
    defer { refreshes.remove(refresh) }
    let value = try await read(handle, for: id)
    if refreshes.contains(refresh) { users[id]?.events.add(.value(handle, value)) }
  }

  /// Configures a new link as the last one was. A handle that the device refuses now is forgotten.
  func configureAgain(_ connection: Connection) async {
    subscriptions.here { $0.begin(connection) }
    for (handle, response) in await subscriptions.repeatAll() {
      hub.log(.warning, "\(label): the subscription to \(handle) ended: \(response)")
    }
  }

  /// The subscription whose configuration has this handle, if any characteristic has one there.
  func characteristic(configuredBy handle: AttributeHandle) -> Characteristic? {
    guard let characteristic = known?.characteristic(containing: handle),
      characteristic.cccd?.handle == handle
    else { return nil }
    return characteristic
  }
}
