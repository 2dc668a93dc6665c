import AttoATT

extension ServerCase {
  /// Values to read at the same time on two bearers: what each request asks for, and the correct
  /// response if the values are short and do not change.
  private typealias Reads = [(request: [UInt8], response: [UInt8]?)]

  private static func reads(_ bench: ServerBench) async throws -> Reads {
    let values = bench.known.readable
    try bench.require(!values.isEmpty, orSkip: "no value can be read")
    var reads: Reads = []
    for value in [values[0], values[values.count > 1 ? 1 : 0]] {
      let request = [0x20] + octets(value.handle) + octets(value.handle)
      let response = try await bench.askIfSupported(request, called: "Read Multiple Variable")
      let again = try await bench.ask(request)
      reads.append((request, response == again && response.count < 20 ? response : nil))
    }
    return reads
  }

  /// Sends both requests before the response to either.
  private static func readAtOnce(
    _ bench: ServerBench, _ reads: Reads, on bearers: [Int]
  ) async throws {
    for (read, bearer) in zip(reads, bearers) {
      bench.turn(toBearer: bearer)
      try await bench.links.send(read.request)
    }
    for (read, bearer) in zip(reads, bearers).reversed() {
      bench.turn(toBearer: bearer)
      guard let response = try await bench.next() else {
        throw Rule.answered.broken(
          "received no response to \(bench.name(read.request)) on bearer \(bearer)")
      }
      try bench.check(
        response[0] == 0x21 && response == read.response ?? response,
        "bearer \(bearer) carried \(bench.summary(response))", expected: read.response,
        got: response)
    }
  }

  private static func paralleled(_ name: String, _ title: String, _ bearers: [Int]) -> ServerCase {
    ServerCase(
      name, title,
      "Each bearer has its own transactions, and a response on the bearer of its request",
      "Vol 3, Part F, 3.2.11 and 3.3.2"
    ) { bench in
      try await bench.openBearers(bearers.max() ?? 1)
      let reads = try await reads(bench)
      try await readAtOnce(bench, reads, on: bearers)
    }
  }

  /// Another value, which differs in both of its parts.
  private static func changed(_ value: [UInt8]) -> [UInt8] {
    [value[0] ^ 0x01] + value[1...].map { $0 ^ 0x01 }
  }

  /// Prepares another value: its first octet on bearer 1, and the others on bearer 2.
  ///
  /// - Parameter closed: the bearer that ends after its part.
  private static func prepare(
    _ bench: ServerBench, _ value: Target, closing closed: Int? = nil
  ) async throws {
    let new = changed(value.octets)
    for (bearer, offset, part) in [(1, UInt16(0), new[..<1]), (2, UInt16(1), new[1...])] {
      bench.turn(toBearer: bearer)
      let rest = octets(value.handle) + octets(offset) + part
      let response = try await bench.askIfSupported([0x16] + rest, called: "prepared writes")
      try bench.check(
        response == [0x17] + rest, "the response was \(bench.summary(response))",
        expected: [0x17] + rest, got: response)
      if bearer == closed { await bench.links.closeBearer(bearer) }
    }
  }

  /// Executes what ``prepare(_:_:closing:)`` has prepared, and writes the earlier value again.
  private static func execute(
    _ bench: ServerBench, _ value: Target, on bearer: Int
  ) async throws {
    bench.turn(toBearer: bearer)
    let executed = try await bench.ask([0x18, 1])
    let now = try await bench.read(value.handle)
    _ = try await bench.write(value.octets, to: value.handle)
    let wanted = [0x0B] + changed(value.octets)
    try bench.check(
      executed == [0x19] && now == wanted,
      "the value is different after its parts were executed", expected: wanted, got: now)
  }

  private static let oneQueue = Rule(
    "A client has one queue of prepared writes, whatever the bearers", "Vol 3, Part F, 3.4.6.1")

