import Atto
import AttoFormats
import AttoGATT

/// An attribute of a peer as people name it: by handle, by UUID or assigned name, and by the service or
/// characteristic that it is in.
///
/// A word of decimal digits, or of hexadecimal ones after `0x`, is a handle. Anything else is a UUID, an
/// assigned name, or has the prefix `uuid:`, as UUIDs without letters need. `@` comes before each service
/// or characteristic that has the attribute; there, and before it, four digits may be a
/// UUID.
package struct AttributeReference: Sendable {
  /// A part of a reference.
  package enum Part: Sendable, Equatable {
    case handle(AttributeHandle)
    case uuid(BluetoothUUID)
  }

  /// As given.
  package let text: String
  package let attribute: Part
  /// The services and characteristics that have the attribute, each with what it can mean.
  package let owners: [[Part]]

  /// The handle, if the reference is nothing but that.
  package var handle: AttributeHandle? {
    if case .handle(let handle) = attribute, owners.isEmpty { handle } else { nil }
  }

  /// Reads `0x002A`, `42`, `2A19`, `uuid:2902`, `battery level`, `2A37@180D` or `2902@0x0012`.
  package init(argument text: String) throws(UsageError) {
    self.text = text
    let parts = text.split(separator: "@", omittingEmptySubsequences: false).map(String.init)
    // With an owner a handle says nothing more, so digits alone are a UUID.
    let isUUID = parts.count > 1 && parts[0].utf8.count == 4 && BluetoothUUID(parts[0]) != nil
    attribute = try Part(
      isUUID ? "uuid:" + parts[0] : parts[0], kinds: [.characteristic, .descriptor], of: text)
    var owners: [[Part]] = []
    for part in parts.dropFirst() {
      let owner = try Part(part, kinds: [.service, .characteristic], of: text)
      let isEither = part.utf8.count == 4 && !part.hasPrefix("0x")
      let uuid = isEither ? BluetoothUUID(part).map { Part.uuid($0) } : nil
      owners.append([owner] + (uuid.map { [$0] } ?? []))
    }
    self.owners = owners
  }

  /// The attributes of a database that the reference can mean.
  package func matches(in database: RemoteDatabase) -> [FoundAttribute] {
    var found: [FoundAttribute] = []
    for service in database.services {
      for characteristic in service.characteristics {
        let owning: [Part] = [.handle(service.handle), .uuid(service.uuid)]
        let inner: [Part] = [
          .handle(characteristic.declarationHandle), .handle(characteristic.valueHandle),
          .uuid(characteristic.uuid),
        ]
        let value = FoundAttribute(characteristic)
        if means(value), isIn(owning) { found.append(value) }
        guard isIn(owning + inner) else { continue }
        for descriptor in characteristic.descriptors {
          let attribute = FoundAttribute(handle: descriptor.handle, uuid: descriptor.uuid)
          if means(attribute) { found.append(attribute) }
        }
      }
    }
    return found
  }

  private func isIn(_ parts: [Part]) -> Bool {
    owners.allSatisfy { owner in owner.contains(where: parts.contains) }
  }

  private func means(_ found: FoundAttribute) -> Bool {
    attribute == .handle(found.handle) || attribute == found.uuid.map { .uuid($0) }
  }
}

/// An attribute that a reference means.
package struct FoundAttribute: Sendable, Equatable {
  package let handle: AttributeHandle
  /// nil if only the handle is known.
  package var uuid: BluetoothUUID?
  /// The properties of a characteristic, if it was discovered.
  package var properties: CharacteristicProperties?

  package init(
    handle: AttributeHandle, uuid: BluetoothUUID? = nil, properties: CharacteristicProperties? = nil
  ) {
    (self.handle, self.uuid, self.properties) = (handle, uuid, properties)
  }
}

extension FoundAttribute {
  package init(_ characteristic: Characteristic) {
    self.init(
      handle: characteristic.valueHandle, uuid: characteristic.uuid,
      properties: characteristic.properties)
  }
}

extension AttributeReference.Part {
  fileprivate init(
    _ text: String, kinds: [AssignedNumbers.Kind], of whole: String
  ) throws(UsageError) {
    let isMarked = text.hasPrefix("uuid:")
    if !isMarked, let number = UInt16(argument: text) {
      self = .handle(AttributeHandle(number))
    } else if let uuid = BluetoothUUID(
      argument: isMarked ? String(text.dropFirst(5)) : text, kinds: kinds),
      // A number of more digits than a handle has is a mistake.
      isMarked || !text.utf8.allSatisfy({ (0x30...0x39).contains($0) }),
      !text.hasPrefix("0x"), !text.hasPrefix("0X")
    {
      self = .uuid(uuid)
    } else {
      throw UsageError(
        "invalid handle \"\(whole)\": expected 0x0000 to 0xFFFF or decimal, or a UUID such as 2A19,"
          + " uuid:2902, \"battery level\" or 2A37@180D",
        hint: Self.hint(for: text, among: kinds))
    }
  }

  /// What the text was probably meant to be: a handle without its `0x`, or a name with a mistake.
  private static func hint(for text: String, among kinds: [AssignedNumbers.Kind]) -> String? {
    if text.utf8.count <= 4, let number = UInt16(text, radix: 16) {
      return "did you mean \(AttributeHandle(number))?"
    }
    let names = kinds.flatMap { AssignedNumbers.names(of: $0) }
    return Suggestion.hint(for: text, among: names.map { $0.lowercased() })
  }
}
