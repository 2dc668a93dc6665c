import ATT
import Files

/// What has been found out about a server before the cases are chosen.
struct KnownServer {
  struct Attribute {
    var handle: UInt16
    var type: [UInt8]
  }

  struct Group {
    var start: UInt16
    var end: UInt16
    var uuid: [UInt8]
    var isPrimary: Bool
  }

  struct Value {
    var declaration: UInt16
    var handle: UInt16
    var properties: UInt8
    var uuid: [UInt8]
    var reading: Reading
    /// How long the server took for it.
    var time: Duration

    var isReadable: Bool { properties & 0x02 != 0 }
    var isWritable: Bool { properties & 0x08 != 0 }
    var octets: [UInt8]? { if case .value(let octets) = reading { octets } else { nil } }
  }

  /// What a Read Request brought, at the default ATT_MTU.
  enum Reading {
    case value([UInt8])
    case error(ErrorCode)
    case silence
  }

  var attributes: [Attribute] = []
  var groups: [Group] = []
  var includes: [(handle: UInt16, value: [UInt8])] = []
  var values: [Value] = []
  /// The server's profile, if the caller has it.
  var layout: ProfileLayout?

  /// A handle of no attribute.
  var unknownHandle: UInt16? {
    let known = Set(attributes.map(\.handle))
    let after = attributes.last.map { $0.handle } ?? 0
    if after < 0xFFFF { return after + 1 }
    return (1...0xFFFE).first { !known.contains($0) }
  }

  /// Values that were read without ado, quick ones first.
  var readable: [Value] {
    values.filter { $0.isReadable && $0.octets != nil }.sorted { $0.time < $1.time }
  }

  func handles(of type: UInt16) -> [UInt16] {
    attributes.filter { $0.type == octets(type) }.map(\.handle)
  }

  /// The value that a CCCD belongs to.
  func value(ofDescriptor handle: UInt16) -> Value? {
    values.last { $0.handle < handle }
  }

  /// Where a value can be written: reads it first, and has room for what it holds.
  var writable: [Value] { readable.filter { $0.isWritable } }
}
