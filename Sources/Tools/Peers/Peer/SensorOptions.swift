import Atto
import AttoATT
import AttoCommandLine
package import AttoSensors
import AttoText

/// The options of commands that decode advertisements of sensors.
package enum SensorOptions {
  /// The keys of sensors that encrypt.
  package static let keys = Option.list(
    "bind-key", "ADDRESS=HEX",
    "The key of the sensor with this address: 16 octets (repeatable). Other users see it in the list of"
      + " processes.",
    expected: "an address and 16 octets in hex, such as A4:C1:38:11:22:33=231d39c1..."
  ) { key($0) }
  /// A file with such keys.
  package static let keyFile = Option.file(
    "bind-key-file", "FILE", "Keys of sensors, a line ADDRESS=HEX each. # begins a comment.")
  /// Both.
  package static let all: [any CommandOption] = [keys, keyFile]

  fileprivate static func key(
    _ text: some StringProtocol
  ) -> (address: UInt64, key: [UInt8])? {
    let parts = text.split(separator: "=")
    guard parts.count == 2, let address = BluetoothAddress(parts[0]),
      let key = Hex.octets(parts[1].utf8), key.count == 16
    else { return nil }
    return (address.value, key)
  }
}

extension SensorDecoder {
  /// A decoder with the keys of the arguments: those of the command line count before those of the file.
  ///
  /// - Throws: `UsageError` if the file cannot be read, or a line of it is no key.
  package init(_ arguments: Arguments) throws(UsageError) {
    var keys: [UInt64: [UInt8]] = [:]
    if let file = arguments[SensorOptions.keyFile] { keys = try Self.keys(ofFile: file) }
    for given in arguments[SensorOptions.keys] { keys[given.address] = given.key }
    self.init(keys: keys)
  }

  private static func keys(ofFile path: String) throws(UsageError) -> [UInt64: [UInt8]] {
    let octets: [UInt8]
    do throws(FileBytes.Failure) {
      octets = try FileBytes.read(path)
    } catch {
      throw UsageError("cannot read the keys of \(path): \(error.reason)")
    }
    var keys: [UInt64: [UInt8]] = [:]
    let lines = octets.split(separator: 0x0A, omittingEmptySubsequences: false)
    for (number, line) in lines.enumerated() {
      let text = String(decoding: line.prefix { $0 != UInt8(ascii: "#") }, as: UTF8.self)
        .filter { !$0.isWhitespace }
      guard !text.isEmpty else { continue }
      // The line is not shown: it may be a key.
      guard let found = SensorOptions.key(text) else {
        throw UsageError("\(path), line \(number + 1): expected ADDRESS=HEX with 16 octets")
      }
      keys[found.address] = found.key
    }
    return keys
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
