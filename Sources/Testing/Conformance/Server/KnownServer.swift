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

  /// How long the read of a value may take that the cases prefer.
  static let quickTime: Duration = .seconds(1)

  /// The values that could be read, by handle; slow ones last. Each run of a case takes the same values.
  var readable: [Value] {
    let found = values.filter { $0.isReadable && $0.octets != nil }
    return found.filter { $0.time < Self.quickTime } + found.filter { $0.time >= Self.quickTime }
  }

  /// The value that took longest to read.
  var slowest: Value? {
    values.filter { $0.isReadable && $0.octets != nil }.max { $0.time < $1.time }
  }

  func handles(of type: UInt16) -> [UInt16] {
    attributes.filter { $0.type == octets(type) }.map(\.handle)
  }

  /// Some handles that no attribute has: 0, those after attributes, and the last one.
  var unknownHandles: [UInt16] {
    guard let unknownHandle else { return [] }
    let known = Set(attributes.map(\.handle))
    let gaps = zip(attributes, attributes.dropFirst()).filter { $0.handle + 1 < $1.handle }
    let all = [0, unknownHandle, 0xFFFF] + gaps.prefix(8).map { $0.0.handle + 1 }
    return Set(all).subtracting(known).sorted()
  }

  /// The attributes between a value and the next declaration.
  func descriptors(of value: Value) -> [Attribute] {
    let rest = attributes.drop { $0.handle <= value.handle }
    let declarations = [0x2800, 0x2801, 0x2802, 0x2803].map { octets($0) }
    return Array(rest.prefix { !declarations.contains($0.type) })
  }

  /// The configuration of each value that has one.
  var configurations: [(value: Value, handle: UInt16)] {
    values.compactMap { value in
      descriptors(of: value).first { $0.type == octets(0x2902) }.map { (value, $0.handle) }
    }
  }

  /// Whether two handles are ends of one service: no attribute lies between them.
  func isSameEnd(_ one: UInt16, _ other: UInt16) -> Bool {
    let range = min(one, other)...max(one, other)
    return !attributes.contains { range.contains($0.handle) && $0.handle > range.lowerBound }
  }

  /// The service that an attribute other than its declaration belongs to.
  func group(of handle: UInt16) -> Group? {
    groups.first { $0.start < handle && handle <= $0.end }
  }
}
