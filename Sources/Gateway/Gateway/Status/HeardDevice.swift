import Atto
import AttoATT
import AttoFormats
import AttoSensors
import AttoStore
import AttoText

/// A device on the air that the configuration does not have.
package struct HeardDevice: Equatable, Sendable {
  package let address: BluetoothAddress
  /// The local name, which the device has chosen.
  package let name: String?
  /// The maker, by the sensor's format or by the manufacturer data.
  package let vendor: String?
  /// The format of a sensor's readings, or else the names of services.
  package let format: String?
  package let rssi: Int8?
  package let adapter: AdapterName
  /// What to add to the configuration; nil: nothing permanent identifies the device.
  package let proposal: Proposal?
  /// Whether the readings are encrypted.
  package let needsKey: Bool
  package let isConnectable: Bool

  /// An element for a list of the configuration.
  package struct Proposal: Equatable, Sendable {
    /// The key of the list: `devices` or `sensors`.
    package let key: String
    /// The element: one line of JSON.
    package let element: String
  }

  init(_ heard: Heard) {
    let (data, address) = (heard.discovery.data, heard.discovery.address)
    let sensor = SensorDecoder().decode(data, from: address)
    let services = data.serviceUUIDs.prefix(4).compactMap {
      AssignedNumbers.name(of: $0, as: .service)
    }
    self.address = address
    name = data.localName
    vendor =
      sensor?.manufacturer ?? data.manufacturerData.first.map { Company.name($0.company) }
    format =
      sensor.map { [$0.format, $0.model].compactMap { $0 }.joined(separator: ", ") }
      ?? (services.isEmpty ? nil : services.joined(separator: ", "))
    rssi = heard.discovery.strength
    adapter = heard.adapter
    needsKey = sensor?.problem == .keyMissing
    isConnectable = heard.discovery.isConnectable

    let label = Self.label(data.localName ?? sensor?.model ?? sensor?.format ?? "", address)
    // On the virtual air an address lasts as long as its program.
    let isStable = PeerName.isStable(address) && heard.adapter != .air
    if sensor != nil, isStable {
      proposal = Proposal(
        key: "sensors",
        element: Self.line([("name", .string(label)), ("address", .string(address.digits))]))
    } else if isConnectable, isStable || data.localName.map(Self.isPlain) == true {
      let match: (String, JSON) =
        isStable
        ? ("address", .string("\(address)")) : ("localName", .string(data.localName ?? ""))
      let values = data.serviceUUIDs.compactMap { Self.values[$0] }
      proposal = Proposal(
        key: "devices",
        element: Self.line(
          [("name", .string(label)), ("match", .object([match]))]
            + (values.isEmpty ? [] : [("subscribe", .array(values.map { .string($0) }))])))
    } else {
      proposal = nil
    }
  }

  /// Characteristics that each server of these services has and notifies or indicates.
  private static let values: [BluetoothUUID: String] = [
    0x180D: "2A37", 0x180F: "2A19", 0x1809: "2A1C", 0x1814: "2A53", 0x1816: "2A5B", 0x1818: "2A63",
    0x181D: "2A9D",
  ]

  private static func line(_ members: [(String, JSON)]) -> String {
    JSON.object(members.map { (name: $0.0, value: $0.1) }).text
  }

  /// A name for the configuration. It ends with digits of the address, which distinguish two devices of a kind.
  private static func label(_ name: String, _ address: BluetoothAddress) -> String {
    let words = name.utf8.prefix(32).split { !ProfileField.isNameOctet($0) }
      .map { String(decoding: $0, as: UTF8.self).lowercased() }
    let end = address.digits.filter { $0 != ":" }.suffix(4).lowercased()
    return ((words.isEmpty ? ["device"] : words) + [end]).joined(separator: "-")
  }

  /// Whether people see a name as it is, so that they can judge what they paste.
  private static func isPlain(_ name: String) -> Bool {
    !name.isEmpty && name.printable == name && !name.contains("\u{FFFD}")
  }
}

extension Hub {
  /// Devices of ``unconfigured``.
  static let unconfiguredLimit = 100
  /// Devices that are compared with the configuration for it.
  static let comparedLimit = 1024

  /// The devices on the air that the configuration does not have, the strongest first.
  package var unconfigured: [HeardDevice] {
    let present = configuration.presence.compactMap { device -> UInt64? in
      if case .address(let address) = device.identity { address.value } else { nil }
    }
    let sensors = Set(configuration.sensors.map(\.address.value) + present)
    let addresses = Set(named.values.compactMap { $0.here { $0.address?.value } })
    let matches = configuration.devices.map(\.match)
    return presentDevices.sorted { $0.discovery.rank > $1.discovery.rank }
      .prefix(Self.comparedLimit).lazy
      .filter { heard in
        let address = heard.discovery.address.value
        return !sensors.contains(address) && !addresses.contains(address)
          && !matches.contains { $0.matches(heard.discovery, onAir: heard.adapter == .air) }
      }
      .prefix(Self.unconfiguredLimit).map { HeardDevice($0) }
  }
}

/// Companies whose devices are common. The Bluetooth SIG assigns the numbers.
private enum Company {
  private static let names: [UInt16: String] = [
    0x0006: "Microsoft", 0x000D: "Texas Instruments", 0x000F: "Broadcom", 0x004C: "Apple",
    0x0059: "Nordic Semiconductor", 0x0075: "Samsung", 0x0087: "Garmin", 0x009E: "Bose",
    0x00C4: "LG Electronics", 0x00E0: "Google", 0x012D: "Sony", 0x0157: "Huami",
    0x0171: "Amazon", 0x027D: "Huawei", 0x02E5: "Espressif", 0x02FF: "Silicon Labs",
    0x0334: "Airthings", 0x038F: "Xiaomi", 0x0499: "Ruuvi", 0x0969: "SwitchBot", 0x0BA9: "Shelly",
  ]

  /// The name, or else the number.
  static func name(_ company: UInt16) -> String {
    names[company] ?? "company 0x\(Hex.digits(company))"
  }
}
