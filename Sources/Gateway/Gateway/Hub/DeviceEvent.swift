import Atto
import AttoATT

/// What happens to a device, as one of its users sees it.
package enum DeviceEvent: Equatable, Sendable {
  /// A link was made; what the user has subscribed to is configured again.
  case connected(mtu: Int)
  /// A value that the user has subscribed to.
  case value(AttributeHandle, [UInt8])
  /// The link ended. Calls fail until the next `connected`.
  case disconnected(AttoError)
  /// The device has told that its services changed. Handles may mean something else now.
  case databaseChanged
}

/// What there is between the gateway and a device.
package enum LinkState: Equatable, Sendable {
  /// Nothing; nobody uses the device.
  case idle
  /// Nothing; the device is looked for, or a pause passes.
  case waiting
  /// An attempt is under way.
  case connecting
  /// A link with this ATT_MTU.
  case connected(mtu: Int)
}

/// What was counted of a device since the gateway began.
package struct DeviceCounters: Equatable, Sendable {
  /// Links that were made.
  package var links: UInt64 = 0
  /// Attempts that failed.
  package var failures: UInt64 = 0
  /// Values received.
  package var values: UInt64 = 0
  /// Values that a user did not receive, because it was too slow.
  package var dropped: UInt64 = 0
  /// Requests, commands and the like that were carried out for users.
  package var requests: UInt64 = 0
}
