import AttoATT

/// The value of a characteristic declaration. Vol 3, Part G, 3.3.1.
struct CharacteristicDeclarationValue: Equatable, Sendable {
  let properties: CharacteristicProperties
  let valueHandle: AttributeHandle
  let uuid: BluetoothUUID

  init(properties: CharacteristicProperties, valueHandle: AttributeHandle, uuid: BluetoothUUID) {
    self.properties = properties
    self.valueHandle = valueHandle
    self.uuid = uuid
  }

  /// 5 or 19.
  var byteCount: Int { 3 + uuid.encodedLength }

  var octets: [UInt8] { [properties.rawValue] + valueHandle.octets + uuid.octets }

  /// Appends ``byteCount`` octets; traps without room.
  @inline(__always)
  func encode(into out: inout OutputRawSpan) {
    out.append(properties.rawValue)
    out.append(valueHandle)
    out.append(uuid)
  }

  /// - Parameter octets: 5 or 19 octets; traps for another length.
  @inline(__always)
  init(checked octets: RawSpan) {
    properties = CharacteristicProperties(
      rawValue: octets.unsafeLoad(fromByteOffset: 0, as: UInt8.self))
    if octets.byteCount == 5 {
      // Both in one load, because a response lists many.
      let rest = UInt32(
        littleEndian: octets.unsafeLoadUnaligned(fromByteOffset: 1, as: UInt32.self))
      valueHandle = AttributeHandle(UInt16(truncatingIfNeeded: rest))
      uuid = BluetoothUUID(UInt16(truncatingIfNeeded: rest >> 16))
    } else {
      guard octets.byteCount == 19, let uuid = octets.extracting(droppingFirst: 3).uuid else {
        preconditionFailure("a declaration of \(octets.byteCount) octets")
      }
      valueHandle = octets.handleField(at: 1)
      self.uuid = uuid
    }
  }
}

extension RawSpan {
  /// Two octets, least significant first. The caller has checked the length, and `RawSpan` checks
  /// the load too.
  func handleField(at offset: Int) -> AttributeHandle {
    let value = unsafeLoadUnaligned(fromByteOffset: offset, as: UInt16.self)
    return AttributeHandle(UInt16(littleEndian: value))
  }
}
