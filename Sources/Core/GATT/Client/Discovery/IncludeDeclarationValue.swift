import AttoATT

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
