import AttoRadio

/// One frame of the management socket (struct mgmt_hdr): a code, an adapter, parameters.
///
/// Numbers are little-endian. A frame is one datagram. A datagram whose length differs from its
/// length field is not a frame.
struct ManagementFrame: Hashable, Sendable {
  /// MGMT_INDEX_NONE: about no adapter in particular.
  static let noIndex: UInt16 = 0xFFFF
  static let headerLength = 6

  /// An opcode in frames to the kernel, an event code in frames from the kernel.
  var code: UInt16
  var index: UInt16
  /// At most 65535 octets.
  var parameters: [UInt8]

  init(code: UInt16, index: UInt16, _ parameters: [UInt8] = []) {
    precondition(parameters.count <= 0xFFFF, "too many parameters for a frame")
    self.code = code
    self.index = index
    self.parameters = parameters
  }

  /// Reads a datagram; nil unless it is a frame.
  init?(_ octets: ArraySlice<UInt8>) {
    let base = octets.startIndex
    guard octets.count >= Self.headerLength,
      Int(UInt16(octets: octets[base + 4..<base + 6])) == octets.count - Self.headerLength
    else { return nil }
    code = UInt16(octets: octets[base..<base + 2])
    index = UInt16(octets: octets[base + 2..<base + 4])
    parameters = Array(octets[(base + 6)...])
  }

  var encoded: [UInt8] {
    code.octets(2) + index.octets(2) + parameters.count.octets(2) + parameters
  }
}
