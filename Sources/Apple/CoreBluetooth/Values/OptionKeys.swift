import Foundation

/// Has no effect: Linux has no alert to show. NSNumber(Bool).
public let CBCentralManagerOptionShowPowerAlertKey: String = "kCBInitOptionShowPowerAlert"
/// The identifier under which state is saved on disk and restored in the next run: a String.
public let CBCentralManagerOptionRestoreIdentifierKey: String = "kCBInitOptionRestoreIdentifier"
/// Has no effect.
public let CBCentralManagerOptionDeviceAccessForMedia: String =
  "kCBInitOptionDeviceAccessForMedia"
/// Whether to report every advertisement rather than each device once. NSNumber(Bool).
public let CBCentralManagerScanOptionAllowDuplicatesKey: String = "kCBScanOptionAllowDuplicates"
/// Also report devices that solicit one of these services: `[CBUUID]`.
public let CBCentralManagerScanOptionSolicitedServiceUUIDsKey: String =
  "kCBScanOptionSolicitedServiceUUIDs"
/// Has no effect: apps are not suspended on Linux.
public let CBConnectPeripheralOptionNotifyOnConnectionKey: String =
  "kCBConnectOptionNotifyOnConnection"
/// Has no effect.
public let CBConnectPeripheralOptionNotifyOnDisconnectionKey: String =
  "kCBConnectOptionNotifyOnDisconnection"
/// Has no effect.
public let CBConnectPeripheralOptionNotifyOnNotificationKey: String =
  "kCBConnectOptionNotifyOnNotification"
/// Seconds before the first attempt. NSNumber.
public let CBConnectPeripheralOptionStartDelayKey: String = "kCBConnectOptionStartDelay"
/// Has no effect: transport bridging is not supported.
public let CBConnectPeripheralOptionEnableTransportBridgingKey: String =
  "kCBConnectOptionEnableTransportBridging"
/// Has no effect.
public let CBConnectPeripheralOptionRequiresANCS: String = "kCBConnectOptionRequiresANCS"
/// Whether to reconnect automatically when the connection is lost. NSNumber(Bool).
public let CBConnectPeripheralOptionEnableAutoReconnect: String =
  "kCBConnectOptionEnableAutoReconnect"
/// `[CBPeripheral]`: those that were connected or connecting.
public let CBCentralManagerRestoredStatePeripheralsKey: String = "kCBRestoredPeripherals"
/// `[CBUUID]`: the services of the scan.
public let CBCentralManagerRestoredStateScanServicesKey: String = "kCBRestoredScanServices"
/// `[String: Any]`: the options of the scan.
public let CBCentralManagerRestoredStateScanOptionsKey: String = "kCBRestoredScanOptions"
/// Seconds after which a scan ends: an NSNumber. Not in Apple's framework.
public let CBCentralManagerScanOptionTimeoutKey: String = "AttoScanOptionTimeout"
/// Seconds of silence after which a ``CBCentralManagerPresenceDelegate`` is told that a device has
/// gone: an NSNumber. Not in Apple's framework.
public let CBCentralManagerScanOptionGoneTimeoutKey: String = "AttoScanOptionGoneTimeout"
/// Has no effect: Linux has no alert to show. NSNumber(Bool).
public let CBPeripheralManagerOptionShowPowerAlertKey: String = "kCBInitOptionShowPowerAlert"
/// The identifier under which state is saved on disk and restored in the next run: a String.
public let CBPeripheralManagerOptionRestoreIdentifierKey: String =
  "kCBInitOptionRestoreIdentifier"
/// `[CBMutableService]`: the published services.
public let CBPeripheralManagerRestoredStateServicesKey: String = "kCBRestoredServices"
/// `[String: Any]`: the advertisement.
public let CBPeripheralManagerRestoredStateAdvertisementDataKey: String =
  "kCBRestoredAdvertisement"

/// An option of `registerForConnectionEvents`.
public struct CBConnectionEventMatchingOption: Hashable, Equatable, RawRepresentable, Sendable {
  public let rawValue: String
  public init(rawValue: String) { self.rawValue = rawValue }
}

extension CBConnectionEventMatchingOption {
  /// `[CBUUID]`, at most 4.
  public static let serviceUUIDs: CBConnectionEventMatchingOption = .init(
    rawValue: "kCBConnectionEventMatchingOptionServiceUUIDs")
  /// `[UUID]`
  public static let peripheralUUIDs: CBConnectionEventMatchingOption = .init(
    rawValue: "kCBConnectionEventMatchingOptionPeripheralUUIDs")
}

/// A connection event.
public enum CBConnectionEvent: Int, Sendable {
  case peerDisconnected = 0
  case peerConnected = 1
}

/// Reads options. A value of the wrong type counts as absent.
struct OptionReader {
  let options: [String: Any]
  init(_ options: [String: Any]?) { self.options = options ?? [:] }

  func flag(_ key: String) -> Bool {
    (options[key] as? Bool) ?? (options[key] as? NSNumber)?.boolValue ?? false
  }

  func seconds(_ key: String) -> Double? {
    (options[key] as? NSNumber)?.doubleValue ?? (options[key] as? Double)
      ?? (options[key] as? Int).map(Double.init)
  }

  func text(_ key: String) -> String? { options[key] as? String }
  func uuids(_ key: String) -> [CBUUID] { options[key] as? [CBUUID] ?? [] }
}
