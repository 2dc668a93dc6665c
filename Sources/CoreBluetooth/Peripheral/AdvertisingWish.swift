internal import Atto
import Foundation

/// What an app wants advertised.
struct AdvertisingWish: Sendable {
  var name: String?
  var services: [BluetoothUUID] = []

  /// Takes the local name and the services; other keys are refused with a word to the developer,
  /// as iOS does.
  init(_ data: [String: Any]?) {
    let data = data ?? [:]
    name = data[CBAdvertisementDataLocalNameKey] as? String
    services = (data[CBAdvertisementDataServiceUUIDsKey] as? [CBUUID] ?? []).map(\.bluetooth)
    let others = data.keys.filter {
      $0 != CBAdvertisementDataLocalNameKey && $0 != CBAdvertisementDataServiceUUIDsKey
    }
    for key in others.sorted() {
      Misuse.log("the advertisement key \(key) is not allowed, and is ignored")
    }
  }

  /// The fields, as far as they fit into an advertisement and its scan response: services at the
  /// end of the list are left out where there is no room for all, and the name is shortened.
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
      Misuse.log(
        "only \(data.serviceUUIDs.count) of \(services.count) services fit into the advertisement")
    }
    return AdvertisingParameters(data)
  }
}
