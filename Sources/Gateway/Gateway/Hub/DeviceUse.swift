import Atto
import AttoATT
import AttoGATT
import AttoRadio

/// One user's part of a device, and of its link. Releasing it ends the use.
///
/// Calls may be made from any task. They throw ``GatewayError/notConnected(device:)`` while there is no link,
/// ``GatewayError/released`` afterwards, and `device` with what the connection throws.
package final class DeviceUse: Sendable {
  package let device: Device
  /// What happens, from now on, for one consumer. A first `connected` is there if there is a link. If
  /// events were missed, ``Device/state`` tells what is the case.
  package let events: Batches<DeviceEvent>
  private let id: UInt64

  init(_ device: Device, id: UInt64, _ events: Batches<DeviceEvent>) {
    self.device = device
    self.id = id
    self.events = events
  }

  deinit { release() }

  /// Ends the use: its subscriptions, and the link if nobody else uses it and it is not held. More than
  /// once does nothing.
  package func release() {
    let (device, id) = (device, id)
    device.loop.execute { device.here { $0.release(id) } }
  }

  /// Whether this user makes do with links that others want.
  package func setPassive(_ isPassive: Bool) {
    let (device, id) = (device, id)
    device.loop.execute { device.here { $0.setPassive(isPassive, for: id) } }
  }

  /// Waits until there is a link.
  ///
  /// - Returns: ATT_MTU.
  /// - Throws: `connectTimeout`, `released`, `cancelled`.
  @discardableResult package func connected(
    within time: Duration
  ) async throws(GatewayError) -> Int {
    try await device.link(for: id, within: time)
  }

  /// The services, which are discovered once for each link, or found unchanged in the store.
  package func database() async throws(GatewayError) -> RemoteDatabase {
    try await device.database(for: id)
  }

  /// Finds a characteristic.
  ///
  /// - Throws: `unknownCharacteristic`, and what ``database()`` throws.
  package func characteristic(
    _ reference: CharacteristicReference
  ) async throws(GatewayError) -> Characteristic {
    try await device.characteristic(reference, for: id)
  }

  /// Reads a whole value, of a characteristic or a descriptor. A Client Characteristic Configuration
  /// is this user's own.
  package func read(_ handle: AttributeHandle) async throws(GatewayError) -> [UInt8] {
    try await device.read(handle, for: id)
  }

  /// Writes a value of up to 512 octets, in parts if it must be. A write to a Client Characteristic Configuration
  /// subscribes or unsubscribes this user.
  ///
  /// - Parameter withResponse: false: a Write Command; returns when it was sent.
  package func write(
    _ value: [UInt8], to handle: AttributeHandle, withResponse: Bool = true
  ) async throws(GatewayError) {
    try await device.write(value, to: handle, withResponse: withResponse, for: id)
  }

  /// Has the values of a characteristic arrive as events, also on later links. The device is told
  /// only if no other user has subscribed already.
  ///
  /// - Parameter handle: the handle of the value.
  package func subscribe(_ handle: AttributeHandle) async throws(GatewayError) {
    try await device.subscribe(handle, nil, for: id)
  }

  /// Reads a value that is subscribed to and delivers it as an event, unless the device sends it meanwhile.
  package func refresh(_ handle: AttributeHandle) async throws(GatewayError) {
    try await device.refresh(handle, for: id)
  }

  /// Ends a subscription. The device is told if no other user has one.
  package func unsubscribe(_ handle: AttributeHandle) async throws(GatewayError) {
    try await device.unsubscribe(handle, for: id)
  }

  /// Carries out steps in order. Requests of other users may come between them.
  ///
  /// - Returns: the values of the steps that read or expect one, in order.
  /// - Throws: `sequence` with the step that failed.
  package func perform(_ steps: [SequenceStep]) async throws(GatewayError) -> [[UInt8]] {
    try await device.perform(steps, for: id)
  }

  /// Carries out a sequence of the configuration.
  ///
  /// - Throws: `unknownSequence`, and what ``perform(_:)`` throws.
  package func perform(sequence name: String) async throws(GatewayError) -> [[UInt8]] {
    guard let steps = await device.configuration?.sequences[name] else {
      throw .unknownSequence(device: await device.label, name)
    }
    return try await perform(steps)
  }

  /// Encrypts the link, which pairs if there is no bond.
  package func pair() async throws(GatewayError) { try await device.pair(for: id) }

  /// Removes the bond, at the radio and in the store.
  package func unpair() async throws(GatewayError) { try await device.unpair() }

  /// Sets the parameters of the link and of later ones. Without CAP_NET_RAW those of later ones only. Does
  /// nothing on the virtual air.
  package func setParameters(
    _ parameters: PreferredConnectionParameters
  ) async throws(GatewayError) {
    try await device.setParameters(parameters)
  }

  /// Forgets the services of the device, so that they are discovered again.
  package func clearCache() async { await device.clearCache() }
}
