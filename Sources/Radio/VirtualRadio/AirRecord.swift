import AttoATT
import CAttoLinux
import Glibc
import AttoLinks
import AttoRadio

/// The content of an advertising file: the octets of the advertisement, and what a scanner would
/// learn from its controller.
///
/// It is a text file of `key value` lines:
/// ```
/// atto-air 1
/// process 4242
/// name Strap
/// connectable 1
/// interval 100000
/// rssi -50
/// advertisement 020106...
/// scan-response 0909...
/// ```
/// The interval is in microseconds. Unknown keys are skipped. A file without the first line, or with
/// a value out of its range, is not a record.
struct AirRecord: Hashable {
  static let lengthLimit = 4096

  /// The process that advertises, for messages only.
  var process: Int32 = 0
  /// The name of the radio; empty if it has none.
  var name = ""
  var isConnectable = true
  /// Time between two advertisements in microseconds: 20 ms to 10.24 s.
  var interval: Int64 = 100_000
  /// The simulated RSSI in dBm.
  var rssi: Int8 = -50
  var advertisement: [UInt8] = []
  var scanResponse: [UInt8] = []

  var text: String {
    """
    atto-air 1
    process \(process)
    name \(name)
    connectable \(isConnectable ? 1 : 0)
    interval \(interval)
    rssi \(rssi)
    advertisement \(Hex.text(advertisement))
    scan-response \(Hex.text(scanResponse))

    """
  }

  init() {}

  /// Parses a file; nil if it is not a record.
  init?(parsing bytes: [UInt8]) {
    guard bytes.count <= Self.lengthLimit,
      let text = String(validating: bytes, as: UTF8.self)
    else { return nil }
    var lines = text.utf8.split(separator: 0x0A)[...]
    guard let first = lines.popFirst(), first.elementsEqual("atto-air 1".utf8) else { return nil }
    var seen: Set<String> = []
    for line in lines {
      guard let space = line.firstIndex(of: 0x20) else { return nil }
      let key = String(Substring(line[..<space]))
      let value = line[line.index(after: space)...]
      guard seen.insert(key).inserted else { return nil }
      switch key {
      case "process":
        guard let process = Int32(Substring(value)), process >= 0 else { return nil }
        self.process = process
      case "name":
        guard value.count <= AirControl.nameLimit else { return nil }
        name = String(Substring(value))
      case "connectable":
        guard let flag = Int(Substring(value)), flag == 0 || flag == 1 else { return nil }
        isConnectable = flag == 1
      case "interval":
        guard let interval = Int64(Substring(value)),
          AdvertisingParameters.intervalRange.contains(.microseconds(interval))
        else { return nil }
        self.interval = interval
      case "rssi":
        guard let rssi = Int8(Substring(value)) else { return nil }
        self.rssi = rssi
      case "advertisement":
        guard let octets = Self.part(value) else { return nil }
        advertisement = octets
      case "scan-response":
        guard let octets = Self.part(value) else { return nil }
        scanResponse = octets
      default: break
      }
    }
  }

  private static func part(_ digits: Substring.UTF8View) -> [UInt8]? {
    guard digits.count <= 2 * LegacyAdvertisement.capacity else { return nil }
    return Hex.octets(digits)
  }
}

extension AirRecord {
  /// Reads the advertising file of a radio, which may be dead; nil if there is none, or it is not a
  /// record.
  static func read(_ address: BluetoothAddress, in folder: AirFolder) -> AirRecord? {
    let descriptor = clinux_open(
      folder.entry(address, .advertisement), O_RDONLY | O_NOFOLLOW | O_NONBLOCK, 0)
    guard descriptor >= 0 else { return nil }
    defer { _ = close(descriptor) }
    var status = stat()
    guard clinux_fstat(descriptor, &status) == 0, status.isRegularFile,
      status.st_size <= lengthLimit
    else { return nil }
    var octets = [UInt8](repeating: 0, count: lengthLimit + 1)
    // Files are replaced and never changed, so one read is enough.
    let count = Glibc.read(descriptor, &octets, octets.count)
    return count < 0 ? nil : AirRecord(parsing: Array(octets[..<count]))
  }
}
