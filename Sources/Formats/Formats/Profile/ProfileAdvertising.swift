import AttoATT

extension Profile {
  /// Advertising data and parameters. Vol 3, Part C, 11, and Core Specification Supplement, Part A.
  public struct Advertising: Sendable, Equatable {
    /// The local name, at most 248 octets of UTF-8.
    public var localName: String?
    /// The advertised services.
    public var serviceUUIDs: [BluetoothUUID] = []
    /// Manufacturer data, at most 251 octets for each company.
    public var manufacturerData: [ManufacturerData] = []
    /// Service data, at most 251 octets for each service.
    public var serviceData: [ServiceData] = []
    /// The transmit power, -127 to 127 dBm.
    public var txPower: Int8?
    /// The appearance, which is also the value of Appearance in the automatic GAP service.
    public var appearance: UInt16?
    /// The interval, 20 ms to 10,240 ms; nil for the server's default.
    public var interval: Duration?
    /// Whether centrals may connect.
    public var isConnectable: Bool
  }

  /// Manufacturer-specific data. Core Specification Supplement, Part A, 1.4.
  public struct ManufacturerData: Sendable, Equatable {
    /// The company identifier.
    public var company: UInt16
    /// The data.
    public var data: [UInt8]
  }

  /// Service data. Core Specification Supplement, Part A, 1.11.
  public struct ServiceData: Sendable, Equatable {
    /// The service's UUID.
    public var service: BluetoothUUID
    /// The data.
    public var data: [UInt8]
  }
}
