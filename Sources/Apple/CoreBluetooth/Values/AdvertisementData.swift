internal import Atto
import Foundation

/// The local name: a String.
public let CBAdvertisementDataLocalNameKey: String = "kCBAdvDataLocalName"
/// Transmitted power in dBm: an NSNumber.
public let CBAdvertisementDataTxPowerLevelKey: String = "kCBAdvDataTxPowerLevel"
/// `[CBUUID]`
public let CBAdvertisementDataServiceUUIDsKey: String = "kCBAdvDataServiceUUIDs"
/// `[CBUUID: Data]`
public let CBAdvertisementDataServiceDataKey: String = "kCBAdvDataServiceData"
/// Data: the company identifier, least significant octet first, and the company's data.
public let CBAdvertisementDataManufacturerDataKey: String = "kCBAdvDataManufacturerData"
/// `[CBUUID]`: services of Apple's overflow area. Never set on Linux.
public let CBAdvertisementDataOverflowServiceUUIDsKey: String = "kCBAdvDataHashedServiceUUIDs"
/// Whether the device accepts connections: an NSNumber.
public let CBAdvertisementDataIsConnectable: String = "kCBAdvDataIsConnectable"
/// `[CBUUID]`
public let CBAdvertisementDataSolicitedServiceUUIDsKey: String =
  "kCBAdvDataSolicitedServiceUUIDs"

/// Builds the advertisement data that apps get. Numbers are NSNumbers: on Linux, only these can be
/// cast to any number type.
enum AdvertisementDictionary {
  static func make(_ discovery: Discovery) -> [String: Any] {
    let data = discovery.data
    var all: [String: Any] = [
      CBAdvertisementDataIsConnectable: NSNumber(value: discovery.isConnectable)
    ]
    if let name = data.localName { all[CBAdvertisementDataLocalNameKey] = name }
    if let power = data.txPower {
      all[CBAdvertisementDataTxPowerLevelKey] = NSNumber(value: Int(power))
    }
    if !data.serviceUUIDs.isEmpty {
      all[CBAdvertisementDataServiceUUIDsKey] = data.serviceUUIDs.map { CBUUID($0) }
    }
    if !data.solicitedServiceUUIDs.isEmpty {
      all[CBAdvertisementDataSolicitedServiceUUIDsKey] = data.solicitedServiceUUIDs.map {
        CBUUID($0)
      }
    }
    if !data.serviceData.isEmpty {
      all[CBAdvertisementDataServiceDataKey] = Dictionary(
        data.serviceData.map { (CBUUID($0.uuid), Data($0.data)) },
        uniquingKeysWith: { _, last in last })
    }
    if let first = data.manufacturerData.first {
      let company = [UInt8(first.company & 0xFF), UInt8(first.company >> 8)]
      all[CBAdvertisementDataManufacturerDataKey] = Data(company + first.data)
    }
    return all
  }
}
