extension DNSMessage {
  /// The octets of the message. Names of at most 255 octets are the caller's duty.
  package var octets: [UInt8] {
    var writer = DNSWriter()
    writer.integer(id)
    writer.integer((isResponse ? 0x8400 : 0) | (isTruncated ? 0x0200 : 0))
    for count in [questions.count, answers.count, authorities.count, 0] {
      writer.integer(UInt16(truncatingIfNeeded: count))
    }
    for question in questions {
      writer.name(question.name)
      writer.integer(question.type)
      writer.integer(question.wantsUnicast ? 0x8001 : 1)
    }
    for record in answers + authorities { writer.record(record) }
    return writer.octets
  }
}

private struct DNSWriter {
  var octets: [UInt8] = []
  /// Where names are that later ones can end with.
  private var places: [DNSName: Int] = [:]

  mutating func integer(_ value: UInt16) {
    octets += [UInt8(value >> 8), UInt8(truncatingIfNeeded: value)]
  }

  mutating func name(_ name: DNSName, compressed: Bool = true) {
    for index in name.labels.indices {
      let rest = DNSName(Array(name.labels[index...]))
      if compressed, let place = places[rest] { return integer(0xC000 | UInt16(place)) }
      if octets.count < 0x4000 { places[rest] = places[rest] ?? octets.count }
      octets.append(UInt8(truncatingIfNeeded: name.labels[index].count))
      octets += name.labels[index]
    }
    octets.append(0)
  }

  mutating func record(_ record: DNSRecord) {
    name(record.name)
    integer(record.data.type)
    integer(record.isUnique ? 0x8001 : 1)
    integer(UInt16(record.timeToLive >> 16))
    integer(UInt16(truncatingIfNeeded: record.timeToLive))
    let start = octets.count
    integer(0)
    switch record.data {
    case .pointer(let target): name(target)
    case .service(let port, let host):
      octets += [0, 0, 0, 0]
      integer(port)
      // Clients of the ordinary DNS do not expect a pointer here (RFC 2782).
      name(host, compressed: false)
    case .text(let octets), .address(let octets), .other(_, let octets): self.octets += octets
    case .only(let types):
      name(record.name, compressed: false)
      var bits = [UInt8](repeating: 0, count: Int(types.max() ?? 0) / 8 + 1)
      for type in types { bits[Int(type) / 8] |= 0x80 >> (type % 8) }
      octets += [0, UInt8(bits.count)] + bits
    }
    let count = octets.count - start - 2
    (octets[start], octets[start + 1]) = (UInt8(count >> 8), UInt8(truncatingIfNeeded: count))
  }
}
