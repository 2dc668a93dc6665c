import AttoRadio

/// A request or a response of the Simple Management Protocol, with which MCUmgr manages devices.
///
/// Version 2 of the protocol, as Zephyr documents it. Eight octets, all numbers most significant
/// octet first, and a map of CBOR follow each other:
///
///     version (2 bits), operation (3)   flags   length (2)   group (2)   sequence number   command
package struct SMPMessage: Hashable, Sendable {
  package static let headerLength = 8
  private static let version: UInt8 = 1

  package enum Operation: UInt8, Sendable {
    case read = 0
    case readResponse = 1
    case write = 2
    case writeResponse = 3
  }

  /// A command of a group.
  package struct Command: Hashable, Sendable {
    package var group: UInt16
    package var number: UInt8

    package init(group: UInt16, number: UInt8) { (self.group, self.number) = (group, number) }

    /// The device restarts.
    package static let reset = Command(group: 0, number: 5)
    /// The buffers of the server.
    package static let parameters = Command(group: 0, number: 6)
    /// The images of the device, and which of them starts.
    package static let images = Command(group: 1, number: 0)
    /// A part of an image.
    package static let upload = Command(group: 1, number: 1)
  }

  package var operation: Operation
  package var command: Command
  package var sequence: UInt8
  package var body: CBOR

  package init(_ operation: Operation, _ command: Command, sequence: UInt8, _ body: CBOR) {
    (self.operation, self.command, self.sequence, self.body) = (operation, command, sequence, body)
  }

  package var encoded: [UInt8] {
    let body = body.encoded
    return [Self.version << 3 | operation.rawValue, 0] + body.count.octets(2).reversed()
      + command.group.octets(2).reversed() + [sequence, command.number] + body
  }

  /// Decodes a whole message; nil if it is malformed.
  package init?(_ octets: [UInt8]) {
    guard octets.count >= Self.headerLength, let operation = Operation(rawValue: octets[0] & 7),
      Self.length(of: octets) == octets.count, let body = CBOR(octets.dropFirst(Self.headerLength))
    else { return nil }
    self.init(
      operation, Command(group: UInt16(octets: octets[4..<6].reversed()), number: octets[7]),
      sequence: octets[6], body)
  }

  /// The octets of the message that begins with these, at least four.
  fileprivate static func length(of octets: [UInt8]) -> Int {
    headerLength + Int(octets: octets[2..<4].reversed())
  }
}

extension SMPMessage {
  /// Joins what a server sends in several notifications.
  package struct Reassembly: Sendable {
    private var octets: [UInt8] = []

    package init() {}

    package enum Part: Hashable, Sendable {
      /// More must follow.
      case incomplete
      case whole(SMPMessage)
      /// No message: all that was received is dropped.
      case malformed
    }

    /// Adds a notification. A message never begins within one.
    package mutating func add(_ value: [UInt8]) -> Part {
      octets += value
      guard octets.count >= SMPMessage.headerLength else { return .incomplete }
      let length = SMPMessage.length(of: octets)
      guard octets.count >= length else { return .incomplete }
      defer { octets = [] }
      return SMPMessage(octets).map { .whole($0) } ?? .malformed
    }
  }
}

/// What a server reports instead of a result: a number of a group, or one that is common to all
/// groups.
package struct SMPRefusal: Error, Hashable, Sendable, CustomStringConvertible {
  /// nil of an error that is common to all groups.
  package var group: UInt16?
  package var code: Int64

  /// The error in the body of a response; nil if there is none.
  package init?(in body: CBOR) {
    if let error = body["err"], let code = error["rc"]?.integer {
      (group, self.code) = (error["group"]?.integer.flatMap { UInt16(exactly: $0) }, code)
    } else if let code = body["rc"]?.integer, code != 0 {
      (group, self.code) = (nil, code)
    } else {
      return nil
    }
  }

  private static let common = [
    1: "unknown error", 2: "out of memory", 3: "invalid value", 4: "timeout", 5: "no such entry",
    6: "the state does not allow it", 7: "the response is too long", 8: "not supported",
    9: "corrupt", 10: "busy",
    11: "access denied", 12: "the protocol is too old", 13: "the protocol is too new",
  ]
  /// Of the group of images: those that an upload can meet.
  private static let images = [
    3: "no image in the slot", 4: "the image has no trailer", 5: "the image has an invalid trailer",
    8: "the image has no hash", 9: "no free slot", 10: "the flash cannot be opened",
    11: "the flash cannot be read",
    12: "the flash cannot be written", 13: "the flash cannot be erased", 14: "an invalid slot",
    15: "out of memory",
    20: "no offset", 21: "an invalid length", 22: "an invalid header of the image",
    23: "the header of the image is not MCUboot's", 24: "the hash is another one",
    25: "an invalid address of flash",
    27: "its image is newer", 28: "another image is pending already", 29: "an invalid vector table",
    30: "the image is too large", 31: "more data than the image has",
    32: "the image may not be confirmed",
    33: "the image runs already",
  ]

  package var description: String {
    let known = (group == 1 ? Self.images : group == nil ? Self.common : [:])[Int(clamping: code)]
    let place = group.map { "group \($0), error \(code)" } ?? "error \(code)"
    return "the device refuses: " + (known.map { "\($0) (\(place))" } ?? place)
  }
}
