import Atto
import AttoATT
import AttoCommandLine
package import AttoSensors

/// The options of commands that decode advertisements of sensors.
package enum SensorOptions {
  /// The keys of sensors that encrypt.
  package static let keys = Option.list(
    "bind-key", "ADDRESS=HEX",
    "The key of the sensor with this address: 16 octets (repeatable). Other users see it in the list of"
      + " processes.",
    expected: "an address and 16 octets in hex, such as A4:C1:38:11:22:33=231d39c1..."
  ) { text -> (address: UInt64, key: [UInt8])? in
    let parts = text.split(separator: "=")
    guard parts.count == 2, let address = BluetoothAddress(parts[0]),
      let key = Hex.octets(parts[1].utf8), key.count == 16
    else { return nil }
    return (address.value, key)
  }
}

extension SensorDecoder {
  /// A decoder with the keys of the arguments.
  package init(_ arguments: Arguments) {
    let keys = arguments[SensorOptions.keys].map { ($0.address, $0.key) }
    self.init(keys: Dictionary(keys) { _, last in last })
  }
}

extension SensorAdvertisement {
  /// `BTHome v2: temperature 25.06 °C, humidity 50.55 %`
  package var text: String {
    let readings = readings.map(\.description)
    let parts = readings + (problem.map { ["(\($0))"] } ?? [])
    let source = [format, model].compactMap(\.self).joined(separator: ", ")
    return source + (parts.isEmpty ? "" : ": ") + parts.joined(separator: ", ")
  }

  /// The format and the readings: `decoded` and `units`, by their keys.
  package var json: JSONObject {
    let units = readings.compactMap { reading in reading.kind.unit.map { (reading.key, $0) } }
    return [
      "format": format, "model": model, "manufacturer": manufacturer, "encrypted": isEncrypted,
      "counter": counter, "problem": problem.map { "\($0)" },
      "decoded": JSONObject(readings.map { ($0.key, $0.value.json) }),
      "units": units.isEmpty ? nil : JSONObject(units.map { ($0.0, $0.1) }), "text": text,
    ]
  }
}

extension SensorReading.Value {
  fileprivate var json: any Encodable {
    switch self {
    case .number(let number): Int64(exactly: number).map { $0 as any Encodable } ?? number
    case .state(let isOn): isOn
    case .text(let text): text
    case .event(let name, let detail): name + (detail.map { " \($0)" } ?? "")
    }
  }
}
