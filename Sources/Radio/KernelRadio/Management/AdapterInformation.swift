public import AttoLinks
import AttoRadio

/// An adapter of the kernel, as MGMT_OP_READ_INFO describes it.
public struct AdapterInformation: Hashable, Sendable {
  /// The N of hciN.
  public var index: UInt16
  /// The public address; all zeros if it has none.
  public var address: BluetoothAddress
  /// The version of the Core Specification as HCI numbers it: the assigned numbers, 2.1.
  public var version: UInt8
  /// The company identifier of the manufacturer: the assigned numbers, 7.
  public var manufacturer: UInt16
  /// The settings that it supports.
  public var supported: AdapterSettings
  /// The settings that are on.
  public var settings: AdapterSettings
  /// The name; empty if it has none.
  public var name: String

  /// Octets of the answer: 20, and two names of 249 and 11.
  static let length = 280

  /// Reads the answer; nil if it is too short.
  init?(index: UInt16, _ parameters: [UInt8]) {
    guard parameters.count >= Self.length else { return nil }
    var reader = ManagementReader(parameters)
    self.index = index
    address = BluetoothAddress(littleEndian: reader.octets(6), kind: .public)!
    version = reader.integer()
    manufacturer = reader.integer()
    supported = AdapterSettings(rawValue: reader.integer())
    settings = AdapterSettings(rawValue: reader.integer())
    _ = reader.octets(3)
    name = reader.name(249)
  }

  /// `hci0`.
  public var label: String { "hci\(index)" }

  /// The version as text, such as `5.0`; nil if it is newer than the list here.
  public var versionText: String? {
    let known = [
      "1.0b", "1.1", "1.2", "2.0", "2.1", "3.0", "4.0", "4.1", "4.2", "5.0", "5.1", "5.2", "5.3",
      "5.4", "6.0", "6.1",
    ]
    return Int(version) < known.count ? known[Int(version)] : nil
  }
}
