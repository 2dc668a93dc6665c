/// Accepted and without effect: Linux has no alert to show. NSNumber(Bool).
public let CBPeripheralManagerOptionShowPowerAlertKey: String = "kCBInitOptionShowPowerAlert"
/// The name under which state is kept on disk and found again by the next run: a String.
public let CBPeripheralManagerOptionRestoreIdentifierKey: String =
  "kCBInitOptionRestoreIdentifier"
/// `[CBMutableService]`, with their subscribers.
public let CBPeripheralManagerRestoredStateServicesKey: String = "kCBRestoredServices"
/// `[String: Any]`: what was advertised.
public let CBPeripheralManagerRestoredStateAdvertisementDataKey: String =
  "kCBRestoredAdvertisement"

/// How fast a central's connection is wished to be.
public enum CBPeripheralManagerConnectionLatency: Int, Sendable {
  case low = 0
  case medium = 1
  case high = 2
}
