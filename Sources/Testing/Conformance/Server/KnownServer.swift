import AttoATT
import AttoFormats

/// The server's database as the survey found it.
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
    /// How long the read took.
    var time: Duration

    var isReadable: Bool { properties & 0x02 != 0 }
    var isWritable: Bool { properties & 0x08 != 0 }
    /// Whether reading it was answered with an error.
    var isRefused: Bool { if case .error = reading { true } else { false } }
    var octets: [UInt8]? { if case .value(let octets) = reading { octets } else { nil } }
  }

  /// The result of a Read Request at the default ATT_MTU.
  enum Reading {
    case value([UInt8])
    case error(ErrorCode)
    case silence
  }

  var attributes: [Attribute] = []
  var groups: [Group] = []
  var includes: [(handle: UInt16, value: [UInt8])] = []
  var values: [Value] = []
  /// The server's profile, if known.
  var layout: ProfileLayout?

  /// A handle that no attribute has; nil if there is none, or if the survey failed and none is known.
  var unknownHandle: UInt16? {
    guard !attributes.isEmpty else { return nil }
    let known = Set(attributes.map(\.handle))
    let after = attributes.last?.handle ?? 0
    if after < 0xFFFF { return after + 1 }
    return (1...0xFFFE).first { !known.contains($0) }
  }

  /// The values that could be read, quickest first.
  var readable: [Value] {
    values.filter { $0.isReadable && $0.octets != nil }.sorted { $0.time < $1.time }
  }

  func handles(of type: UInt16) -> [UInt16] {
    attributes.filter { $0.type == octets(type) }.map(\.handle)
  }

  /// The service that an attribute other than its declaration belongs to.
  func group(of handle: UInt16) -> Group? {
    groups.first { $0.start < handle && handle <= $0.end }
  }
}
