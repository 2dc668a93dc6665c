import Atto
import AttoATT
import AttoEventLoop
import AttoGATT

/// A Client Characteristic Configuration that users share.
struct Subscription {
  let cccd: AttributeHandle
  let isServiceChanged: Bool
  /// What each user wants; not empty.
  var users: [UInt64: ClientCharacteristicConfiguration] = [:]
  /// What the device was told on this link.
  var written: ClientCharacteristicConfiguration = []
  /// The write that is under way.
  var writing: Task<AttoError?, Never>?

  /// What the device should be told.
  var wanted: ClientCharacteristicConfiguration {
    users.values.reduce(into: []) { $0.formUnion($1) }
  }
}

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
    if subscriptions[handle] == nil {
      subscriptions[handle] = Subscription(
        cccd: cccd, isServiceChanged: characteristic.uuid == .serviceChanged)
    }
    let before = subscriptions[handle]?.users.updateValue(kind ?? offered, forKey: id)
    do throws(GatewayError) {
      try await configure(handle)
    } catch {
      if users[id] != nil || id == Self.gatewayUser { subscriptions[handle]?.users[id] = before }
      dropIfUnused(handle)
      throw error
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

  func unsubscribe(_ handle: AttributeHandle, for id: UInt64) async throws(GatewayError) {
    guard subscriptions[handle]?.users.removeValue(forKey: id) != nil else { return }
    try await configure(handle)
  }

  /// Writes a configuration until the device has been told what is wanted. One write at a time.
  func configure(_ handle: AttributeHandle) async throws(GatewayError) {
    while let subscription = subscriptions[handle], let connection {
      if let writing = subscription.writing {
        _ = await writing.value
        continue
      }
      let wanted = subscription.wanted
      guard wanted != subscription.written else { break }
      let cccd = subscription.cccd
      let writing = Task(executorPreference: loop.tasks) {
        await self.write(wanted, to: cccd, of: handle, connection)
      }
      subscriptions[handle]?.writing = writing
      if let failure = await writing.value {
        dropIfUnused(handle)
        throw .device(failure)
      }
    }
    dropIfUnused(handle)
  }

  /// Writes a configuration. Its end is noted here and not by those who wait for it: all of them go on
  /// at once, and whoever is first would find it still under way.
  private func write(
    _ wanted: ClientCharacteristicConfiguration, to cccd: AttributeHandle,
    of handle: AttributeHandle, _ connection: Connection
  ) async -> AttoError? {
    defer { subscriptions[handle]?.writing = nil }
    do throws(AttoError) {
      try await connection.write([UInt8(wanted.rawValue & 0xFF), 0], to: cccd)
    } catch {
      return error
    }
    // Another link by now begins without.
    if connection === self.connection { subscriptions[handle]?.written = wanted }
    return nil
  }

  private func dropIfUnused(_ handle: AttributeHandle) {
    guard let subscription = subscriptions[handle], subscription.users.isEmpty,
      subscription.writing == nil
    else { return }
    subscriptions[handle] = nil
  }

  /// Configures a new link as the last one was. A handle that the device refuses now is forgotten.
  func configureAgain() async {
    for handle in subscriptions.keys.sorted() {
      do throws(GatewayError) {
        try await configure(handle)
      } catch .device(.refused(let response)) {
        hub.log(.warning, "\(label): the subscription to \(handle) ended: \(response)")
        subscriptions[handle] = nil
      } catch {
        return
      }
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
