/// The local name: a String.
public let CBAdvertisementDataLocalNameKey: String = "kCBAdvDataLocalName"
/// Transmitted power in dBm: an NSNumber.
public let CBAdvertisementDataTxPowerLevelKey: String = "kCBAdvDataTxPowerLevel"
/// `[CBUUID]`
public let CBAdvertisementDataServiceUUIDsKey: String = "kCBAdvDataServiceUUIDs"
/// `[CBUUID: Data]`
public let CBAdvertisementDataServiceDataKey: String = "kCBAdvDataServiceData"
/// Data: the company identifier, least significant octet first, and what follows.
public let CBAdvertisementDataManufacturerDataKey: String = "kCBAdvDataManufacturerData"
/// `[CBUUID]`: services of Apple's overflow area. Never there on Linux.
public let CBAdvertisementDataOverflowServiceUUIDsKey: String = "kCBAdvDataHashedServiceUUIDs"
/// Whether the device takes connections: an NSNumber.
public let CBAdvertisementDataIsConnectable: String = "kCBAdvDataIsConnectable"
/// `[CBUUID]`
public let CBAdvertisementDataSolicitedServiceUUIDsKey: String =
  "kCBAdvDataSolicitedServiceUUIDs"