  /// Enhanced bearers. Skipped if the server has none.
  static let bearers: [ServerCase] = [
    ServerCase(
      "bearers/mtu", "an exchange of ATT_MTU on an enhanced bearer",
      "ATT_MTU is exchanged on the unenhanced bearer only: Request Not Supported",
      "Vol 3, Part F, 3.4.2 and 3.4.9"
    ) { bench in
      try await bench.openBearers(1)
      bench.turn(toBearer: 1)
      try await bench.expect(
        [0x01, 0x02, 0, 0, 0x06], to: [0x02, 0x40, 0x00], "it was answered with")
    },
    paralleled("bearers/unenhanced", "requests on both kinds of bearers at once", [0, 1]),
    paralleled("bearers/enhanced", "requests on two enhanced bearers at once", [1, 2]),
    ServerCase(
      "bearers/configuration", "a configuration is that of all bearers",
      "A client has one Client Characteristic Configuration, whatever the bearer",
      "Vol 3, Part G, 3.3.3.3", writes: true
    ) { bench in
      try await bench.openBearers(1)
      let handles = bench.known.handles(of: 0x2902)
      let target = bench.known.values.first { value in
        value.properties & 0x10 != 0 && handles.contains { $0 > value.handle }
      }
      let value = try bench.require(target, orSkip: "no value can be notified")
      let handle = handles.first { $0 > value.handle } ?? 0
      for (written, bearer): ([UInt8], Int) in [([0, 0], 0), ([1, 0], 1)] {
        bench.turn(toBearer: bearer)
        let response = try await bench.write(written, to: handle)
        try bench.require(
          response == [0x13],
          orSkip: "the configuration cannot be written: \(bench.summary(response))")
        try await expect(written, bench, handle, "after it was written on bearer \(bearer)")
      }
      bench.turn(toBearer: 0)
      try await expect([1, 0], bench, handle, "on the unenhanced bearer")
      _ = try await bench.write([0, 0], to: handle)
    },
    ServerCase(
      "bearers/prepare", "parts of one write on two bearers", oneQueue, writes: true
    ) { bench in
      try await bench.openBearers(2)
      let value = try await writable(bench, atLeast: 2)[0]
      try await prepare(bench, value)
      try await execute(bench, value, on: 0)
    },
    ServerCase(
      "bearers/cancel", "parts on two bearers are cancelled together", oneQueue, writes: true
    ) { bench in
      try await bench.openBearers(2)
      let value = try await writable(bench, atLeast: 2)[0]
      try await prepare(bench, value)
      var responses: [[UInt8]] = []
      for (bearer, flags): (Int, UInt8) in [(1, 0), (2, 1)] {
        bench.turn(toBearer: bearer)
        responses.append(try await bench.ask([0x18, flags]))
      }
      let now = try await bench.read(value.handle)
      if now != [0x0B] + value.octets { _ = try await bench.write(value.octets, to: value.handle) }
      try bench.check(
        responses == [[0x19], [0x19]] && now == [0x0B] + value.octets,
        "the value is different after the cancelled write", expected: [0x0B] + value.octets,
        got: now)
    },
    ServerCase(
      "bearers/fallback", "a write goes on after one of its bearers has ended", oneQueue,
      writes: true
    ) { bench in
      try await bench.openBearers(2)
      let value = try await writable(bench, atLeast: 2)[0]
      try await prepare(bench, value, closing: 1)
      try await execute(bench, value, on: 2)
    },
    ServerCase(
      "bearers/signed", "a signed write on an enhanced bearer",
      "A Signed Write Command is ignored on an enhanced bearer", "Vol 3, Part F, 3.4.5.4",
      writes: true
    ) { bench in
      try await bench.openBearers(1)
      bench.turn(toBearer: 1)
      let value = try await writable(bench)[0]
      try await bench.expectQuiet(after: [
        [0xD2] + octets(value.handle) + other(value.octets) + [UInt8](repeating: 0, count: 12)
      ])
      try await expect(value.octets, bench, value.handle, "after a signed write")
    },
  ]
}
