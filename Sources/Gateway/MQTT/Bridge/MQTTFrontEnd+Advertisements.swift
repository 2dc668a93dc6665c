import Atto
import AttoATT
import AttoGateway
import AttoText

/// Advertisements, which are forwarded as they are, if they say something new or it is time. Decoding them is
/// the subscriber's business.
extension MQTTFrontEnd {
  func heard(_ batch: [Heard]) {
    for heard in batch {
      heardInFleet(heard.discovery)
      heardSensor(heard)
      heardPresence(heard)
      if advertisements.forward, advertisements.allows(heard.discovery), forwarding.takes(heard) {
        forward(heard)
      }
    }
  }

  private func forward(_ heard: Heard) {
    let device = heard.discovery
    let payload = JSON.object([
      ("address", .string(device.address.digits)),
      ("random", .bool(device.address.kind == .random)),
      ("rssi", device.strength.map { .integer(Int($0)) } ?? .null),
      ("connectable", .bool(device.isConnectable)),
      ("data", .string(Hex.text(device.advertisement))),
      ("scanResponse", .string(Hex.text(device.scanResponse))),
      ("time", .string(clock.now().text)), ("via", .string(gateway)),
    ])
    publisher?.send(
      Outgoing(
        topic: "\(names.advertisement)/\(device.address.digits)", payload: payload.octets, qos: 0))
  }
}

extension Configuration.Advertisements {
  /// Whether an advertisement passes the filters: strong enough, and with one of the services or
  /// companies, if there are any.
  func allows(_ device: Discovery) -> Bool {
    if let minimumRSSI, (device.strength ?? .min) < minimumRSSI { return false }
    guard !services.isEmpty || !companies.isEmpty else { return true }
    return device.data.serviceUUIDs.contains { services.contains($0) }
      || device.data.serviceData.contains { services.contains($0.uuid) }
      || device.data.manufacturerData.contains { companies.contains($0.company) }
  }
}
