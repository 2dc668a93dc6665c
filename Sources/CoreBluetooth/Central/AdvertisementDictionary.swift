internal import Atto
import Foundation

/// An advertisement in the form in which apps get it. Numbers are NSNumbers: on Linux nothing
/// else can be cast to whatever number an app likes.
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
