internal import Atto
import AttoRadio
import Foundation

/// The name and services that an app advertises.
struct AdvertisingRequest: Sendable {
  var name: String?
  var services: [BluetoothUUID] = []

  /// Reads the local name and the services. Other keys are ignored with a warning, as on iOS.
  init(_ data: [String: Any]?) {
    let data = data ?? [:]
    name = data[CBAdvertisementDataLocalNameKey] as? String
    services = (data[CBAdvertisementDataServiceUUIDsKey] as? [CBUUID] ?? []).map(\.bluetooth)
    let others = data.keys.filter {
      $0 != CBAdvertisementDataLocalNameKey && $0 != CBAdvertisementDataServiceUUIDsKey
    }
    for key in others.sorted() {
      Warning.log("advertisement key \(key) is not supported (ignored)")
    }
  }

  /// The fields that fit into an advertisement and its scan response. If there is too little room,
  /// services at the end of the list are left out and the name is shortened.
  func parameters() -> AdvertisingParameters {
    var data = AdvertisingData()
    data.localName = name
    data.serviceUUIDs = services
    while (try? LegacyAdvertisement(data)) == nil {
      if !data.serviceUUIDs.isEmpty {
        data.serviceUUIDs.removeLast()
        data.listsAllServices = false
      } else {
        data.localName = nil
      }
    }
    if data.serviceUUIDs.count < services.count {
      Warning.log(
        "advertising only \(data.serviceUUIDs.count) of \(services.count) services: the others do not"
          + " fit")
    }
    return AdvertisingParameters(data)
  }
}
