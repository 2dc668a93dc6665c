import Atto
import AttoCommandLine
import AttoPeers
import AttoRadio
import AttoSensors

/// `decode --advertisement`: advertising data of sensors, in hex.
struct AdvertisementDecoding {
  private let decoder: SensorDecoder
  private let results: Results

  init(_ arguments: Arguments) throws(UsageError) {
    decoder = try SensorDecoder(arguments)
    results = Results(arguments)
  }

  /// Decodes `HEX` or `ADDRESS HEX`.
  ///
  /// - Throws: `UsageError` if the text is not hex.
  func show(_ text: Substring, line: Int? = nil) throws {
    let words = text.split(separator: " ", maxSplits: 1)
    let address = words.count == 2 ? BluetoothAddress(words[0]) : nil
    let octets = try octets(argument: address == nil ? text : words[1])
    let data = AdvertisingData(parsing: octets)
    let sensor = decoder.decode(data, from: address ?? BluetoothAddress(0))
    results.print(
      sensor?.text ?? "no sensor format" + (data.malformation.map { ": \($0)" } ?? ""),
      json: (sensor?.json ?? [:]).adding([
        "line": line, "advertisement": Shown.hex(octets), "address": address?.description,
      ]))
  }
}
