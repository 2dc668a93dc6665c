import AttoATT
import AttoGATT
package import AttoLinks
package import AttoRadio

/// Decodes sensor readings in advertisements.
///
/// The open or documented formats of sensors, one file each. Decoding needs no connection and keeps
/// nothing between advertisements: repeated ones and replayed ones are told apart by
/// ``SensorAdvertisement/counter``. Octets that no format knows decode to nothing.
package struct SensorDecoder: Sendable {
  /// The keys of devices that encrypt, by the digits of their address: 16 octets each.
  package var keys: [UInt64: [UInt8]]

  /// A decoder with these keys.
  package init(keys: [UInt64: [UInt8]] = [:]) { self.keys = keys }

  /// Decodes an advertisement, joined with its scan response if there is one. Returns nil if it is
  /// of no known format.
  package func decode(
    _ data: AdvertisingData, from address: BluetoothAddress
  ) -> SensorAdvertisement? {
    guard !data.serviceData.isEmpty || !data.manufacturerData.isEmpty else { return nil }
    let device = SensorDevice(data: data, address: address, key: keys[address.value])
    for format in Self.formats {
      if let decoded = format(device) { return decoded }
    }
    return nil
  }

  private static let formats: [@Sendable (SensorDevice) -> SensorAdvertisement?] = [
    BTHome.decode, Xiaomi.decode, MiScale.decode, HHCC.decode, Ruuvi.decode, ThermoPro.decode,
    Inkbird.decode, OralB.decode, Govee.decode, Eddystone.decode, IBeacon.decode,
  ]
}

/// An advertisement as formats see it.
struct SensorDevice {
  let data: AdvertisingData
  let address: BluetoothAddress
  let key: [UInt8]?

  /// The cipher of the key; nil if there is none, or if it has not 16 octets.
  var cipher: AESCCM? {
    guard let key, key.count == 16 else { return nil }
    return AESCCM(key: key)
  }

  var name: String { data.localName ?? "" }

  /// Whether the name has this part. The library's `contains` takes a microsecond for each.
  func isNamed(_ part: String) -> Bool {
    guard var rest = data.localName?.utf8[...] else { return false }
    while rest.count >= part.utf8.count {
      if rest.starts(with: part.utf8) { return true }
      rest = rest.dropFirst()
    }
    return false
  }

  /// The octets of the address, most significant first.
  var addressOctets: [UInt8] {
    (0..<6).map { UInt8(truncatingIfNeeded: address.value >> (40 - 8 * $0)) }
  }

  func serviceData(_ uuid: UInt16) -> Octets? {
    data.serviceData.last { $0.uuid == BluetoothUUID(uuid) }.map { Octets($0.data) }
  }

  func manufacturerData(_ company: UInt16) -> Octets? {
    data.manufacturerData.last { $0.company == company }.map { Octets($0.data) }
  }

  /// The octets of the last manufacturer data with the company before them, for formats that use
  /// these two octets as well.
  var lastManufacturerData: Octets? {
    data.manufacturerData.last.map {
      Octets([UInt8($0.company & 0xFF), UInt8($0.company >> 8)] + $0.data)
    }
  }

  func hasService(_ uuid: UInt16) -> Bool { data.serviceUUIDs.contains(BluetoothUUID(uuid)) }
}
