import AttoATT

// The values of declarations in Read By Type Responses, whose length is checked once.

/// The value of an include declaration. Vol 3, Part G, 3.2.
struct IncludeDeclarationValue {
  let startHandle: AttributeHandle
  let endGroupHandle: AttributeHandle
  /// nil if the service has a 128-bit UUID, which the declaration cannot hold.
  let uuid: BluetoothUUID?

  /// nil unless there are 4 or 6 octets.
  init?(_ octets: RawSpan) {
    guard octets.byteCount == 4 || octets.byteCount == 6 else { return nil }
    startHandle = octets.handleField(at: 0)
    endGroupHandle = octets.handleField(at: 2)
    uuid = octets.extracting(droppingFirst: 4).uuid
  }
}

/// The value of a characteristic declaration. Vol 3, Part G, 3.3.1.
struct CharacteristicDeclarationValue {
  let properties: CharacteristicProperties
  let valueHandle: AttributeHandle
  let uuid: BluetoothUUID

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
  fileprivate func handleField(at offset: Int) -> AttributeHandle {
    let value = unsafeLoadUnaligned(fromByteOffset: offset, as: UInt16.self)
    return AttributeHandle(UInt16(littleEndian: value))
  }
}
