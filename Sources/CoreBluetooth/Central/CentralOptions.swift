import Foundation

/// Accepted and without effect: Linux has no alert to show. NSNumber(Bool).
public let CBCentralManagerOptionShowPowerAlertKey: String = "kCBInitOptionShowPowerAlert"
/// The name under which state is kept on disk and found again by the next run: a String.
public let CBCentralManagerOptionRestoreIdentifierKey: String = "kCBInitOptionRestoreIdentifier"
/// Accepted and without effect.
public let CBCentralManagerOptionDeviceAccessForMedia: String =
  "kCBInitOptionDeviceAccessForMedia"
/// Whether every advertisement is reported rather than each device once. NSNumber(Bool).
public let CBCentralManagerScanOptionAllowDuplicatesKey: String = "kCBScanOptionAllowDuplicates"
/// Reports also devices that solicit one of these services: `[CBUUID]`.
public let CBCentralManagerScanOptionSolicitedServiceUUIDsKey: String =
  "kCBScanOptionSolicitedServiceUUIDs"
/// Accepted and without effect: apps on Linux are not suspended.
public let CBConnectPeripheralOptionNotifyOnConnectionKey: String =
  "kCBConnectOptionNotifyOnConnection"
/// Accepted and without effect.
public let CBConnectPeripheralOptionNotifyOnDisconnectionKey: String =
  "kCBConnectOptionNotifyOnDisconnection"
/// Accepted and without effect.
public let CBConnectPeripheralOptionNotifyOnNotificationKey: String =
  "kCBConnectOptionNotifyOnNotification"
/// Seconds before the attempt begins. NSNumber.
public let CBConnectPeripheralOptionStartDelayKey: String = "kCBConnectOptionStartDelay"
/// Accepted and without effect: Linux bridges nothing to BR/EDR.
public let CBConnectPeripheralOptionEnableTransportBridgingKey: String =
  "kCBConnectOptionEnableTransportBridging"
/// Accepted and without effect.
public let CBConnectPeripheralOptionRequiresANCS: String = "kCBConnectOptionRequiresANCS"
/// Whether a connection that is lost is made again by itself. NSNumber(Bool).
public let CBConnectPeripheralOptionEnableAutoReconnect: String =
  "kCBConnectOptionEnableAutoReconnect"
/// `[CBPeripheral]` that were connected or being connected.
public let CBCentralManagerRestoredStatePeripheralsKey: String = "kCBRestoredPeripherals"
/// `[CBUUID]` that were scanned for.
public let CBCentralManagerRestoredStateScanServicesKey: String = "kCBRestoredScanServices"
/// `[String: Any]`: the options of the scan.
public let CBCentralManagerRestoredStateScanOptionsKey: String = "kCBRestoredScanOptions"

/// Which peers `registerForConnectionEvents` is about.
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

/// What `registerForConnectionEvents` tells.
public enum CBConnectionEvent: Int, Sendable {
  case peerDisconnected = 0
  case peerConnected = 1
}

extension CBCentralManager {
  /// What a radio may or may not be able to do.
  public struct Feature: OptionSet, Sendable {
    public let rawValue: UInt
    public init(rawValue: UInt) { self.rawValue = rawValue }

    /// Scanning for and connecting to extended advertisements.
    public static var extendedScanAndConnect: CBCentralManager.Feature { .init(rawValue: 0x01) }
  }
}

/// How far a connection is.
public enum CBPeripheralState: Int, Sendable {
  case disconnected = 0
  case connecting = 1
  case connected = 2
  case disconnecting = 3
}

/// Whether a write is answered.
public enum CBCharacteristicWriteType: Int, Sendable {
  case withResponse = 0
  case withoutResponse = 1
}

/// Options, read leniently: what has another type than it should counts as absent.
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
