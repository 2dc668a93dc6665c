import Atto
import AttoGATT

/// The stored form of a peer's database: a version, the hash, and the declarations by handle.
///
///     1, length of the hash, hash, then any number of
///     'P' or 'S', handle, end, UUID      a primary or secondary service
///     'I', handle, start, end, UUID      an include of the service before
///     'C', handle, value, end, properties, UUID
///     'D', handle, UUID                  a descriptor of the characteristic before
///
/// Handles have the least significant octet first; a UUID has 16 octets, most significant first.
/// Octets in any other form decode to nil, and discovery starts over.
extension RemoteDatabase {
  private static let version: UInt8 = 1

  var stored: [UInt8] {
    var out: [UInt8] = [Self.version]
    let hash = databaseHash ?? []
    out.append(UInt8(hash.count))
    out += hash
    for service in services {
      out.append(service.isPrimary ? UInt8(ascii: "P") : UInt8(ascii: "S"))
      out.add(service.handle, service.endGroupHandle)
      out.add(service.uuid)
      for include in service.includes {
        out.append(UInt8(ascii: "I"))
        out.add(include.handle, include.startHandle, include.endGroupHandle)
        out.add(include.uuid)
      }
      for characteristic in service.characteristics {
        out.append(UInt8(ascii: "C"))
        out.add(
          characteristic.declarationHandle, characteristic.valueHandle,
          characteristic.endGroupHandle)
        out.append(characteristic.properties.rawValue)
        out.add(characteristic.uuid)
        for descriptor in characteristic.descriptors {
          out.append(UInt8(ascii: "D"))
          out.add(descriptor.handle)
          out.add(descriptor.uuid)
        }
      }
    }
    return out
  }

  init?(stored octets: [UInt8]) {
    var reader = StoredReader(rest: octets[...])
    guard reader.octet() == Self.version, let length = reader.octet(),
      let hash = reader.octets(Int(length))
    else { return nil }
    var services: [Service] = []
    while let kind = reader.octet() {
      guard let read = reader.service(kind) else { return nil }
      services.append(read)
    }
    guard reader.isWhole else { return nil }
    self.init(services: services, databaseHash: hash.isEmpty ? nil : hash)
  }
}

extension [UInt8] {
  fileprivate mutating func add(_ handles: AttributeHandle...) {
    for handle in handles {
      append(UInt8(truncatingIfNeeded: handle.rawValue))
      append(UInt8(handle.rawValue >> 8))
    }
  }

  fileprivate mutating func add(_ uuid: BluetoothUUID) {
    for half in [uuid.high, uuid.low] {
      for shift in stride(from: 56, through: 0, by: -8) {
        append(UInt8(truncatingIfNeeded: half >> UInt64(shift)))
      }
    }
  }
}

/// Decodes stored octets from front to back. Functions return nil where octets are missing.
private struct StoredReader {
  var rest: ArraySlice<UInt8>
  var isWhole = true

  mutating func octet() -> UInt8? { rest.popFirst() }

  mutating func octets(_ count: Int) -> [UInt8]? {
    guard rest.count >= count else {
      isWhole = false
      return nil
    }
    defer { rest = rest.dropFirst(count) }
    return Array(rest.prefix(count))
  }

  mutating func handle() -> AttributeHandle? {
    octets(2).map { AttributeHandle(UInt16($0[0]) | UInt16($0[1]) << 8) }
  }

  mutating func uuid() -> BluetoothUUID? {
    guard let octets = octets(16) else { return nil }
    let halves = [octets[..<8], octets[8...]].map { $0.reduce(0) { $0 << 8 | UInt64($1) } }
    return BluetoothUUID(high: halves[0], low: halves[1])
  }

  /// Skips the next octet if it is `kind`, and returns whether it was.
  mutating func next(_ kind: Character) -> Bool {
    guard let octet = rest.first, octet == kind.asciiValue else { return false }
    rest = rest.dropFirst()
    return true
  }

  mutating func service(_ kind: UInt8) -> Service? {
    let isPrimary = kind == UInt8(ascii: "P")
    guard isPrimary || kind == UInt8(ascii: "S"), let handle = handle(), let end = self.handle(),
      let uuid = uuid()
    else { return nil }
    var includes: [IncludedService] = []
    while next("I") {
      guard let handle = self.handle(), let start = self.handle(), let end = self.handle(),
        let uuid = self.uuid()
      else { return nil }
      includes.append(
        IncludedService(handle: handle, startHandle: start, endGroupHandle: end, uuid: uuid))
    }
    var characteristics: [Characteristic] = []
    while next("C") {
      guard let characteristic = characteristic() else { return nil }
      characteristics.append(characteristic)
    }
    return Service(
      handle: handle, endGroupHandle: end, uuid: uuid, isPrimary: isPrimary, includes: includes,
      characteristics: characteristics)
  }

  private mutating func characteristic() -> Characteristic? {
    guard let handle = handle(), let value = self.handle(), let end = self.handle(),
      let properties = octet(), let uuid = uuid()
    else { return nil }
    var descriptors: [Descriptor] = []
    while next("D") {
      guard let handle = self.handle(), let uuid = self.uuid() else { return nil }
      descriptors.append(Descriptor(handle: handle, uuid: uuid))
    }
    return Characteristic(
      declarationHandle: handle, valueHandle: value, endGroupHandle: end,
      properties: CharacteristicProperties(rawValue: properties), uuid: uuid,
      descriptors: descriptors)
  }
}
