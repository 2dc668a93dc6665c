import AttoATT
import AttoGATT

/// The services of a server, as described in a profile file.
///
/// Handles that the file omits are nil; ``layout(from:)`` assigns them.
public struct Profile: Sendable, Equatable {
  /// The value of Device Name in the automatic GAP service.
  public var name: String?
  /// The largest ATT_MTU that the server offers, from 23; nil for the server's default.
  public var mtu: UInt16?
  /// Whether the server adds the GAP and GATT services that the file does not list.
  public var addsAutomaticServices: Bool
  /// The advertising data; nil for the server's default.
  public var advertising: Advertising?
  /// The services in the order of their handles.
  public var services: [Service]

  /// Creates a profile.
  public init(
    name: String? = nil, addsAutomaticServices: Bool = true, services: [Service] = []
  ) {
    self.name = name
    self.addsAutomaticServices = addsAutomaticServices
    self.services = services
  }

  /// A service. Vol 3, Part G, 3.1.
  public struct Service: Sendable, Equatable {
    /// The service's UUID.
    public var uuid: BluetoothUUID
    /// Whether it is a primary service.
    public var isPrimary = true
    /// The declaration's handle.
    public var handle: AttributeHandle?
    /// The last handle of the service's range; nil for that of its last attribute.
    public var endHandle: AttributeHandle?
    /// The included services.
    public var includes: [Include] = []
    /// The characteristics in the order of their handles.
    public var characteristics: [Characteristic] = []
  }

  /// An include declaration. Vol 3, Part G, 3.2.
  public struct Include: Sendable, Equatable {
    /// The declaration's handle.
    public var handle: AttributeHandle?
    /// The included service, anywhere in the profile.
    public var service: Target
  }

  /// A reference to a service or a characteristic of the profile.
  public enum Target: Sendable, Equatable {
    /// The handle of its declaration, or of a characteristic's value.
    case handle(AttributeHandle)
    /// Its UUID, which must be unique in the profile.
    case uuid(BluetoothUUID)
  }

  /// A characteristic: declaration, value, descriptors. Vol 3, Part G, 3.3.
  public struct Characteristic: Sendable, Equatable {
    /// The characteristic with its listed descriptors and its initial value.
    public var definition: CharacteristicDefinition
    /// The descriptors that the properties require and the file does not list.
    public var addedDescriptors: [DescriptorDefinition]
    /// The scripted behaviour; nil for a plain value.
    public var behaviour: Behaviour?
  }

  /// The value of the Characteristic Extended Properties descriptor. Vol 3, Part G, 3.3.3.1.
  struct ExtendedProperties: OptionSet {
    let rawValue: UInt16

    static let reliableWrite = ExtendedProperties(rawValue: 0x0001)
    static let writableAuxiliaries = ExtendedProperties(rawValue: 0x0002)

    static let names: [(name: String, property: ExtendedProperties)] = [
      ("reliableWrite", .reliableWrite), ("writableAuxiliaries", .writableAuxiliaries),
    ]

    var octets: [UInt8] { [UInt8(rawValue & 0xFF), UInt8(rawValue >> 8)] }
  }
}
