import AttoATT

/// Discovers a server's database with raw PDUs, and checks the responses.
struct ServerSurvey {
  private let bench: ServerBench
  private var known = KnownServer()

  /// The most values to read.
  static let valueLimit = 512

  init(_ bench: ServerBench) { self.bench = bench }

  static func run(_ bench: ServerBench) async throws -> KnownServer {
    var survey = ServerSurvey(bench)
    survey.known.layout = bench.known.layout
    survey.known.attributes = try await survey.findAttributes()
    survey.known.groups =
      try await survey.findGroups(0x2800, isPrimary: true)
      + survey.findGroups(0x2801, isPrimary: false)
    survey.known.includes = try await survey.find(0x2802)
    survey.known.values = try await survey.findValues()
    try await survey.readValues()
    return survey.known
  }

  // MARK: Searches

  private static let rising = Rule(
    "The handles of a response increase and lie in the requested range",
    "Vol 3, Part F, 3.4.3 and 3.4.4")
  private static let whole = Rule(
    "A list has complete entries of one length", "Vol 3, Part F, 3.4.3 and 3.4.4")
  private static let end = Rule(
    "A search without a result is answered with Attribute Not Found at the start of the range",
    "Vol 3, Part F, 3.4.3 and 3.4.4")

  /// Searches all handles, which ends because they increase. Returns the entries of the responses, each with its handle first.
  ///
  /// - Parameters:
  ///   - size: the length of an entry by the second octet of a response; nil for an invalid one.
  ///   - isGroup: whether the last handle of a group follows the first in each entry.
  private func search(
    _ name: String, _ opcode: UInt8, _ type: [UInt8] = [], isGroup: Bool = false,
    size: (UInt8) -> Int?
  ) async throws -> [[UInt8]] {
    var found: [[UInt8]] = []
    var start: UInt16 = 1
    while true {
      let response = try await bench.ask([opcode] + octets(start) + [0xFF, 0xFF] + type)
      guard response[0] == opcode + 1 else {
        try Self.end.check(
          response[4] == 0x0A && number(response[2...]) == start,
          "the search from \(AttributeHandle(start)) ended with \(bench.summary(response))",
          expected: EncodedText.hex([0x01, opcode] + octets(start) + [0x0A]), got: response)
        return found
      }
      guard response.count > 2, let size = size(response[1]), (response.count - 2) % size == 0
      else { throw Self.whole.broken("\(name) returned incomplete entries", got: response) }
      var last = start - 1
      for at in stride(from: 2, to: response.count, by: size) {
        let first = number(response[at...])
        let end = isGroup ? number(response[(at + 2)...]) : first
        try Self.rising.check(
          last < first && first <= end,
          isGroup
            ? "a service from \(AttributeHandle(first)) to \(AttributeHandle(end)) follows "
              + "\(AttributeHandle(last))" : "\(name) returned \(AttributeHandle(first))",
          got: response)
        found.append(Array(response[at..<(at + size)]))
        last = end
      }
      guard last < 0xFFFF else { return found }
      start = last + 1
    }
  }

  private func findAttributes() async throws -> [KnownServer.Attribute] {
    try await search("Find Information", 0x04) { [1: 4, 2: 18][$0] }.map {
      KnownServer.Attribute(handle: number($0), type: Array($0[2...]))
    }
  }

  private func findGroups(_ type: UInt16, isPrimary: Bool) async throws -> [KnownServer.Group] {
    try await search("Read By Group Type", 0x10, octets(type), isGroup: true) {
      $0 == 6 || $0 == 20 ? Int($0) : nil
    }.map {
      KnownServer.Group(
        start: number($0), end: number($0[2...]), uuid: Array($0[4...]), isPrimary: isPrimary)
    }
  }

  private func find(_ type: UInt16) async throws -> [(handle: UInt16, value: [UInt8])] {
    try await search("Read By Type", 0x08, octets(type)) { $0 >= 2 ? Int($0) : nil }.map {
      (number($0), Array($0[2...]))
    }
  }

  private func findValues() async throws -> [KnownServer.Value] {
    let rule = Rule(
      "A characteristic declaration has properties, the value's handle and its UUID",
      "Vol 3, Part G, 3.3.1")
    return try await find(0x2803).map { handle, value in
      guard value.count == 5 || value.count == 19 else {
        throw rule.broken(
          "the declaration at \(AttributeHandle(handle)) has \(value.count) octets", got: value)
      }
      return KnownServer.Value(
        declaration: handle, handle: number(value[1...]), properties: value[0],
        uuid: Array(value[3...]), reading: .silence, time: .zero)
    }
  }

  private mutating func readValues() async throws {
    for index in known.values.indices.prefix(Self.valueLimit) {
      let begin = bench.links.elapsed
      let response = try await bench.tryAsking([0x0A] + octets(known.values[index].handle))
      known.values[index].time = bench.links.elapsed - begin
      guard let response else {
        // The response may take up to 30 s, and the link is unusable until then.
        try await bench.reconnect()
        continue
      }
      known.values[index].reading =
        response[0] == 0x01 ? .error(ErrorCode(response[4])) : .value(Array(response.dropFirst()))
    }
  }
}
