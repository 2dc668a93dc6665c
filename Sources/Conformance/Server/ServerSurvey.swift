import ATT

/// Finds out what a server has, by PDUs of its own, and judges the answers on the way.
struct ServerSurvey {
  private let bench: ServerBench
  private var known = KnownServer()

  /// Requests that one walk may take.
  static let requestLimit = 20_000
  /// Values that are read.
  static let valueLimit = 512

  init(_ bench: ServerBench) { self.bench = bench }

  static func run(_ bench: ServerBench) async throws(CaseStop) -> KnownServer {
    var survey = ServerSurvey(bench)
    survey.known.layout = bench.known.layout
    try await survey.findAttributes()
    try await survey.findGroups(0x2800, isPrimary: true)
    try await survey.findGroups(0x2801, isPrimary: false)
    try await survey.findIncludes()
    try await survey.findValues()
    try await survey.readValues()
    return survey.known
  }

  // MARK: Walks

  private static let rising = Rule(
    "Handles of a response rise and lie in the range that was asked for",
    "Vol 3, Part F, 3.4.3 and 3.4.4")
  private static let whole = Rule(
    "A list has entries of one length, and whole ones", "Vol 3, Part F, 3.4.3 and 3.4.4")

  /// Every attribute, by Find Information.
  private mutating func findAttributes() async throws(CaseStop) {
    var start: UInt16 = 1
    for _ in 0..<Self.requestLimit {
      let response = try await bench.ask([0x04] + octets(start) + [0xFF, 0xFF])
      guard response[0] == 0x05 else { return try judgeEnd(response, 0x04, start) }
      guard response.count > 2, response[1] == 1 || response[1] == 2,
        (response.count - 2) % (response[1] == 1 ? 4 : 18) == 0
      else {
        throw Self.whole.broken("Find Information has brought no whole entries", got: response)
      }
      let size = response[1] == 1 ? 4 : 18
      for at in stride(from: 2, to: response.count, by: size) {
        let handle = number(response[at...])
        guard handle >= start, handle > known.attributes.last?.handle ?? 0 else {
          throw Self.rising.broken(
            "Find Information has brought \(AttributeHandle(handle))", got: response)
        }
        known.attributes.append(
          .init(handle: handle, type: Array(response[(at + 2)..<(at + size)])))
      }
      guard let last = known.attributes.last?.handle, last < 0xFFFF else { return }
      start = last + 1
    }
  }

  /// A walk ends with Attribute Not Found at its start.
  private func judgeEnd(
    _ response: [UInt8], _ opcode: UInt8, _ start: UInt16
  ) throws(CaseStop) {
    let rule = Rule(
      "Where nothing is left, Attribute Not Found is the answer, with the start of the range",
      "Vol 3, Part F, 3.4.3 and 3.4.4")
    guard response[4] == 0x0A, number(response[2...]) == start else {
      throw rule.broken(
        "the search from \(AttributeHandle(start)) ended with \(bench.summary(response))",
        expected: EncodedText.hex([0x01, opcode] + octets(start) + [0x0A]), got: response)
    }
  }

  private mutating func findGroups(_ type: UInt16, isPrimary: Bool) async throws(CaseStop) {
    var start: UInt16 = 1
    for _ in 0..<Self.requestLimit {
      let response = try await bench.ask(
        [0x10] + octets(start) + [0xFF, 0xFF] + octets(type))
      guard response[0] == 0x11 else { return try judgeEnd(response, 0x10, start) }
      guard response.count > 2, response[1] == 6 || response[1] == 20,
        (response.count - 2) % Int(response[1]) == 0, response.count > Int(response[1])
      else {
        throw Self.whole.broken("Read By Group Type has brought no whole entries", got: response)
      }
      let size = Int(response[1])
      var end = start - 1
      for at in stride(from: 2, to: response.count, by: size) {
        let group = KnownServer.Group(
          start: number(response[at...]), end: number(response[(at + 2)...]),
          uuid: Array(response[(at + 4)..<(at + size)]), isPrimary: isPrimary)
        guard group.start > end, group.end >= group.start else {
          throw Self.rising.broken(
            "a service from \(AttributeHandle(group.start)) to \(AttributeHandle(group.end)) "
              + "came behind \(AttributeHandle(end))", got: response)
        }
        known.groups.append(group)
        end = group.end
      }
      guard end < 0xFFFF else { return }
      start = end + 1
    }
  }

  /// Attributes of one type, over all handles.
  private func find(_ type: UInt16) async throws(CaseStop) -> [(handle: UInt16, value: [UInt8])] {
    var found: [(handle: UInt16, value: [UInt8])] = []
    var start: UInt16 = 1
    for _ in 0..<Self.requestLimit {
      let response = try await bench.ask(
        [0x08] + octets(start) + [0xFF, 0xFF] + octets(type))
      guard response[0] == 0x09 else {
        try judgeEnd(response, 0x08, start)
        return found
      }
      guard response.count > 2, response[1] >= 2, (response.count - 2) % Int(response[1]) == 0,
        response.count > 3
      else {
        throw Self.whole.broken("Read By Type has brought no whole entries", got: response)
      }
      let size = Int(response[1])
      for at in stride(from: 2, to: response.count, by: size) {
        let handle = number(response[at...])
        guard handle >= start, handle > found.last?.handle ?? 0 else {
          throw Self.rising.broken(
            "Read By Type has brought \(AttributeHandle(handle))", got: response)
        }
        found.append((handle, Array(response[(at + 2)..<(at + size)])))
      }
      guard let last = found.last?.handle, last < 0xFFFF else { return found }
      start = last + 1
    }
    return found
  }

  private mutating func findIncludes() async throws(CaseStop) {
    known.includes = try await find(0x2802)
  }

  private mutating func findValues() async throws(CaseStop) {
    let rule = Rule(
      "A characteristic's declaration holds properties, the value's handle and its UUID",
      "Vol 3, Part G, 3.3.1")
    for (handle, value) in try await find(0x2803) {
      guard value.count == 5 || value.count == 19 else {
        throw rule.broken(
          "that at \(AttributeHandle(handle)) has \(value.count) octets", got: value)
      }
      known.values.append(
        .init(
          declaration: handle, handle: number(value[1...]), properties: value[0],
          uuid: Array(value[3...]), reading: .silence, time: .zero))
    }
  }

  private mutating func readValues() async throws(CaseStop) {
    for index in known.values.indices.prefix(Self.valueLimit) {
      let begin = bench.wire.elapsed
      let response = try await bench.tryAsking([0x0A] + octets(known.values[index].handle))
      known.values[index].time = bench.wire.elapsed - begin
      guard let response else {
        // It may take its time, up to 30 s; the link is of no use until then.
        try await bench.reconnect()
        continue
      }
      known.values[index].reading =
        response[0] == 0x01
        ? .error(ErrorCode(response[4])) : .value(Array(response.dropFirst()))
    }
  }
}
