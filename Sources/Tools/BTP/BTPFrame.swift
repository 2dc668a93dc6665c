import AttoRadio

/// A frame of the Bluetooth Test Protocol: a command of the tester, a response or an event.
/// auto-pts, doc/overview.txt.
///
///     service (1) | opcode (1) | controller index (1) | length (2) | parameters
///
/// Numbers are little-endian.
struct BTPFrame: Equatable, Sendable {
  static let headerLength = 5
  /// The most parameters that a header can announce.
  static let longest = 0xFFFF
  /// The controller index of frames that are about no controller.
  static let noController: UInt8 = 0xFF
  /// The opcode of a response that has a ``BTPStatus`` as its parameter.
  static let errorOpcode: UInt8 = 0x00

  var service: UInt8
  var opcode: UInt8
  var index: UInt8
  /// At most ``longest`` octets.
  var parameters: [UInt8] = []

  var octets: [UInt8] {
    [service, opcode, index] + UInt16(parameters.count).octets(2) + parameters
  }

  /// The response to this command.
  func response(_ parameters: [UInt8]) -> BTPFrame {
    BTPFrame(service: service, opcode: opcode, index: index, parameters: parameters)
  }

  /// The response to this command if it failed.
  func response(_ status: BTPStatus) -> BTPFrame {
    BTPFrame(
      service: service, opcode: Self.errorOpcode, index: index, parameters: [status.rawValue])
  }
}

/// Why a command failed. auto-pts, doc/overview.txt.
enum BTPStatus: UInt8, Error {
  case fail = 0x01
  /// The command is not supported, or its service is not registered.
  case unknownCommand = 0x02
  case notReady = 0x03
  case invalidIndex = 0x04
}

/// Splits a stream of octets into frames. It holds one frame and what was received after it.
struct BTPFrameReader {
  private var buffer: [UInt8] = []
  private var start = 0

  /// Whether a frame has begun and is not complete.
  var isInFrame: Bool { start < buffer.count }

  mutating func append(_ octets: [UInt8]) {
    buffer.removeFirst(start)
    start = 0
    buffer += octets
  }

  /// The next frame; nil until it is complete.
  mutating func next() -> BTPFrame? {
    let rest = buffer[start...]
    guard rest.count >= BTPFrame.headerLength else { return nil }
    let length = Int(UInt16(octets: rest.dropFirst(3).prefix(2)))
    guard rest.count - BTPFrame.headerLength >= length else { return nil }
    let end = start + BTPFrame.headerLength + length
    defer { start = end }
    return BTPFrame(
      service: rest[start], opcode: rest[start + 1], index: rest[start + 2],
      parameters: Array(rest[(start + BTPFrame.headerLength)..<end]))
  }
}
