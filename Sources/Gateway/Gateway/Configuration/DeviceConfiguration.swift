import Atto
import AttoATT

/// A device whose link is held.
package struct DeviceConfiguration: Equatable, Sendable {
  /// The name in topics and paths: as ``Configuration/name``.
  package var name: String
  /// How the device is recognised.
  package var match: DeviceMatch
  /// The level that the link must reach before it is used.
  package var security = SecurityLevel.low
  /// The passkey that the device shows or has printed on it, 0 to 999999.
  package var passkey: UInt32?
  /// Whether the link is held even if nobody uses the device. Otherwise it is made on demand.
  package var isHeld = true
  /// The characteristics that are subscribed to.
  package var subscribe: [CharacteristicReference] = []
  /// The characteristics that are read again and again.
  package var read: [PeriodicRead] = []
  /// Names of characteristics.
  package var characteristics: [NamedCharacteristic] = []
  /// Sequences by name.
  package var sequences: [String: [SequenceStep]] = [:]
  /// The image that the device is to run, in ``Configuration/firmware``; nil: nobody has said.
  package var firmware: String?
  /// What people control.
  package var controls: [ControlConfiguration] = []

  package init(name: String, match: DeviceMatch) {
    self.name = name
    self.match = match
  }

  /// A value that is read again and again.
  package struct PeriodicRead: Equatable, Sendable {
    package var characteristic: CharacteristicReference
    /// The time between the beginnings of two reads, 1 s to 7 days.
    package var period: Duration

    package init(_ characteristic: CharacteristicReference, every period: Duration) {
      self.characteristic = characteristic
      self.period = period
    }
  }

  /// A characteristic with a name of the user's.
  package struct NamedCharacteristic: Equatable, Sendable {
    package var name: String
    package var uuid: BluetoothUUID
    /// The service, where several have such a characteristic.
    package var service: BluetoothUUID?
    /// Whether values are decoded by the SIG's formats; nil: as the front end does by default.
    package var decodes: Bool?
    /// Whether the broker keeps the last value; nil: as the front end does by default.
    package var isRetained: Bool?

    package init(
      name: String, uuid: BluetoothUUID, service: BluetoothUUID? = nil, decodes: Bool? = nil,
      isRetained: Bool? = nil
    ) {
      self.name = name
      self.uuid = uuid
      self.service = service
      self.decodes = decodes
      self.isRetained = isRetained
    }
  }
}

/// How a device is recognised: everything that is given must agree.
package struct DeviceMatch: Equatable, Sendable {
  package var address: BluetoothAddress?
  /// The local name that is advertised, octet by octet.
  package var localName: String?
  /// A service that is advertised, or has service data.
  package var service: BluetoothUUID?
  /// The company of manufacturer data, and the first octets of the data.
  package var company: UInt16?
  package var manufacturerData: [UInt8] = []

  package init(address: BluetoothAddress? = nil, localName: String? = nil) {
    self.address = address
    self.localName = localName
  }

  /// Whether this is the device. On the virtual air every address is a random one, so its kind is not
  /// compared there.
  package func matches(_ device: Discovery, onAir: Bool) -> Bool {
    if let address {
      guard address.value == device.address.value, onAir || address.kind == device.address.kind
      else { return false }
    }
    let data = device.data
    if let localName, data.localName.map({ !$0.utf8.elementsEqual(localName.utf8) }) ?? true {
      return false
    }
    if let service, !data.serviceUUIDs.contains(service),
      !data.serviceData.contains(where: { $0.uuid == service })
    {
      return false
    }
    if let company {
      return data.manufacturerData.contains {
        $0.company == company && $0.data.starts(with: manufacturerData)
      }
    }
    return true
  }
}

/// A characteristic as users name it.
package enum CharacteristicReference: Hashable, Sendable, CustomStringConvertible {
  /// The handle of the value.
  case handle(AttributeHandle)
  /// The first characteristic with the UUID, or the first in a service.
  case uuid(BluetoothUUID, service: BluetoothUUID?)
  /// A name of the configuration.
  case name(String)

  package var description: String {
    switch self {
    case .handle(let handle): "\(handle)"
    case .uuid(let uuid, let service): service.map { "\($0)/\(uuid)" } ?? "\(uuid)"
    case .name(let name): name
    }
  }
}

/// A step of a sequence on a held link.
package enum SequenceStep: Equatable, Sendable {
  /// Reads a value, which becomes a result.
  case read(CharacteristicReference)
  /// Writes a value, with a response or without one.
  case write(CharacteristicReference, [UInt8], withResponse: Bool)
  /// Waits.
  case pause(Duration)
  /// Waits for a value that begins with these octets, which becomes a result. The characteristic is
  /// subscribed to before the first step of the sequence.
  case expect(CharacteristicReference, beginning: [UInt8], within: Duration)
}
