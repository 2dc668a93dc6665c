import ATT

extension Profile {
  /// What a profile's server broadcasts. Vol 3, Part C, 11 and the Core Specification
  /// Supplement, Part A.
  public struct Advertising: Sendable, Equatable {
    /// At most 248 octets of UTF-8.
    public var localName: String?
    /// The services that are advertised.
    public var serviceUUIDs: [BluetoothUUID] = []
    /// Data by company identifier; at most 251 octets each.
    public var manufacturerData: [ManufacturerData] = []
    /// Data by service; at most 251 octets each.
    public var serviceData: [ServiceData] = []
    /// In dBm, -127 to 127.
    public var txPower: Int8?
    /// The value of Appearance, here and in the automatic GAP service.
    public var appearance: UInt16?
    /// From 20 ms to 10,240 ms; nil leaves it to the server.
    public var interval: Duration?
    /// Whether centrals may connect.
    public var isConnectable = true

    /// Nothing but the presence.
    public init() {}
  }

  /// What a company has to say. Core Specification Supplement, Part A, 1.4.
  public struct ManufacturerData: Sendable, Equatable {
    /// The company identifier that the SIG assigned.
    public var company: UInt16
    /// What it says.
    public var data: [UInt8]

    /// One with these values; its properties say what each means.
    public init(company: UInt16, data: [UInt8]) {
      self.company = company
      self.data = data
    }
  }

  /// What a service has to say. Core Specification Supplement, Part A, 1.11.
  public struct ServiceData: Sendable, Equatable {
    /// The service.
    public var service: BluetoothUUID
    /// What it says.
    public var data: [UInt8]

    /// One with these values; its properties say what each means.
    public init(service: BluetoothUUID, data: [UInt8]) {
      self.service = service
      self.data = data
    }
  }
}
