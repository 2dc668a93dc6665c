/// A name of the DNS. Names that differ in the case of letters are equal.
package struct DNSName: Hashable, Sendable {
  package var labels: [[UInt8]]

  package init(_ labels: [[UInt8]]) { self.labels = labels }

  /// Labels without dots in them.
  package init(_ texts: String...) { labels = texts.map { Array($0.utf8) } }

  /// Octets of a name, with the lengths of its labels (RFC 1035, section 3.1).
  static let lengthLimit = 255
  static let labelLimit = 63

  private var folded: [UInt8] {
    labels.flatMap { label in
      [UInt8(label.count)] + label.map { 0x41...0x5A ~= $0 ? $0 | 0x20 : $0 }
    }
  }

  package static func == (a: DNSName, b: DNSName) -> Bool { a.folded == b.folded }
  package func hash(into hasher: inout Hasher) { hasher.combine(folded) }
}

/// What a record says.
package enum DNSData: Hashable, Sendable {
  /// PTR.
  case pointer(DNSName)
  /// SRV, with priority and weight 0.
  case service(port: UInt16, host: DNSName)
  /// TXT: strings with their lengths.
  case text([UInt8])
  /// A or AAAA: 4 or 16 octets.
  case address([UInt8])
  /// NSEC of the name itself: the types below 256 that exist.
  case only([UInt8])
  case other(type: UInt16, [UInt8])

  package var type: UInt16 {
    switch self {
    case .address(let octets): octets.count == 4 ? DNSType.a : DNSType.aaaa
    case .pointer: DNSType.ptr
    case .text: DNSType.txt
    case .service: DNSType.srv
    case .only: DNSType.nsec
    case .other(let type, _): type
    }
  }
}

/// Numbers of types.
package enum DNSType {
  package static let a: UInt16 = 1, ptr: UInt16 = 12, txt: UInt16 = 16, aaaa: UInt16 = 28
  package static let srv: UInt16 = 33, nsec: UInt16 = 47, any: UInt16 = 255
}

package struct DNSQuestion: Hashable, Sendable {
  package var name: DNSName
  package var type: UInt16
  /// Whether the answer may go to the client alone (QU).
  package var wantsUnicast = false
}

package struct DNSRecord: Hashable, Sendable {
  package var name: DNSName
  package var data: DNSData
  /// Seconds.
  package var timeToLive: UInt32
  /// Whether older records of this name and type are obsolete (the cache-flush bit).
  package var isUnique: Bool
}

/// Why octets are not a message.
package enum DNSError: Error, Equatable {
  /// The message ends in the middle of a part.
  case truncated
  /// A name is longer than 255 octets, has a reserved label, or a pointer that does not point back.
  case name
  /// More than ``DNSMessage/partLimit`` questions and records.
  case tooMany
}

/// A message of multicast DNS (RFC 6762, section 18; RFC 1035, section 4).
package struct DNSMessage: Equatable, Sendable {
  /// Questions and records of one message.
  package static let partLimit = 256
  /// Pointers of one name. Each points further back, so that a name has an end.
  static let pointerLimit = 32

  package var id: UInt16 = 0
  package var isResponse = false
  /// Whether more known answers follow in another message.
  package var isTruncated = false
  package var questions: [DNSQuestion] = []
  /// Answers; in a response all records.
  package var answers: [DNSRecord] = []
  /// What a client that probes for a name wants to say of it.
  package var authorities: [DNSRecord] = []

  package init() {}

  /// Reads a message. Records of other classes than IN are left out.
  package init(_ octets: [UInt8]) throws(DNSError) {
    var reader = DNSReader(octets)
    id = try reader.integer()
    let flags = try reader.integer()
    isResponse = flags & 0x8000 != 0
    isTruncated = flags & 0x0200 != 0
    var counts: [Int] = []
    for _ in 0..<4 { counts.append(Int(try reader.integer())) }
    guard counts.reduce(0, +) <= Self.partLimit else { throw .tooMany }
    // Other operations and failed responses are ignored (RFC 6762, sections 18.3 and 18.11).
    guard flags & 0x780F == 0 else { return }
    for _ in 0..<counts[0] {
      let (name, type, group) = (try reader.name(), try reader.integer(), try reader.integer())
      guard group & 0x7FFF == 1 || group & 0x7FFF == 255 else { continue }
      questions.append(DNSQuestion(name: name, type: type, wantsUnicast: group & 0x8000 != 0))
    }
    for section in 1...3 {
      for _ in 0..<counts[section] {
        guard let record = try reader.record() else { continue }
        if section == 1 || isResponse { answers.append(record) }
        if section == 2, !isResponse { authorities.append(record) }
      }
    }
  }
}

/// Reads the parts of a message. Never looks beyond its end.
private struct DNSReader {
  let octets: [UInt8]
  var position = 0

  init(_ octets: [UInt8]) { self.octets = octets }

  mutating func take(_ count: Int) throws(DNSError) -> ArraySlice<UInt8> {
    guard count <= octets.count - position else { throw .truncated }
    defer { position += count }
    return octets[position..<position + count]
  }

  mutating func integer() throws(DNSError) -> UInt16 {
    let two = try take(2)
    return UInt16(two[two.startIndex]) << 8 | UInt16(two[two.startIndex + 1])
  }

  mutating func name() throws(DNSError) -> DNSName {
    var labels: [[UInt8]] = []
    var (place, bound, end) = (position, position, nil as Int?)
    var (length, pointers) = (1, 0)
    while true {
      guard place < octets.count else { throw .truncated }
      let first = Int(octets[place])
      switch first >> 6 {
      case 0:
        place += 1
        guard first > 0 else {
          position = end ?? place
          return DNSName(labels)
        }
        guard first <= octets.count - place else { throw .truncated }
        length += first + 1
        guard length <= DNSName.lengthLimit else { throw .name }
        labels.append(Array(octets[place..<place + first]))
        place += first
      case 3:
        guard place + 1 < octets.count else { throw .truncated }
        let target = (first & 0x3F) << 8 | Int(octets[place + 1])
        pointers += 1
        guard target < bound, pointers <= DNSMessage.pointerLimit else { throw .name }
        if end == nil { end = place + 2 }
        (place, bound) = (target, target)
      default: throw .name
      }
    }
  }

  /// nil for one of another class.
  mutating func record() throws(DNSError) -> DNSRecord? {
    let name = try name()
    let (type, group) = (try integer(), try integer())
    let time = UInt32(try integer()) << 16 | UInt32(try integer())
    let count = Int(try integer())
    let end = position + count
    guard end <= octets.count else { throw .truncated }
    defer { position = end }
    guard group & 0x7FFF == 1 else { return nil }
    let data: DNSData
    switch type {
    case DNSType.ptr: data = .pointer(try self.name())
    case DNSType.srv where count > 6:
      _ = try take(4)
      data = .service(port: try integer(), host: try self.name())
    case DNSType.txt: data = .text(Array(try take(count)))
    case DNSType.a where count == 4, DNSType.aaaa where count == 16:
      data = .address(Array(try take(count)))
    default: data = .other(type: type, Array(try take(count)))
    }
    return DNSRecord(name: name, data: data, timeToLive: time, isUnique: group & 0x8000 != 0)
  }
}
