/// What is announced on one network: an instance of `_esphomelib._tcp`, and the host that has it.
package struct AnnouncedService: Equatable, Sendable {
  /// The name of the instance and of the host, without `.local`.
  package var name: String
  package var port: UInt16
  package var texts: [(key: String, value: String)]
  /// Addresses of the interface, at which clients can connect: 4 or 16 octets.
  package var addresses: [[UInt8]]

  package init(
    name: String, port: UInt16, texts: [(key: String, value: String)], addresses: [[UInt8]] = []
  ) {
    (self.name, self.port, self.texts, self.addresses) = (name, port, texts, addresses)
  }

  package static func == (a: AnnouncedService, b: AnnouncedService) -> Bool {
    a.name == b.name && a.port == b.port && a.addresses == b.addresses
      && a.texts.elementsEqual(b.texts, by: ==)
  }

  /// The records of a service.
  struct Kinds: OptionSet, Hashable {
    let rawValue: UInt8
    /// The type of service, for those who list all types.
    static let meta = Kinds(rawValue: 1)
    /// The instance, for those who look for the type.
    static let pointer = Kinds(rawValue: 2)
    static let service = Kinds(rawValue: 4)
    static let text = Kinds(rawValue: 8)
    static let ipv4 = Kinds(rawValue: 16)
    static let ipv6 = Kinds(rawValue: 32)
    /// That the host and the instance have no records of other types.
    static let hostOnly = Kinds(rawValue: 64)
    static let instanceOnly = Kinds(rawValue: 128)

    static let addresses: Kinds = [.ipv4, .ipv6]
    static let announced: Kinds = [.meta, .pointer, .service, .text, .ipv4, .ipv6]
    /// Those that other gateways have as well.
    static let shared: Kinds = [.meta, .pointer]
  }

  /// Seconds that clients keep a record: of what may change with the host, and of the rest (RFC 6762, section 10).
  static let (hostTime, otherTime): (UInt32, UInt32) = (120, 4500)

  static let type = DNSName("_esphomelib", "_tcp", "local")
  static let metaName = DNSName("_services", "_dns-sd", "_udp", "local")
  var instance: DNSName { DNSName([label] + Self.type.labels) }
  var host: DNSName { DNSName([label, Array("local".utf8)]) }
  private var label: [UInt8] { Array(name.utf8.prefix(DNSName.labelLimit)) }

  /// The records of these kinds, in the order of the kinds. A service without addresses of a version has none of
  /// that kind.
  func records(_ kinds: Kinds) -> [DNSRecord] {
    var records: [DNSRecord] = []
    func add(_ kind: Kinds, _ name: DNSName, _ data: DNSData, _ time: UInt32) {
      guard kinds.contains(kind) else { return }
      records.append(
        DNSRecord(
          name: name, data: data, timeToLive: time, isUnique: !Kinds.shared.contains(kind)))
    }
    add(.meta, Self.metaName, .pointer(Self.type), Self.otherTime)
    add(.pointer, Self.type, .pointer(instance), Self.otherTime)
    add(.service, instance, .service(port: port, host: host), Self.hostTime)
    add(.text, instance, .text(textOctets), Self.otherTime)
    for address in addresses {
      add(address.count == 4 ? .ipv4 : .ipv6, host, .address(address), Self.hostTime)
    }
    let types = Set(addresses.map { UInt8(DNSData.address($0).type) })
    add(.hostOnly, host, .only(types.sorted()), Self.hostTime)
    add(.instanceOnly, instance, .only([UInt8(DNSType.txt), UInt8(DNSType.srv)]), Self.hostTime)
    return records
  }

  /// Strings longer than 255 octets are left out.
  private var textOctets: [UInt8] {
    texts.flatMap { key, value -> [UInt8] in
      let text = Array("\(key)=\(value)".utf8)
      return text.count < 256 ? [UInt8(text.count)] + text : []
    }
  }

  /// The answers to a question; empty: it is about other names.
  func answers(to question: DNSQuestion) -> Kinds {
    let isAny = question.type == DNSType.any
    let isPointer = isAny || question.type == DNSType.ptr
    if question.name == Self.type { return isPointer ? .pointer : [] }
    if question.name == Self.metaName { return isPointer ? .meta : [] }
    var kinds: Kinds = []
    if question.name == instance {
      if isAny || question.type == DNSType.srv { kinds.insert(.service) }
      if isAny || question.type == DNSType.txt { kinds.insert(.text) }
      return kinds.isEmpty ? .instanceOnly : kinds
    }
    guard question.name == host else { return [] }
    if isAny || question.type == DNSType.a, has(4) { kinds.insert(.ipv4) }
    if isAny || question.type == DNSType.aaaa, has(16) { kinds.insert(.ipv6) }
    return kinds.isEmpty ? .hostOnly : kinds
  }

  /// What a client that gets these answers will ask next (RFC 6763, section 12).
  func additions(to answers: Kinds) -> Kinds {
    var kinds: Kinds = []
    if answers.contains(.pointer) { kinds.formUnion([.service, .text, .ipv4, .ipv6]) }
    if answers.contains(.service) { kinds.formUnion(.addresses) }
    if !answers.isDisjoint(with: .addresses), !has(4) || !has(16) { kinds.insert(.hostOnly) }
    return kinds.subtracting(answers)
  }

  /// Whether another machine has the name of this instance or host.
  ///
  /// - Parameter isOwn: whether this machine has sent the record. Its other programs may announce the host with
  ///   other addresses.
  func isContradicted(by record: DNSRecord, isOwn: Bool) -> Bool {
    switch record.data {
    case .service where record.name == instance:
      return record.data != .service(port: port, host: host)
    case .address(let octets) where record.name == host && !isOwn:
      return !addresses.contains(octets)
    default: return false
    }
  }

  private func has(_ length: Int) -> Bool { addresses.contains { $0.count == length } }
}
